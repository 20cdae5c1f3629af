"""What a client of Mind-Mem sends and reads, pinned in its own words: the text of each answer is the seed's JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from clew.app import Clew
from clew.memory.files import plain_files
from clew.memory.files.sync import publish
from clew.memory.kernel_defaults import DEFAULTS, Setting, kernel_text
from clew.memory.kernels import every_kernel
from clew.settings import load_settings
from tests.contract.mind_mem import DECISIONS, EDITS, decision, op, proposal, task
from tests.memory.conftest import Memory

TURN = "[FACT-001]\nDate: 2026-01-02\nStatus: active\nStatement: The quokka sleeps\nTags: FACT, Caroline\nDiaID: D1:4\n"


@pytest.fixture
def memory(make_clew: Callable[..., Clew], tmp_path: Path) -> Memory:
    return Memory(make_clew(memory_dir=tmp_path / "memory"), tmp_path / "memory")


def said(memory: Memory, name: str, **arguments: Any) -> Any:
    """The text of an answer, as a client of the original reads it."""
    return orjson.loads(memory.answer(name, **arguments).text)


@pytest.fixture
def filled(memory: Memory) -> Memory:
    """A few blocks of each kind that a search must tell apart."""
    blocks = [decision("D-20260801-001", "The service uses Kafka"), TURN]
    memory.edit(DECISIONS, "\n---\n\n".join(blocks))
    memory.edit("decisions/DECISIONS_ARCHIVE.md", decision("D-20200101-001", "The service uses heron queues"))
    memory.edit("agents/bot1/decisions/DECISIONS.md", decision("D-20250102-001", "The service feeds the okapi"))
    memory("propose_update", block_type="task", statement="Restart the service with Kafka")
    memory("approve_apply", proposal_id=memory("list_proposals")["proposals"][0]["proposal_id"], dry_run=False)
    return memory


def test_what_agents_keep_for_themselves_and_archives_are_not_searched(filled: Memory) -> None:
    assert said(filled, "recall", query="okapi") == []
    assert said(filled, "recall", query="heron") == []
    assert filled("open", id="D-20250102-001")["block"]["file"] == "agents/bot1/decisions/DECISIONS.md"


@pytest.mark.parametrize("place", ["decisions/DECISIONS_ARCHIVE.md", "agents/bot1/decisions/DECISIONS.md"])
def test_what_is_put_away_contradicts_nothing(memory: Memory, place: str) -> None:
    """An entry would quote it, and entries are searched."""
    memory.edit(DECISIONS, decision("D-20260801-001", "Sessions live in Redis"))
    memory.edit("decisions/TEAM.md", decision("D-20260802-001", "Sessions live in PostgreSQL"))
    assert memory("list_contradictions")["contradictions"] == 1
    (memory.root / "decisions/TEAM.md").unlink()
    memory.edit(place, decision("D-20260802-001", "Sessions live in PostgreSQL"))
    assert memory("scan")["checks"]["contradictions"] == 0
    assert memory("remember", text="Sessions must not be put into PostgreSQL", kind="rule")["contradicts"] == []


@pytest.mark.parametrize("folder", ["agents/bot1/{}.md", "{}_ARCHIVE.md"])
def test_no_list_summary_count_or_check_shows_what_is_put_away(memory: Memory, folder: str) -> None:
    """Every answer about the memory as a whole; only its id opens such a block."""
    memory.edit(DECISIONS, decision("D-20260801-001", "Lanterns are lit at dusk"))
    hidden = {"Tags": "architecture, bug", "Priority": "P0", "ReviewBy": "2020-01-01"}
    memory.edit(folder.format("decisions/DECISIONS"), decision("D-20250102-001", "The okapi is fed", **hidden))
    memory.edit(folder.format("tasks/TASKS"), task("T-20250102-001", "Okapi stable", Status="blocked"))
    found = [f"[INC-2025010{day}-okapi]\nDate: 2025-01-01\nTitle: Okapi\nRootCause: The okapi ran" for day in (1, 2)]
    memory.edit(folder.format("entities/incidents"), "\n\n---\n\n".join(found))
    memory("reindex")
    answers = [
        memory("category_summary", topic="okapi architecture bugs", limit=10),
        memory("category_summary", topic="uncategorized okapi"),
        memory("scan"),
        memory("list_blocks", kind="any"),
        memory("resume"),
        memory("inbox_list"),
    ]
    written = [
        file.read_text() for name in ("categories", "intelligence") for file in (memory.root / name).glob("*.md")
    ]
    for answer in (*answers, *written):
        assert not any(name in str(answer) for name in ("okapi is", "D-20250102", "T-20250102", "INC-2025"))
    assert memory("index_stats")["decisions_blocks"] == 1
    again = memory("propose_update", block_type="decision", statement="The okapi is fed")
    assert again["written"] == 1, "what an agent noted for itself does not make it known to all"
    assert "okapi" in str(memory("open", id="D-20250102-001")["block"])


def test_an_id_finds_its_block_first(filled: Memory) -> None:
    memory = filled
    memory("propose_update", block_type="task", statement="Look at D-20260801-001 again, D-20260801-001 is old")
    hit = said(memory, "recall", query="D-20260801-001")[0]
    assert (hit["_id"], hit["file"]) == ("D-20260801-001", DECISIONS) and hit["line"] > 0


def test_a_fact_is_found_with_its_speaker_and_its_turn(filled: Memory) -> None:
    hit = said(filled, "recall", query="quokka")[0]
    assert (hit["_id"], hit["speaker"], hit["DiaID"]) == ("FACT-001", "Caroline", "D1:4")
    assert "D1:4" not in hit["excerpt"]


@pytest.mark.parametrize("name", ["recall", "hybrid_search"])
def test_active_only_gives_blocks_with_that_status_only(filled: Memory, name: str) -> None:
    found = said(filled, name, query="service Kafka", active_only=True)
    assert {hit["status"] for hit in found} == {"active"}
    assert {hit["status"] for hit in said(filled, name, query="service Kafka")} >= {"active", "todo"}


def test_an_empty_question_finds_nothing(filled: Memory) -> None:
    assert said(filled, "recall", query="") == []
    assert said(filled, "hybrid_search", query="  ") == []
    assert said(filled, "category_summary", topic="")["status"] == "no_categories"


def test_numbers_and_truths_may_be_strings(filled: Memory) -> None:
    assert len(said(filled, "recall", query="service", limit="1", active_only="true")) == 1
    assert len(said(filled, "recall", query="service", limit=1.0)) == 1


def test_refused_applies_and_rollbacks_have_the_fields_of_the_tables(memory: Memory) -> None:
    failed = said(memory, "approve_apply", proposal_id="P-20260101-001", dry_run=False)
    assert (failed["status"], failed["success"], failed["dry_run"]) == ("failed", False, False)
    assert failed["proposal_id"] == "P-20260101-001"
    assert "P-20260101-001" in failed["message"]
    assert "P-20260101-001" in failed["log"]
    assert failed["next_step"] is None
    assert failed["recovery"]
    back = said(memory, "rollback_proposal", receipt_ts="20260101-000000")
    assert (back["status"], back["success"], back["receipt_ts"]) == ("rollback_failed", False, "20260101-000000")
    assert "20260101-000000" in back["log"]


def test_the_figures_of_a_scan_agree_with_each_other(memory: Memory) -> None:
    memory.edit(
        DECISIONS,
        decision("D-20260101-001", "Sessions live in Redis", Priority="P3")
        + "\n\n"
        + decision("D-20260301-001", "Sessions live in PostgreSQL", Priority="P3"),
    )
    checks = memory("scan")["checks"]
    assert len(checks["proposed_resolutions"]) == checks["staged_proposals"] == checks["contradictions"] == 1
    staged = checks["proposed_resolutions"][0]
    memory.edit(DECISIONS, decision("D-20260101-001", "Sessions live in Redis"))
    assert memory("scan")["checks"]["contradictions"] == 0
    listed = {item["proposal_id"]: item["status"] for item in memory("list_proposals")["proposals"]}
    assert listed[staged] == "expired", "what resolved a contradiction ends with it"


def test_a_contradiction_is_entered_when_its_decisions_are_read_in(memory: Memory) -> None:
    sides = (("D-20260101-001", "Sessions live in Redis"), ("D-20260301-001", "Sessions live in PostgreSQL"))
    memory.edit(DECISIONS, "\n\n".join(decision(id, said) for id, said in sides))
    memory("recall", query="sessions")
    memory.compared()
    entered = memory.files()
    assert b"[C-" in entered["intelligence/CONTRADICTIONS.md"]
    assert memory("list_contradictions")["contradictions"] == 1
    assert memory.files() == entered


ENTRY = "[{id}]\nDate: 2026-09-01\nSeverity: high\nStatement: {said}\n{objects}Status: open\nResolution: none\n"


def test_one_entry_stands_for_one_pair_whoever_wrote_it(memory: Memory) -> None:
    memory.edit(DECISIONS, decision("D-20260801-001", "Alpha") + "\n\n" + decision("D-20260818-001", "Beta"))
    sentence = "D-20260801-001 and D-20260818-001 cannot both hold"
    listing = "Objects:\n- D-20260801-001\n- D-20260818-001\n"
    entries = [
        ENTRY.format(id="C-20260901-001", said=sentence, objects=""),
        ENTRY.format(id="C-20260902-001", said="the scanner says so", objects=listing),
        ENTRY.format(id="C-20260903-001", said="the scanner says so again", objects=listing),
    ]
    memory.edit("intelligence/CONTRADICTIONS.md", "\n---\n\n".join(entries))
    assert memory("scan")["checks"]["contradictions"] == 1
    found = memory("list_contradictions")
    assert [item["contradiction_id"] for item in found["resolutions"]] == ["C-20260901-001"]


def test_a_resolution_that_mind_mem_staged_ends_with_its_contradiction(memory: Memory) -> None:
    sides = [decision(id, said) for id, said in (("D-20260801-001", "Alpha"), ("D-20260818-001", "Beta"))]
    memory.edit(DECISIONS, "\n\n".join(sides))
    reason = "competing hard requirements: both must use, but different objects (a vs b) on axis=x"
    objects = "Objects:\n- D-20260801-001\n- D-20260818-001\n"
    memory.edit("intelligence/CONTRADICTIONS.md", ENTRY.format(id="C-20260901-001", said=reason, objects=objects))
    revoked = op("set_status", DECISIONS, "D-20260818-001", status="revoked")
    staged = proposal("P-20260901-001", "edit", "D-20260818-001", revoked).replace("- measured", f"- {reason}")
    memory.edit(EDITS, f"{staged}\nSources:\n- maintenance/intel-report.txt\n")
    assert memory("scan")["checks"]["staged_proposals"] == 1, "as long as the contradiction stands"
    memory.edit(DECISIONS, memory.read(DECISIONS).replace("Status: active", "Status: superseded", 1))
    tried = memory.answer("approve_apply", proposal_id="P-20260901-001").envelope
    assert "C-20260901-001, which it was to resolve" in tried["warnings"][0]["message"]
    assert memory("scan")["checks"]["staged_proposals"] == 0
    assert "Status: expired" in memory.read(EDITS)


def test_drift_that_mind_mem_summed_up_is_not_counted_twice(memory: Memory) -> None:
    memory("propose_update", block_type="task", statement="Restart the service")
    memory("approve_apply", proposal_id=memory("list_proposals")["proposals"][0]["proposal_id"], dry_run=False)
    memory.edit("tasks/TASKS.md", memory.read("tasks/TASKS.md").replace("Status: todo", "Status: blocked"))
    summed = "[DREF-20260901-001]\nDate: 2026-09-01\nSignal: stalled_tasks\nSummary: 1 task stands\nStatus: open\n"
    memory.edit("intelligence/DRIFT.md", summed)
    checks = memory("scan")["checks"]
    assert (checks["drift"], checks["drift_items"]) == ({"stalled_tasks": 1}, 1)


def test_kernels_of_mind_mem_are_read_honoured_where_they_can_be_and_named_once(memory: Memory) -> None:
    memory.propose("Use Redis")
    weights = "[bm25]\nk1 = 1.2\n[fields]\nStatement = 6.0\nContext = 0.5\n[retrieval]\nwide_k = 200\n"
    memory.edit("mind/recall.mind", weights)
    memory.edit("mind/bm25.mind", "fn score(x: f32) -> f32 {\n    return x * 2.0\n}\n")
    memory.edit("mind/own.mind", "[alpha]\nx = 1\n")
    shown = memory("get_mind_kernel", name="recall")
    assert shown["config"]["fields"] == {"Statement": "6.0", "Context": "0.5"}
    assert shown["config"]["retrieval"] == {"wide_k": "200"}
    assert shown["unused"] == ["fields.Context", "retrieval.wide_k"]
    assert "problems" not in shown
    own = memory("get_mind_kernel", name="own")
    assert (own["config"], own["unused"]) == ({"alpha": {"x": "1"}}, ["alpha.x"])
    answer = memory.answer("recall", query="Redis")
    assert not [warning for warning in answer.envelope["warnings"] if warning["code"] == "KERNEL_REJECTED"]
    named = {item["file"]: item["message"] for item in memory("scan")["findings"] if item["check"] == "kernel"}
    assert named == {
        "mind/own.mind": "Keys that steer nothing here: alpha.x",
        "mind/recall.mind": "Keys that steer nothing here: fields.Context, retrieval.wide_k",
    }


def test_what_mind_mem_ships_and_never_reads_switches_nothing_off(memory: Memory) -> None:
    """Its hybrid kernel says that vectors are off, which nobody chose; the same line in Clew's own kernel counts."""
    memory.propose("Use Redis")
    memory.edit(
        "mind/hybrid.mind", "[vector]\nenabled = false\nmin_similarity = 0.3\n[fallback]\nlog_fallback = true\n"
    )
    shown = memory("get_mind_kernel", name="hybrid")
    assert sorted(shown["unused"]) == ["fallback.log_fallback", "vector.enabled", "vector.min_similarity"]
    assert vector_settings(memory) == (True, 0.12)
    memory.edit("mind/hybrid.mind", "[vector]\nenabled = false\nmin_similarity = 0.3\n")
    assert vector_settings(memory) == (False, 0.3)


def vector_settings(memory: Memory) -> tuple[Setting, Setting]:
    memory("list_mind_kernels")
    with memory.context().reading() as ctx:
        vector = every_kernel(ctx)["vector"]
    return vector["enabled"], vector["min_similarity"]


def test_a_field_weight_that_is_no_weight_is_rejected(memory: Memory) -> None:
    memory.propose("Use Redis")
    memory.edit("mind/recall.mind", "[fields]\nStatement = banana\nTags = 99\n")
    shown = memory("get_mind_kernel", name="recall")
    assert "unused" not in shown
    assert shown["problems"] == [
        "mind/recall.mind line 2: fields.Statement: 'banana' is not a number",
        "mind/recall.mind line 3: fields.Tags: 99 is not between 0 and 8",
    ]


def test_a_tuned_field_weight_counts(memory: Memory) -> None:
    memory.edit(
        DECISIONS,
        decision("D-20260801-001", "Kafka carries events") + "\n\n" + decision("D-2", "Tea", Rationale="Kafka"),
    )
    before = said(memory, "recall", query="kafka", explain=True)[0]
    memory.edit("mind/recall.mind", "[fields]\nStatement = 9.0\n")
    after = said(memory, "recall", query="kafka", explain=True)[0]
    assert (before["_id"], after["_id"]) == ("D-20260801-001", "D-20260801-001")
    assert after["score"] > before["score"]


def test_every_kernel_that_is_listed_can_be_written(memory: Memory) -> None:
    memory.propose("Use Redis")
    for kernel in said(memory, "list_mind_kernels"):
        path = Path(kernel["path"])
        assert kernel["exists"] is False and not path.exists()
        memory.edit(f"mind/{path.name}", f"[{kernel['sections'][0]}]\n")
        assert "exists" not in memory("get_mind_kernel", name=kernel["name"])


def test_kernels_that_an_earlier_version_laid_down_are_removed_unless_they_were_edited(memory: Memory) -> None:
    memory.propose("Use Redis")
    with memory.context().writing() as ctx:
        for name in DEFAULTS:
            plain_files.write(ctx, f"mind/{name}.mind", kernel_text(name), "init")
    publish(memory.context())
    assert len(list((memory.root / "mind").iterdir())) == len(DEFAULTS)
    memory.edit("mind/rm3.mind", memory.read("mind/rm3.mind") + "# mine\n")
    memory("scan")
    memory("scan")
    assert [path.name for path in (memory.root / "mind").iterdir()] == ["rm3.mind"]


def test_the_configuration_turns_the_search_by_meaning_off(memory: Memory) -> None:
    memory.edit("mind-mem.json", '{"recall": {"vector_enabled": false}}')
    memory("list_proposals")
    with memory.context().reading() as ctx:
        assert every_kernel(ctx)["vector"]["enabled"] is False


def test_a_state_that_cannot_be_read_applies_nothing(memory: Memory) -> None:
    proposed = memory.propose("Use Redis")
    memory.edit("memory/intel-state.json", "{ this is no JSON")
    failed = said(memory, "approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)
    assert "detect_only" in failed["message"]
    memory.edit("memory/intel-state.json", '{"governance_mode": "propose", "anything": {"else": 1}}')
    assert said(memory, "approve_apply", proposal_id=proposed["proposal_id"], dry_run=False)["status"] == "applied"


def test_an_action_that_there_is_not_is_refused(filled: Memory) -> None:
    assert filled.error("memory_evolution", block_id="D-20260801-001", action="bogus")["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_server_over_http_listens_where_clients_of_mind_mem_look(tmp_path: Path, engine: str) -> None:
    chosen = {"home": tmp_path, "toolset": "mind-mem", "transport": "http"}
    settings = load_settings(chosen, {}, tmp_path)
    assert (settings.transport, settings.port) == ("http", 8765)
    assert load_settings({**chosen, "toolset": "agent"}, {}, tmp_path).port == 1731


@pytest.mark.parametrize(
    ("bearer", "own", "status"),
    [("right", "", 200), ("", "right", 200), ("wrong", "right", 200), ("right", "wrong", 200), ("wrong", "wrong", 401)],
)
def test_either_header_with_the_token_lets_in(bearer: str, own: str, status: int) -> None:
    from starlette.datastructures import Headers

    from clew.faces.http import has_token

    sent = {**({"authorization": f"Bearer {bearer}"} if bearer else {}), **({"x-mindmem-token": own} if own else {})}
    assert has_token(Headers(sent), "right") == (status == 200)
