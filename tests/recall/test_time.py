"""Dates in questions, against when things happened and when they were recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from clew.index.dates import find_moment
from clew.index.items import read_heading
from clew.recall.period import Period, find_period
from tests.conftest import Caller, TickingClock


def ms(*date: int) -> int:
    year, month, day, *rest = date
    hour, minute = (*rest, 0, 0)[:2]
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp() * 1000)


NOW = ms(2026, 2, 15, 12)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("what happened in May 2025", ms(2025, 5, 20), ms(2025, 6, 2)),
        ("the outage of 2025-03-04", ms(2025, 3, 4, 9), ms(2025, 4, 4)),
        ("who called on 12 July 2024", ms(2024, 7, 12, 23), ms(2024, 9, 1)),
        ("what changed in 2024", ms(2024, 12, 31), ms(2025, 1, 1)),
        ("what did we do last spring", ms(2025, 4, 1), ms(2025, 7, 1)),
        ("what broke yesterday", ms(2026, 2, 14, 3), ms(2026, 1, 1)),
        ("deploys two weeks ago", ms(2026, 2, 1), ms(2026, 1, 10)),
        ("decisions before May 2025", ms(2025, 4, 30), ms(2025, 5, 2)),
        ("decisions since March 2025", ms(2025, 3, 1), ms(2025, 2, 27)),
        ("trips in August", ms(2023, 8, 3), ms(2023, 9, 3)),
        ("news in the week of 3 March 2025", ms(2025, 3, 9, 20), ms(2025, 3, 10)),
        ("between 30 April and 2 May 2025", ms(2025, 5, 2, 20), ms(2025, 5, 3)),
        ("from 17 to 21 February 2025", ms(2025, 2, 17), ms(2025, 2, 16)),
        ("between 2025-02-17 and 2025-02-21", ms(2025, 2, 20), ms(2025, 2, 23)),
        ("in the first week of March 2025", ms(2025, 3, 7), ms(2025, 3, 9)),
        ("during the last week of February 2025", ms(2025, 2, 25), ms(2025, 2, 3)),
        ("It is 10 March 2025; what moved last week?", ms(2025, 3, 4), ms(2025, 3, 12)),
    ],
)
def test_dates_and_relative_dates(text: str, inside: int, outside: int) -> None:
    import numpy as np

    period = find_period(text, NOW)
    assert period is not None
    near, far = period.closeness(np.array([inside, outside]), 14.0)
    assert near == 1.0
    assert far == 0.0


@pytest.mark.parametrize("text", ["may I march on", "the decision doctor maybe", "version 3.14", "port 8080"])
def test_words_that_only_look_like_dates(text: str) -> None:
    assert find_period(text, NOW) is None


def test_before_a_thing_that_must_be_found() -> None:
    assert find_period("what did we use before the migration?", NOW) == Period(side="before", anchor=("migrat",))


def test_transcript_heads_give_speaker_and_time() -> None:
    assert read_heading("[8 May 2023, 13:56] Caroline: Hello") == ("Caroline", ms(2023, 5, 8, 13, 56))
    assert read_heading("Note: remember the milk") == (None, None)
    assert find_moment("1:56 pm on 8 May, 2023") == ms(2023, 5, 8, 13, 56)


def test_the_named_time_comes_first(call: Caller) -> None:
    call("notes_commit", content="[3 March 2025] Ada: The backup of the orders ran.")
    call("notes_commit", content="[9 October 2025] Ada: The backup of the orders ran well.")
    hits = call("recall", query="the backup of the orders in October 2025", sources=["all"])["results"]
    assert hits[0]["_id"] == "notes@2"
    assert hits[0]["happened"] == "2025-10-09T00:00:00Z"


def test_before_a_found_thing(call: Caller) -> None:
    call("notes_commit", content="[2025-03-03] Ada: We kept orders in MySQL.")
    call("notes_commit", content="[2025-06-01] Ada: The migration was finished.")
    call("notes_commit", content="[2025-09-03] Ada: We kept orders in PostgreSQL.")
    first = call("recall", query="where did we keep orders before the migration?", sources=["all"])["results"][0]
    assert first["_id"] == "notes@1"


def test_before_and_after_tell_nothing_where_all_was_written_in_one_go(call: Caller) -> None:
    call("notes_commit", content="Waits until notified, or until a timeout occurs on the lock.")
    call("notes_commit", content="Raises an error when a timeout occurs.")
    answer = call("recall", query="wait until a timeout occurs", sources=["all"], explain=True)["results"]
    assert answer[0]["_id"] == "notes@1"
    assert not any(part["feature"] == "date" for hit in answer for part in hit["explain"]["parts"])


def test_recency_counts_only_when_asked_for(call: Caller) -> None:
    call("notes_commit", content="[2025-03-03] Ada: The password policy asks for ten characters.")
    call("notes_commit", content="[2025-09-03] Ada: The password policy asks for twelve characters.")

    def recency(query: str) -> bool:
        result = call("recall", query=query, sources=["all"], explain=True)["results"]
        return any(part["feature"] == "recency" for hit in result for part in hit["explain"]["parts"])

    assert recency("latest password policy")
    assert not recency("password policy")


def test_event_time_counts_before_the_time_of_recording(call: Caller, clock: TickingClock) -> None:
    """Recorded in one month, said to have happened in another: a question about the second finds it."""
    clock.now_ms = ms(2025, 9, 1)
    call("notes_commit", content="[2025-05-07] Ada: The outage of the cluster was short.")
    clock.now_ms = ms(2025, 9, 2)
    call("notes_commit", content="The outage of the cluster was discussed.")

    def dated(query: str) -> list[str]:
        hits = call("recall", query=query, sources=["all"], explain=True)["results"]
        return [hit["_id"] for hit in hits for part in hit["explain"]["parts"] if part["feature"] == "date"]

    assert dated("outage of the cluster in May 2025") == ["notes@1"]
    assert dated("outage of the cluster in September 2025") == ["notes@2"]


def test_as_of_a_date_shows_the_words_of_then(call: Caller, clock: TickingClock) -> None:
    clock.now_ms = ms(2025, 3, 1)
    created = call("tasks_create", kind="plan", title="Keep the orders in MySQL")
    clock.now_ms = ms(2025, 6, 1)
    call("tasks_edit", plan=created["id"], title="Keep the orders in Postgres")

    def found(query: str, **given: Any) -> list[str]:
        return [hit["_id"] for hit in call("recall", query=query, sources=["tasks"], **given)["results"]]

    assert found("MySQL", as_of="2025-04-01") == [created["id"]]
    assert found("MySQL") == []
    assert found("Postgres", as_of="2025-04-01") == []
    assert found("Postgres") == [created["id"]]


def test_a_speaker_in_every_item_is_no_reason(call: Caller) -> None:
    for text in ("Ada: The build server is slow.", "Ada: The build server is new."):
        call("notes_commit", content=text)
    hits = call("recall", query="What does Ada say about the build server?", sources=["all"], explain=True)["results"]
    assert not [part for hit in hits for part in hit["explain"]["parts"] if part["feature"] == "speaker"]


def test_i_is_the_person_and_you_the_machine(call: Caller) -> None:
    call("notes_commit", content="user: The dentist is in Oak Street.")
    call("notes_commit", content="assistant: A dentist costs about eighty.")

    def first(query: str) -> str:
        return str(call("recall", query=query, sources=["all"])["results"][0]["speaker"])

    assert first("what did I say about the dentist") == "user"
    assert first("what did you say about the dentist") == "assistant"


def test_a_named_speaker_is_preferred(call: Caller) -> None:
    call("notes_commit", content="Ada: I like the new build server a lot.")
    call("notes_commit", content="Bo: I like the new build server too.")
    hits = call("recall", query="What does Bo like about the build server?", sources=["all"])["results"]
    assert (hits[0]["_id"], hits[0]["speaker"]) == ("notes@2", "Bo")
