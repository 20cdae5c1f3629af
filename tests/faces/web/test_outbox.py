"""What waits for a slow reader: bounded; overflow is told, never silent."""

from __future__ import annotations

import asyncio

from clew.faces.web.socket import BEHIND, Outbox


def drained(outbox: Outbox) -> list[str]:
    async def take_all() -> list[str]:
        found = []
        while outbox.size[0]:
            found.append(await outbox.take())
        return found

    return asyncio.run(take_all())


def test_what_is_put_in_comes_out_in_order() -> None:
    outbox = Outbox()
    for number in range(100):
        outbox.put(str(number))
    assert drained(outbox) == [str(number) for number in range(100)]
    assert outbox.size == (0, 0)


def test_too_many_messages_become_one_that_says_so() -> None:
    outbox = Outbox(messages=3)
    for number in range(4):
        outbox.put(str(number))
    outbox.put("after")
    assert drained(outbox) == [BEHIND, "after"], "what comes after the notice is covered by the new picture, or sent"


def test_too_much_text_becomes_one_message_that_says_so() -> None:
    outbox = Outbox(characters=1000)
    for _ in range(1000):
        outbox.put("x" * 400)
        assert outbox.size[1] <= 1000
    assert BEHIND in drained(outbox)


def test_one_text_larger_than_the_room_still_goes_out() -> None:
    outbox = Outbox(characters=10)
    outbox.put("x" * 50)
    assert drained(outbox) == ["x" * 50]


def test_answers_wait_for_room_and_push_nothing_out() -> None:
    async def talk() -> list[str]:
        outbox = Outbox(messages=2)
        outbox.put("event 1")
        outbox.put("event 2")
        answer = asyncio.create_task(outbox.post("answer"))
        await asyncio.sleep(0)
        assert not answer.done()
        heard = [await outbox.take()]
        await answer
        return [*heard, await outbox.take(), await outbox.take()]

    assert asyncio.run(talk()) == ["event 1", "event 2", "answer"]
