"""What an encoder finds by itself and beside BM25: `python -m benchmarks.training.evaluate FOLDER [WEIGHTS ...]`.

FOLDER holds what `prepare` wrote; WEIGHTS are folders with what `train` saved (none: the base model). Sets: the
projects of the benchmarks, the held-out projects, and BEAM and LoCoMo where CLEW_BEAM and CLEW_LOCOMO name them. The
hybrid is z(BM25) + 2 z(encoder), superseded records last, a successor at least as high as what it replaced.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.training.network import PASSAGE, QUESTION, network_from
from benchmarks.training.prepare import words_of
from benchmarks.training.projects import held_out_projects
from clew.model.word_pieces import pieces

DATA = Path(__file__).parents[1] / "data"
TALK = frozenset({"beam", "locomo"})


@dataclass
class Store:
    """Texts of one store, and questions with the rows that answer them."""

    texts: list[str]
    replaces: dict[int, int]
    questions: list[tuple[str, set[int]]]


def store_of(project: dict[str, Any]) -> Store:
    row = {item["id"]: at for at, item in enumerate(project["items"])}
    texts = [" ".join(filter(None, (item.get("title"), item["text"]))) for item in project["items"]]
    replaces = {row[i["id"]]: row[i["supersedes"]] for i in project["items"] if i.get("supersedes")}
    questions = [(q["q"], {row[id] for id in q["evidence"]}) for q in project["questions"]]
    return Store(texts, replaces, questions)


def sets() -> dict[str, list[Store]]:
    found: dict[str, list[Store]] = {}
    for folder in ("agentmem", "projects", "young"):
        found[folder] = [store_of(json.loads(path.read_text())) for path in sorted((DATA / folder).glob("*.json"))]
    for shape in sorted((DATA / "shapes").glob("*.json")):
        found[shape.stem] = [store_of(json.loads(shape.read_text()))]
    for project in held_out_projects():
        row = {record.id: at for at, record in enumerate(project.records)}
        replaces = {row[r.id]: row[r.supersedes] for r in project.records if r.supersedes in row}
        questions = [(q.text, {row[id] for id in q.evidence}) for q in project.questions]
        store = Store([record.text for record in project.records], replaces, questions)
        found.setdefault("held out", []).append(store)
    if path := os.environ.get("CLEW_BEAM"):
        found["beam"] = [_beam(chat) for chat in json.loads(Path(path).read_text())]
    if path := os.environ.get("CLEW_LOCOMO"):
        found["locomo"] = [_locomo(talk) for talk in json.loads(Path(path).read_text())]
    return {name: stores for name, stores in found.items() if stores}


def _beam(chat: dict[str, Any]) -> Store:
    row = {turn["id"]: at for at, turn in enumerate(chat["turns"])}
    texts = [f"{turn['role']}: {turn['text']}" for turn in chat["turns"]]
    questions = [(q["q"], {row[id] for id in q["evidence"] if id in row}) for q in chat["questions"]]
    return Store(texts, {}, [(text, rows) for text, rows in questions if rows])


def _locomo(talk: dict[str, Any]) -> Store:
    texts = list[str]()
    row = dict[str, int]()
    for name, turns in talk["conversation"].items():
        if re.fullmatch(r"session_\d+", name):
            for turn in turns:
                row[turn["dia_id"]] = len(texts)
                texts.append(f"{turn['speaker']}: {turn['text']} {turn.get('blip_caption') or ''}")
    questions = []
    for q in talk["qa"]:
        ids = re.findall(r"D\d+:\d+", " ".join(q.get("evidence") or []))
        if rows := {row[id] for id in ids if id in row}:
            questions.append((q["question"], rows))
    return Store(texts, {}, questions)


class Encoder:
    def __init__(self, folder: Path, weights: Path | None) -> None:
        self._vocabulary = {word: at for at, word in enumerate(words_of(folder))}
        self.network = network_from(folder / "base.npz").eval()
        if weights is not None:
            held = np.load(weights / "weights.npz")
            state = {name: torch.tensor(held[name].astype(np.float32)) for name in held.files}
            self.network.load_state_dict(state)

    def embed(self, texts: list[str], segment: int, most: int = 254) -> NDArray[Any]:
        begin, end = self._vocabulary["[CLS]"], self._vocabulary["[SEP]"]
        cut = [[begin, *pieces(text, self._vocabulary)[:most], end] for text in texts]
        found = np.zeros((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(cut[at]))
        for start in range(0, len(order), 32):
            part = order[start : start + 32]
            length = max(len(cut[at]) for at in part)
            ids = torch.zeros(len(part), length, dtype=torch.long)
            mask = torch.zeros(len(part), length, dtype=torch.bool)
            for row, at in enumerate(part):
                ids[row, : len(cut[at])], mask[row, : len(cut[at])] = torch.tensor(cut[at]), True
            with torch.no_grad():
                found[part] = self.network.embed(ids, torch.full_like(ids, segment), mask).numpy()
        return found


STOP = frozenset(
    "a an the of to in on at for and or is are was were be do does did we i you it this that".split()  # noqa: SIM905
) | {"with", "what", "which", "who", "when", "where", "why", "how", "our", "my", "as", "by", "from"}


def terms(text: str) -> list[str]:
    return [word[:6] for word in re.findall(r"\w+", text.lower()) if word not in STOP]


class BM25:
    def __init__(self, texts: list[str]) -> None:
        self._counts = [Counter(terms(text)) for text in texts]
        self._lengths = np.array([sum(count.values()) for count in self._counts], float)
        held = Counter(word for count in self._counts for word in count)
        self._idf = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in held.items()}

    def scores(self, question: str) -> NDArray[Any]:
        norms = 1.2 * (0.25 + 0.75 * self._lengths / max(self._lengths.mean(), 1))
        found = np.zeros(len(self._counts))
        for word in set(terms(question)) & self._idf.keys():
            counts = np.array([count.get(word, 0) for count in self._counts], float)
            found += self._idf[word] * counts * 2.2 / (counts + norms)
        return found


def standardized(scores: NDArray[Any]) -> NDArray[Any]:
    found: NDArray[Any] = (scores - scores.mean()) / max(float(scores.std()), 1e-9)
    return found


def with_rules(scores: NDArray[Any], replaces: dict[int, int]) -> NDArray[Any]:
    """A successor stands at least as high as what it replaced, and that stands last."""
    ruled = scores.copy()
    for new, old in sorted(replaces.items()):
        ruled[new] = max(ruled[new], ruled[old])
    for old in set(replaces.values()):
        ruled[old] -= 100
    return ruled


def metrics(ranks: list[list[int]]) -> tuple[float, float, float, float]:
    """recall@5, recall@10, any@5 and MRR@10 of the places of each question's evidence."""
    at5 = np.mean([np.mean([r < 5 for r in row]) for row in ranks])
    at10 = np.mean([np.mean([r < 10 for r in row]) for row in ranks])
    any5 = np.mean([min(row) < 5 for row in ranks])
    mrr = np.mean([1 / (min(row) + 1) if min(row) < 10 else 0 for row in ranks])
    return float(at5), float(at10), float(any5), float(mrr)


def places(scores: NDArray[Any], evidence: set[int]) -> list[int]:
    order = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
    return [int(order[row]) for row in evidence]


def measure(encoder: Encoder, stores: list[Store]) -> dict[str, tuple[float, ...]]:
    ranks: dict[str, list[list[int]]] = {"words": [], "model": [], "hybrid": []}
    for store in stores:
        words, vectors = BM25(store.texts), encoder.embed(store.texts, PASSAGE)
        asked = encoder.embed([text for text, _ in store.questions], QUESTION)
        for (text, evidence), vector in zip(store.questions, asked, strict=True):
            lexical, semantic = words.scores(text), vectors @ vector
            joined = standardized(lexical) + 2 * standardized(semantic)
            ranks["words"].append(places(lexical, evidence))
            ranks["model"].append(places(semantic, evidence))
            ranks["hybrid"].append(places(with_rules(joined, store.replaces), evidence))
    return {name: metrics(found) for name, found in ranks.items()}


def main(folder: str, *weights: str) -> None:
    known = sets()
    if only := os.environ.get("CLEW_SETS"):
        known = {name: stores for name, stores in known.items() if name in only.split(",")}
    for name in weights or ("",):
        encoder = Encoder(Path(folder), Path(name) if name else None)
        for title, stores in known.items():
            found = measure(encoder, stores)
            shown = "  ".join(
                f"{arm} {' / '.join(f'{value:.3f}' for value in values)}" for arm, values in found.items()
            )
            print(f"{name or 'base':12} {title:10} {shown}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
