"""`clew bench recall`: what it reads, how it scores, what it reports, and that missing others are named."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.fit_confidence import Case, figures, fitted
from benchmarks.recall import generated, kept_trials, mixture
from benchmarks.recall.bm25 import bm25
from benchmarks.recall.data import Collection, agentmem, read
from benchmarks.recall.hybrid import hybrid
from benchmarks.recall.locomo import Conversation, Question, Tally, Turn, read_conversations
from benchmarks.recall.trials import Trial
from benchmarks.recall.vectors import KeptVectors
from benchmarks.recall.young import stages, young

from clew.errors import ClewError
from clew.index.terms import terms
from clew.recall.kernel import default_kernel
from clew.recall.query import FILLER
from clew.recall.recent_vectors import Floats
from clew.registry.connection import Connection
from clew.registry.context import Context
from tests.conftest import Caller

TALK = [
    ("Ada", "I adopted a grey cat last week."),
    ("Bo", "How lovely! What is its name?"),
    ("Ada", "She is called Pixel."),
    ("Bo", "I went kayaking on the lake with my brother."),
    ("Ada", "Was the water cold?"),
    ("Bo", "Freezing, but the sunset was worth it."),
]
ASKED = [
    ("What did Ada adopt?", ["D1:1"], 4),
    ("What is the name of the cat?", ["D1:3; D1:1"], 1),
    ("When did Bo go kayaking?", ["D1:4"], 2),
    ("Who is not in the talk?", [], 5),
]


def sample(name: str = "one") -> dict[str, Any]:
    turns = [{"speaker": who, "dia_id": f"D1:{at}", "text": said} for at, (who, said) in enumerate(TALK, 1)]
    asked = [{"question": text, "evidence": evidence, "category": kind} for text, evidence, kind in ASKED]
    said = {"speaker_a": "Ada", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    return {"sample_id": name, "conversation": said, "qa": asked}


def written(folder: Path, samples: Any) -> Path:
    path = folder / "talk.json"
    path.write_text(json.dumps(samples), encoding="utf-8")
    return path


def bench(call: Caller, path: Path, **arguments: Any) -> dict[str, Any]:
    given = {"locomo": str(path), "semantic": False, **arguments}
    answer = call.clew.dispatcher.call("bench_recall", given, Connection(local=True))
    assert answer.ok, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def test_figures_overall_and_by_category_with_held_out_ones_beside(call: Caller, tmp_path: Path) -> None:
    result = bench(call, written(tmp_path, [sample("one"), sample("one")]), peers=False)
    names = {f"{figure}@{depth}" for figure in ("recall", "any") for depth in (1, 5, 10, 20)} | {"mrr@10", "questions"}
    lexical = result["lexical"]
    assert names <= set(lexical)
    assert lexical["overall"]["recall@10"] == lexical["recall@10"] == 1.0
    assert set(lexical["by_category"]) == {"multi-hop", "temporal", "single-hop"}
    assert all(set(row) == names for row in lexical["by_category"].values())
    assert names <= set(lexical["held_out"])
    assert lexical["questions"] == 6


def test_others_are_measured_or_named_with_how_to_get_them(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MIND_MEM_PYTHON", raising=False)
    result = bench(call, written(tmp_path, [sample()]))
    assert result["peers"]["SQLite FTS5 (porter)"]["recall@10"] > 0
    assert "MIND_MEM_PYTHON" in result["not_installed"]["mind-mem 5.0.3"]
    assert "semantic" not in result


def test_an_interpreter_without_mind_mem_is_said_to_be_one(
    call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIND_MEM_PYTHON", sys.executable)
    result = bench(call, written(tmp_path, [sample()]), held_out=False)
    assert "mind_mem" in result["peers"]["mind-mem 5.0.3"]["error"]
    assert result["lexical"]["questions"] == 3


def test_what_a_file_may_leave_out(tmp_path: Path) -> None:
    bare = {
        "conversation": {
            "session_2": [{"text": "Second."}, {"blip_caption": "a dog on a beach", "speaker": "Bo"}],
            "session_1": [{"text": "First.", "dia_id": "D1:01", "img_url": ["x"]}],
            "session_3": None,
        },
        "qa": [{"question": "Where is the dog?", "evidence": "D2:02 and D9:9"}, {"question": "Why?"}],
    }
    (conversation,) = read_conversations(written(tmp_path, bare))
    assert [(turn.id, turn.body) for turn in conversation.turns] == [
        ("D1:1", "First."),
        ("D2:1", "Second."),
        ("D2:2", " [a dog on a beach]"),
    ]
    (question,) = conversation.questions
    assert (question.evidence, question.category) == (frozenset({"D2:2", "D9:9"}), "none")


@pytest.mark.parametrize("text", ["[1]", "{}", "not json", '[{"conversation": {}, "qa": []}]'])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ClewError) as refused:
        read_conversations(path)
    assert refused.value.code == "INVALID_INPUT"


def test_scores_are_shares_of_the_evidence() -> None:
    tally = Tally()
    tally.add("one", Question("?", frozenset({"a", "b"}), "multi-hop"), ["x", "a", "y", "z", "w", "b"])
    tally.add("one", Question("?", frozenset({"c"}), "temporal"), ["x"])
    summary = tally.summary()
    assert (summary["recall@5"], summary["recall@10"], summary["any@1"], summary["any@10"]) == (0.25, 0.5, 0.0, 0.5)
    assert summary["mrr@10"] == 0.25
    assert tally.summary("temporal")["questions"] == 1


class CountingModel:
    id, dimensions = "counting", 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: list[str]) -> Floats:
        self.embedded += texts
        return np.array([[len(text), 1] for text in texts], np.float32)

    def embed_query(self, text: str) -> Floats:
        return np.zeros(2, np.float32)


def test_kept_vectors_are_not_made_twice(tmp_path: Path) -> None:
    first, second = CountingModel(), CountingModel()
    kept = KeptVectors(first, tmp_path)
    made = kept.embed(["one", "three", "one"])
    kept.save()
    again = KeptVectors(second, tmp_path)
    assert np.array_equal(again.embed(["three", "four"]), np.array([[5, 1], [4, 1]], np.float32))
    assert (first.embedded, second.embedded) == (["one", "three"], ["four"])
    assert made.shape == (3, 2)


def test_a_broken_file_of_kept_vectors_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "counting.npz").write_bytes(b"PK broken")
    kept = KeptVectors(CountingModel(), tmp_path)
    assert kept.embed(["one"]).shape == (1, 2)
    kept.save()
    assert KeptVectors(CountingModel(), tmp_path).embed(["one"])[0, 0] == 3


def project(folder: Path) -> Path:
    """Two records of which one replaced the other, a question for the new one, and one that nothing answers."""
    items = [
        {"id": "A-1", "kind": "fact", "text": "Webhooks are retried five times.", "status": "superseded"},
        {
            "id": "A-2",
            "kind": "fact",
            "text": "Callbacks get twelve attempts.",
            "status": "active",
            "supersedes": "A-1",
        },
        {"id": "A-3", "kind": "rule", "text": "Money is counted in whole cents.", "status": "active"},
    ]
    for item in items:
        item |= {"ts": "2025-03-03T08:40:00", "author": "Ada"}
    asked = [{"q": "how often are webhooks retried", "kind": "update", "evidence": ["A-2"], "stale": ["A-1"]}]
    folder.mkdir()
    data = {"project": "p", "items": items, "questions": asked, "unanswerable": [{"q": "Which zebra quacks loudly?"}]}
    (folder / "p.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_projects_of_records_are_measured_with_what_replaced_what_and_silence(call: Caller, tmp_path: Path) -> None:
    given = {"agentmem": str(project(tmp_path / "projects")), "semantic": False}
    answer = call.clew.dispatcher.call("bench_recall", given, Connection(local=True))
    assert answer.ok, answer.envelope["error"]
    arms = answer.envelope["result"]["agentmem"]
    assert (arms["lexical"]["recall@5"], arms["lexical"]["current_first"]) == (1.0, 1.0)
    assert (arms["lexical"]["silence"], arms["lexical"]["refused"], arms["lexical"]["auc"]) == (1.0, 0.0, 1.0)
    assert arms["fts5"]["current_first"] == 0.0
    assert set(arms["lexical"]["by_kind"]) == {"update"}


def test_a_young_project_cannot_answer_what_is_recorded_later(call: Caller, tmp_path: Path) -> None:
    texts = [
        ("The port is 8077.", "Which port?"),
        ("Slugs have 32 letters.", "How long is a slug?"),
        ("Tea.", "Drink?"),
    ]
    items = [
        {
            "id": f"Y-{at}",
            "kind": "fact",
            "text": text,
            "status": "active",
            "ts": "2026-04-06T09:00:00",
            "author": "Ada",
        }
        for at, (text, _) in enumerate(texts)
    ]
    asked = [{"q": query, "kind": "question", "evidence": [f"Y-{at}"]} for at, (_, query) in enumerate(texts)]
    data = {"project": "y", "items": items, "questions": asked, "unanswerable": [{"q": "Who pays?"}]}
    (tmp_path / "y.json").write_text(json.dumps(data), encoding="utf-8")
    (collection,) = young(tmp_path)
    ctx = Context(call.clew.dispatcher, Connection(local=True), "ws", None)
    first, whole = [stage.collection for stage in stages(ctx, collection, (2, 3))]
    assert [question.text for question in first.questions] == ["Which port?", "How long is a slug?"]
    assert first.unanswerable == ["Who pays?", "Drink?"]
    assert (len(whole.questions), whole.unanswerable) == (3, ["Who pays?"])
    assert first.questions[0].evidence == {"F-1"}


def trial(at: int, shape: str, answerable: bool, held: float) -> Trial:
    question = Question("?", frozenset({"a"}), "all") if answerable else None
    scores = {"dense": np.array([held, 0.2], np.float32), "window": np.array([held, 0.5], np.float32)}
    late, place = np.zeros(2, bool), 0 if answerable else None
    return Trial(shape, "s", f"q{at}", question, 200, 1.0, ["a", "b"], scores, late, {}, True, False, place)


def case(shape: str, answerable: bool, held: float) -> Case:
    return Case(shape, answerable, foreign=False, shown=True, signals={"held": held})


def test_confidence_is_fitted_so_that_it_separates_and_is_calibrated() -> None:
    good = [case(shape, True, 0.4 + at / 100) for shape in ("one", "other") for at in range(60)]
    bad = [case(shape, False, 0.2 + at / 100) for shape in ("one", "other") for at in range(40)]
    model = fitted(good + bad, frozenset({"held"}))
    found = model.probabilities(good + bad)
    assert figures(good + bad, found)["auc"] > 0.8
    assert found.mean() == pytest.approx(0.6, abs=0.02)
    assert (np.diff(found[:60]) > 0).all()


def test_weights_are_learned_from_where_nothing_is_known() -> None:
    """The evidence has the higher likeness and fewer words: the model must come to weigh more."""
    trials = [trial(at, "pages", True, 0.3 + at / 100) for at in range(10)]
    start = mixture.neutral(mixture.shipped(default_kernel(), meaning=True))
    found = mixture.fitted(trials, start)
    assert found.pages["dense"] > start.pages["dense"]
    assert found.pages["window"] < start.pages["window"]
    assert mixture.figures(trials, found)["recall@1"] == 1.0


def test_the_hybrid_baseline_puts_what_replaced_a_record_first(tmp_path: Path) -> None:
    (collection,) = read("agentmem", project(tmp_path / "projects"))
    found = hybrid(collection, CountingModel())("how often are webhooks retried")
    assert found.index("A-2") < found.index("A-1") == len(found) - 1


SHAPES = sorted((Path(generated.DATA).parent / "shapes").glob("*.json"))


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_projects_of_other_shapes_ask_in_other_words(path: Path) -> None:
    (collection,) = agentmem(path, path.stem)
    texts = {record.id: record.text for record in collection.records}
    assert 80 <= len(texts) <= 150
    assert 50 <= len(collection.questions) + len(collection.unanswerable) <= 60
    assert len(collection.unanswerable) == 10
    for question in collection.questions:
        assert question.evidence <= texts.keys()
        if question.category == "paraphrase":
            asked = _content(question.text)
            shares = [len(asked & _content(texts[id])) / len(asked) for id in question.evidence]
            assert max(shares) <= 0.4, question.text


def _content(text: str) -> set[str]:
    return {term for term in terms(text) if term not in FILLER}


def test_plain_bm25_needs_no_library_and_prefers_rare_words() -> None:
    texts = ("the cat sat", "the cat and the cat", "a walrus sat with the cats", "nothing of it")
    turns = [Turn(f"D1:{at}", 1, "", text, "", None, "") for at, text in enumerate(texts)]
    search = bm25(Conversation("one", turns, []))
    assert search("which walrus has a cat?")[0] == "D1:2"
    assert search("zebra") == []
    assert set(search("cats")) == {"D1:0", "D1:1", "D1:2"}


def as_longmemeval(collection: Collection) -> list[dict[str, Any]]:
    """A chat in the form in which LongMemEval is published: each question with its sessions, their ids and dates."""
    sessions: dict[str, list[dict[str, Any]]] = {}
    for record in collection.records:
        turn = {"role": record.author, "content": record.text, "id": record.id}
        sessions.setdefault(record.doc or "", []).append(turn)
    return [_asked(f"q{at}", question, sessions) for at, question in enumerate(collection.questions)]


def _asked(id: str, question: Question, sessions: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    marked = [
        [{**turn, "has_answer": True} if turn["id"] in question.evidence else turn for turn in said]
        for said in sessions.values()
    ]
    return {
        "question_id": id,
        "question_type": question.category,
        "question": question.text,
        "haystack_session_ids": list(sessions),
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * len(sessions),
        "haystack_sessions": marked,
    }


def test_longmemeval_is_read_as_it_is_published_and_measured(call: Caller, tmp_path: Path) -> None:
    told = as_longmemeval(generated.chat(1))
    told.append({**told[0], "question_id": "q0_abs", "question": "Who pays?"})
    path = written(tmp_path, told)
    (collection,) = read("longmemeval", path)
    assert len(collection.questions) == len(told) - 1, "what cannot be answered names no evidence"
    assert {record.ts_ms for record in collection.records} == {
        int(datetime(2023, 5, 20, 2, 21, tzinfo=UTC).timestamp()) * 1000
    }
    given = {"longmemeval": str(path), "semantic": False, "peers": True}
    answer = call.clew.dispatcher.call("bench_recall", given, Connection(local=True))
    arms = answer.envelope["result"]["longmemeval"]
    assert set(arms) == {"lexical", "fts5", "bm25"}
    assert set(arms["lexical"]["by_kind"]) == {"user", "update"}
    assert arms["lexical"]["recall@10"] > 0.5


@pytest.mark.parametrize("name", list(generated.SHAPES))
def test_generated_talk_is_the_same_each_time_and_names_its_evidence(name: str) -> None:
    first, again = generated.shape(name), generated.shape(name)
    assert first == again
    for collection in first:
        ids = [record.id for record in collection.records]
        assert len(set(ids)) == len(ids)
        assert all(question.evidence and question.evidence <= set(ids) for question in collection.questions)
        assert not {question.text for question in collection.questions} & set(collection.unanswerable)
        assert len(collection.questions) > len(collection.unanswerable) > 0


def test_trials_are_gathered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_trials, "FOLDER", tmp_path / "trials")
    data = written(tmp_path, ["one"])
    gathered: list[int] = []

    def gather() -> list[Trial]:
        gathered.append(1)
        return [trial(len(gathered), "pages", True, 0.5)]

    asked = [kept_trials.kept("set", "words", [data], gather)[0].text for _ in range(3)]
    assert asked == ["q1", "q1", "q1"]
    written(tmp_path, ["other"])
    assert kept_trials.kept("set", "words", [data], gather)[0].text == "q2"
    assert len(list((tmp_path / "trials").iterdir())) == 1, "what other data gave is of no use any more"
