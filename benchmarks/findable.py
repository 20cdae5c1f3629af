"""Read your writes: a record written by one process is found by another one immediately, by its own words.

Four servers write records of all kinds, among them texts that search has trouble with: two words, siblings that differ
by one number, other languages and scripts, code, punctuation without a word. Right after each response another server
searches for the text; the record must be among the first three.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import StdioServer, clew_server
from benchmarks.report import Report
from benchmarks.stores import ENGINES, Store, fresh_store
from clew.registry.vocabulary import KINDS

WRITERS = 4
FIRST = 3
_WORDS = """
cache parser queue login socket column report token worker schema branch memory thread export cursor client render
index vector metric replica timeout payload header cookie router filter widget canvas signal buffer mutex daemon
"""
_VERBS = "keeps drops retries sorts renames rejects copies splits joins hides counts delays merges rounds encodes"
_ADVERBS = "twice never lazily first last upfront nightly silently rarely eagerly"
_SIGNS = "=> :: && || != ?? ... -> <- ## @@ %% ^^ ~~ ++ -- ** // $$ ;;"
WORDS, VERBS, ADVERBS, SIGNS = (text.split() for text in (_WORDS, _VERBS, _ADVERBS, _SIGNS))
OTHER_TONGUES = (
    "Der {0} {2} wird {1} mal gelesen, nie geschrieben",
    "Le fichier {0} {2} est relu {1} fois après la fusion",
    "не удаляй {0} без проверки номер {1}",
    "設定ファイル{0}は第{1}版から必須です",
    "重试{1}次之后放弃{0}",
    "لا تحذف {0} قبل الخطوة {1}",
    "{0} को {1} बार जाँचो",
    "{0} dosyası {1} günde bir yenilenir",
    "{0}는 {1}초 뒤에 다시 시도한다",
)
CODE = (
    "`{0}({1})` returns None, not []",
    "if ({0}[{1}] != null && !{2}) throw new Error()",
    "SELECT {0} FROM {2} WHERE id = {1};",
    "{0}.{2}::<T{1}>() -> Result<(), E>",
    "git rebase -i HEAD~{1} # {0}/{2}",
    "/etc/{0}/{2}.d/{1}-local.conf",
    "{0}@{1}.{1}.0 needs node >= {1}",
)


@dataclass(frozen=True)
class Said:
    sort: str
    kind: str
    text: str


def texts(seed: int, count: int) -> Iterator[Said]:
    """Distinct records, of every sort and kind in turn; no two have the same text."""
    rng = random.Random(seed)
    known: set[str] = set()
    sorts = ("prose", "short", "sibling", "tongue", "code", "signs")
    number = 0
    while number < count:
        sort = sorts[number % len(sorts)]
        text = _text(sort, rng, seed * 100_000 + number)
        if text not in known:
            known.add(text)
            yield Said(sort, KINDS[rng.randrange(len(KINDS))], text)
            number += 1


def _text(sort: str, rng: random.Random, unique: int) -> str:
    one, two = rng.sample(WORDS, 2)
    if sort == "prose":
        return (
            f"The {one} {rng.choice(VERBS)} the {two} {rng.choice(ADVERBS)} because of ticket {unique} in the {one}"
            f" and the {rng.choice(WORDS)} {rng.choice(VERBS)} what is left"
        )
    if sort == "short":
        return f"{rng.choice(VERBS)} {one}{unique % 9973}"
    if sort == "sibling":
        return f"The {WORDS[0]} of the {WORDS[1]} holds {unique} entries at most"
    if sort == "tongue":
        return rng.choice(OTHER_TONGUES).format(one, unique, two)
    if sort == "code":
        return rng.choice(CODE).format(one, unique, two)
    # Punctuation only, which encodes the number.
    return " ".join(SIGNS[(unique // len(SIGNS) ** place) % len(SIGNS)] for place in range(5))


class Reader:
    """A server that only reads, asked by all writers in turn."""

    def __init__(self, server: StdioServer) -> None:
        self._server, self._lock = server, threading.Lock()

    def place_of(self, id: str, text: str) -> int:
        """The rank of the record in the answer to its own text, from 1; 0 if it is missing."""
        with self._lock:
            lines = self._server.call("recall", query=text)["content"][0]["text"].splitlines()
        return next((at for at, line in enumerate(lines, 1) if line.startswith(f"{id} (")), 0)


@dataclass
class Result:
    said: Said
    id: str
    place: int


def play(store: Store, count: int, seed: int = 1) -> list[Result]:
    """So many records from four processes at once, each asked for right after its answer."""
    results: list[Result] = []
    failures: list[BaseException] = []
    with ExitStack() as servers:
        reader = Reader(_server(servers, store))
        writers = [_server(servers, store) for _ in range(WRITERS)]

        def write(number: int) -> None:
            try:
                for said in texts(seed * WRITERS + number, count // WRITERS):
                    answer = writers[number].call("remember", text=said.text, kind=said.kind)["content"][0]["text"]
                    id = answer.split()[0]
                    results.append(Result(said, id, reader.place_of(id, said.text)))
            except BaseException as failure:
                failures.append(failure)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return results


def _server(servers: ExitStack, store: Store) -> StdioServer:
    server = servers.enter_context(clew_server(Path(store.home), store.url, "agent"))
    server.initialize()
    return server


def main(quick: bool = False, engines: tuple[str, ...] = ENGINES) -> None:
    report = Report("findable", f"Records of four processes among the first {FIRST} of another's recall of their text")
    for engine in engines:
        with fresh_store(engine) as store:
            results = play(store, 200 if quick else 2000)
        for sort in sorted({result.said.sort for result in results}):
            mine = [result for result in results if result.said.sort == sort]
            places = Counter(result.place for result in mine)
            report.row(
                engine=engine,
                sort=sort,
                records=len(mine),
                first=places[1],
                first_three=sum(places[place] for place in range(1, FIRST + 1)),
                silent_or_later=sum(not 1 <= result.place <= FIRST for result in mine),
            )
        for result in [result for result in results if not 1 <= result.place <= FIRST][:12]:
            print(f"{engine} {result.place} {result.id} {result.said}")
    report.save()


if __name__ == "__main__":
    main()
