"""Every process gives the same answer: three servers write and withdraw records in turn, with the model in use.

After each round all three get the same questions immediately, while vectors of the writes are still being computed.
`differences` counts the questions with different ids or scores.
"""

from __future__ import annotations

import json
import random
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.client import StdioServer, clew_server
from benchmarks.report import Report
from benchmarks.stores import ENGINES, fresh_store

PROCESSES, ROUNDS, EACH = 3, 100, 5
_THINGS = "harbour violin glacier lantern orchard compass saddle chimney anchor teapot ferry ladder kettle engine"
_DEEDS = "repaired painted borrowed measured carried washed covered lifted sketched sold rented weighed"
_PLACES = "at dawn, after supper, in the rain, by candlelight, on a whim, with great care, near the mill"
THINGS, DEEDS, PLACES = _THINGS.split(), _DEEDS.split(), _PLACES.split(", ")
ASKED = (
    "Who {deed} the {thing}?",
    "what happened to the {thing} {place}",
    "the boat and the {thing}",
    "{deed} something {place}",
    "Why was the {thing} looked after?",
)


def main(quick: bool = False, engines: tuple[str, ...] = ENGINES) -> None:
    report = Report("agreement", "The same question of three processes, right after writes, with the model")
    for engine in engines:
        with fresh_store(engine) as store, ExitStack() as servers:
            running = [_server(servers, Path(store.home), store.url) for _ in range(PROCESSES)]
            asked, differences, meaning = _play(running, 10 if quick else ROUNDS)
        report.row(engine=engine, processes=PROCESSES, questions=asked, differences=differences, with_the_model=meaning)
    report.save()


def _server(servers: ExitStack, home: Path, url: str) -> StdioServer:
    server = servers.enter_context(clew_server(home, url))
    server.initialize()
    return server


def _play(running: list[StdioServer], rounds: int) -> tuple[int, int, int]:
    chance, known = random.Random(5), list[str]()
    asked = differences = meaning = 0
    for number in range(rounds):
        for _ in range(chance.randint(1, 3)):
            _write(chance, chance.choice(running), known, number)
        for _ in range(EACH):
            query = _filled(chance, chance.choice(ASKED))
            answers = [_answer(server, query) for server in running]
            asked += 1
            differences += any(answer["hits"] != answers[0]["hits"] for answer in answers)
            meaning += all(answer["semantic"] for answer in answers)
    return asked, differences, meaning


def _write(chance: random.Random, server: StdioServer, known: list[str], number: int) -> None:
    if known and chance.random() < 0.25:
        server.call("retract", id=known.pop(chance.randrange(len(known))), why="it was wrong")
        return
    text = _filled(chance, f"Somebody {{deed}} the {{thing}} {{place}}, says page {number}.")
    kept = server.call("remember", text=text, kind=chance.choice(("fact", "lesson", "note", "question")))
    known.append(kept["content"][0]["text"].split()[0])


def _filled(chance: random.Random, form: str) -> str:
    return form.format(thing=chance.choice(THINGS), deed=chance.choice(DEEDS), place=chance.choice(PLACES))


def _answer(server: StdioServer, query: str) -> dict[str, Any]:
    answer = server.call("recall", query=query, sources=["all"], fmt="json")
    result = json.loads(answer["content"][0]["text"])["result"]
    hits = [(hit["_id"], hit["score"]) for hit in result["results"]]
    return {"hits": hits, "semantic": result["arms"]["semantic"]}


if __name__ == "__main__":
    main()
