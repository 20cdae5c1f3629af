"""The model's judgement of two statements: what holds for all pairs, on unseen domains, and through the surface."""

from __future__ import annotations

import string

import pytest
from benchmarks.contradictions import Pair, domains, figures, memories, named
from hypothesis import given
from hypothesis import strategies as st

from clew.memory.contradictions.judgement import Clash, judge
from clew.memory.contradictions.wording import difference
from tests.memory.conftest import Memory
from tests.memory.judging import clash, judged

LEARNED = [pair for _, pair in domains("domains")]
SAID = st.sampled_from([text for pair in LEARNED for text in pair[1:]])

PARAPHRASED = [
    ("Parcels of up to 50 kilograms are accepted at the depot.", "The depot turns away parcels over 30 kg."),
    ("Commit messages are always in English.", "Please write commit messages in German."),
    ("Payroll is run by the Dublin office.", "The Lisbon office runs payroll."),
    ("Free shipping starts at an order value of $50.", "Free shipping starts at an order value of $35."),
    ("Dogs are welcome on the terrace.", "No dogs on the terrace, please."),
    ("The main branch is called main.", "The main branch is called trunk."),
    ("When two writers collide, the first one wins.", "When two writers collide, the last one wins."),
    ("All employees can read the incident log.", "Only administrators can read the incident log."),
    ("The new editor is on for every customer.", "The new editor is on for beta customers only."),
    ("Consent forms are kept for 90 days.", "Consent forms are kept for 7 years."),
    ("Refunds are approved by the support lead.", "Refunds are approved by the finance team."),
    ("The primary database for orders is PostgreSQL.", "The primary database for orders is MySQL."),
    ("Feature flags for the shop live in LaunchDarkly.", "Feature flags for the shop live in our own config service."),
    ("Support tickets are assigned automatically.", "Support tickets are assigned by hand."),
    ("Chat transcripts are kept for good.", "Chat transcripts are purged after a year."),
    ("Discharge letters must be signed by two doctors.", "One physician's signature is enough on a discharge letter."),
]
AGREEING = [
    ("Never: PostgreSQL as the database of the ledger", "The ledger uses SQLite as its database"),
    ("Root is not needed", "Nothing is removed recursively from the root"),
    ("Nobody enters the stable without boots.", "Boots are compulsory in the stable."),
    ("Discount codes cannot be combined.", "A shopper may use just one discount code per order."),
    ("Secrets are stored in Vault.", "Database passwords are stored in Vault and rotated weekly."),
    ("The EU cluster has three replicas.", "The US cluster has five replicas."),
    ("The billing service uses tokens in region 1.", "The billing service uses tokens in region 20."),
    ("Public endpoints need a rate limit.", "Internal endpoints need no rate limit."),
    ("Passwords have at least 12 characters.", "Administrator passwords have at least 16 characters."),
    ("Server host12 keeps orders in Redis.", "Server host13 never keeps orders in Redis."),
    ("We depreciate laptops over three years.", "Laptops are depreciated over 36 months."),
    ("Only HR sees salary data.", "Nobody outside of HR can see salaries."),
    ("The wiki database runs on PostgreSQL 15.", "The wiki database runs with two read replicas."),
    ("The freeze runs from 15 December to 3 January.", "The freeze runs from 15 December to 3 January, as always."),
    ("The limit is 5,000 euros for personal accounts.", "The limit is 25,000 euros for business accounts."),
    ("Severity one means that customers are affected.", "Severity two means that a workaround exists."),
    ("Crash dumps are deleted after a week.", "We do not hold crash dumps for longer than seven days."),
    ("The retry limit of the importer is 3.", "The retry limit of the mailer is 10."),
    ("Sessions live in Redis", "Sessions live in Redis 7"),
    ("Dogs are allowed in the hotel restaurant", "Small dogs are allowed in the hotel restaurant"),
]


@given(SAID, SAID)
def test_the_judgement_does_not_depend_on_the_order_of_the_two(first: str, second: str) -> None:
    def grade(found: Clash | None) -> tuple[float, bool] | None:
        return (found.confidence, found.sure) if found is not None else None

    assert grade(judged(first, second)) == grade(judged(second, first))


@given(SAID)
def test_a_statement_never_contradicts_itself_in_other_case_or_without_its_full_stop(statement: str) -> None:
    for other in (statement, statement.upper(), statement.lower(), statement.rstrip("."), f" {statement} "):
        assert judged(statement, other) is None


@given(
    st.sampled_from(("Boat", "Room", "Container", "Ticket", "Chapter", "Robot", "Node")),
    st.sampled_from(("{} was moved.", "We moved {} today.", "{} is painted red.", "I fixed {} in the evening.")),
    st.integers(1, 400),
    st.integers(1, 400),
)
def test_what_is_said_of_two_things_of_one_kind_is_never_surely_a_contradiction(
    noun: str, said: str, one: int, other: int
) -> None:
    assert clash(said.format(f"{noun} {one}"), said.format(f"{noun} {other}")) is None


@given(st.text(string.printable, max_size=200), st.text(string.printable, max_size=200))
def test_any_two_texts_can_be_judged(one: str, other: str) -> None:
    found = judged(one, other)
    assert found is None or (found.reason and 0 <= found.confidence <= 1)
    assert judged(one, one) is None


def test_contradictions_in_other_words_are_found_and_what_agrees_is_left_alone() -> None:
    """No model is right about each; over many pairs the benchmark has the figures."""
    assert sum(judged(*pair) is not None for pair in PARAPHRASED) >= len(PARAPHRASED) - 1
    assert sum(clash(*pair) is not None for pair in PARAPHRASED) >= len(PARAPHRASED) - 4
    assert sum(clash(*pair) is not None for pair in AGREEING) <= 1


@pytest.mark.parametrize(
    ("name", "precision", "recall"), [("domains_held", 0.93, 0.6), ("plain2", 0.9, 0.85), ("plain4", 0.93, 0.7)]
)
def test_what_nothing_was_learned_from_is_judged_well_enough(name: str, precision: float, recall: float) -> None:
    """What was measured less some room; the docs have the figures."""
    pairs = [pair for _, pair in domains(name)] if name == "domains_held" else named(name)
    found = figures(pairs)
    assert found["precision_with_may"] >= precision and found["recall_with_may"] >= recall
    assert found["precision"] >= precision and found["recall"] >= recall - 0.3


def test_hardly_a_neighbour_in_a_projects_memory_is_taken_for_a_contradiction() -> None:
    """By a writer that nothing was learned from: 240 records of three projects that hold together."""
    near = [pair for memory in memories()["p08"] for pair in memory.neighbours()]
    found = judge([(one, other) for _, one, other in near])
    assert sum(item is not None and item.sure for item in found) <= 0.01 * len(near)


def test_paraphrases_are_found_and_instances_are_not_among_other_decisions(memory: Memory) -> None:
    """Through the index of words: what is not looked up is never compared."""
    said = [text for pair in PARAPHRASED for text in pair]
    said += [f"Boat {number} was painted" for number in range(1, 21)] + [text for pair in AGREEING for text in pair]
    real = {frozenset((2 * at, 2 * at + 1)) for at in range(len(PARAPHRASED))}
    found = contradictions_among(memory, said)
    assert len(real - found) <= 4 and len(found - real) <= 2
    assert memory("scan")["checks"]["contradictions"] == len(found)


def test_among_the_decisions_of_a_folder_as_much_is_found_as_pair_by_pair(memory: Memory) -> None:
    """240 statements of a tester who knew nothing of the mechanism, each pair about a thing of its own."""
    pairs = named("plain6")
    found = contradictions_among(memory, [text for pair in pairs for text in pair[1:]])
    real = {frozenset((2 * at, 2 * at + 1)) for at, pair in enumerate(pairs) if pair[0] == "C"}
    assert len(found & real) >= 0.7 * len(real)
    assert len(found & real) >= 0.85 * len(found)


def contradictions_among(memory: Memory, statements: list[str]) -> set[frozenset[int]]:
    """Which two of the statements contradict each other when they stand in one file of decisions, by their numbers."""
    blocks = [f"[D-{number}]\nStatus: active\nStatement: {text}\n" for number, text in enumerate(statements)]
    memory.edit("decisions/DECISIONS.md", "\n".join(blocks))
    found = memory("list_contradictions", limit=1000)["resolutions"]
    return {frozenset(int(item[side].removeprefix("D-")) for side in ("block_a", "block_b")) for item in found}


def doubtful() -> Pair:
    """The first pair learned from that may contradict and is not sure, whatever the weights are."""
    return next(pair for pair in LEARNED if (found := judged(pair[1], pair[2])) is not None and not found.sure)


def test_a_doubtful_contradiction_is_told_apart_and_keeps_nothing_from_being_kept(memory: Memory) -> None:
    _, first, second = doubtful()
    old = memory("remember", text=first, kind="decision")
    new = memory("remember", text=second, kind="decision")
    assert (new["state"], new["contradicts"]) == ("kept", [])
    assert new["may_contradict"] == [{"id": old["id"], "text": first}]
    assert memory("list_contradictions")["contradictions"] == 0


def doubts(memory: Memory, id: str) -> list[str]:
    """What a record may contradict: as an agent opens it, and as a person reads it."""
    opened = [item["id"] for item in memory("open", id=id).get("record", {}).get("may_contradict", [])]
    links = memory("record_view", id=id)["outgoing"]
    assert [link["id"] for link in links if link["rel"] == "may_contradict"] == opened
    return opened


def test_what_may_contradict_is_found_again_at_both_records_while_both_hold(memory: Memory) -> None:
    _, first, second = doubtful()
    old = memory("remember", text=first, kind="decision")["id"]
    assert doubts(memory, old) == []
    new = memory("remember", text=second, kind="decision")["id"]
    assert (doubts(memory, old), doubts(memory, new)) == ([new], [old])
    memory.session.toolset = "agent"
    lines = memory.answer("open", id=new).text.splitlines()
    assert any(line.startswith(f"may contradict {old}: {first[:20]}") for line in lines)
    assert f"if both hold, remember it again with coexists_with=[{old}]" in lines
    memory("retract", id=old, why="it was never so")
    assert (doubts(memory, old), doubts(memory, new)) == ([], [])


def test_who_says_that_both_hold_hears_no_more_that_they_may_contradict(memory: Memory) -> None:
    _, first, second = doubtful()
    old = memory("remember", text=first, kind="decision")["id"]
    new = memory("remember", text=second, kind="decision")["id"]
    again = memory("remember", text=second, kind="decision", beside=[old])
    assert (again["id"], again["written"], again["settled"]) == (new, False, [old])
    assert "HoldsBeside" in memory("open", id=new)["block"]["text"]
    assert (doubts(memory, old), doubts(memory, new)) == ([], [])
    assert "settled" not in memory("remember", text=second, kind="decision", beside=[old]), "it is kept already"


@pytest.mark.parametrize(
    ("once", "now"),
    [
        ("In 2023 the project still supported Python 3.7", "The project supports Python 3.10 and newer"),
        ("The clinic formerly kept results for 30 days", "The clinic keeps results for 90 days"),
        ("The deposit was 50 euros before the reform", "The deposit is 75 euros"),
        ("We used to deploy on Fridays", "We never deploy on Fridays"),
    ],
)
def test_what_held_once_keeps_nothing_that_holds_now_from_being_kept(memory: Memory, once: str, now: str) -> None:
    memory("remember", text=now, kind="fact")
    assert memory("remember", text=once, kind="fact")["state"] == "kept"


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("Uploads are retried 5 times.", "Uploads are retried 10 times.", 'Differs in: "5 times" / "10 times"'),
        ("Servers are set up with Ansible", "Servers are set up with puppets", 'Differs in: "Ansible" / "puppets"'),
        ("Forms are kept for 90 days", "Forms are kept for 7 years", 'Differs in: "90 days" / "7 years"'),
        ("Audit logs are public", "Audit logs are not public", 'Differs in: "public" / "not public"'),
        ("Reads may be stale.", "Every answer shows the newest write.", "One excludes the other"),
    ],
)
def test_a_reason_names_the_words_that_differ(one: str, other: str, reason: str) -> None:
    assert difference(one, other) == reason


def test_letters_that_the_model_cannot_read_are_doubtful_at_most() -> None:
    found = judged("重试三次之后放弃", "重试五次之后放弃")
    assert found is not None and not found.sure
    assert judged("重试三次之后放弃", "日志保存在磁盘上") is None


def test_a_sure_one_waits_for_a_person_and_says_why(memory: Memory) -> None:
    first, second = PARAPHRASED[0]
    old = memory("remember", text=first, kind="rule")
    new = memory("remember", text=second, kind="rule")
    assert new["state"] == "proposed"
    assert [item["id"] for item in new["contradicts"]] == [old["id"]]
    assert "may_contradict" not in new
    assert old["id"] in new["reason"]


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("rejected", "SQLite for the state", "Keep the persisted counters in an sqlite3 database."),
        ("rejected", "python-dotenv; it skips bad lines", "Settings are read with python-dotenv."),
        ("rejected", "Redis for sessions", "Whoever logs in is remembered in redis."),
        (
            "decision",
            "Time is taken from time.time(), as a callable.",
            "Do not use time.time(); pass time.monotonic().",
        ),
        ("rule", "Use PostgreSQL instead of MySQL.", "Archived orders go to MySQL 8."),
    ],
)
def test_what_was_refused_by_name_is_told_to_whoever_builds_on_it(
    memory: Memory, kind: str, first: str, second: str
) -> None:
    old = memory("remember", text=first, kind=kind)
    new = memory("remember", text=second, kind="decision")
    told = [item["id"] for name in ("contradicts", "may_contradict") for item in new.get(name, [])]
    assert told == [old["id"]] and (new["state"] == "proposed") == bool(new["contradicts"])


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("decision", "Do not use Redis for sessions.", "Redis holds the queue of jobs."),
        ("rejected", "Kafka for events", "We do not use Kafka."),
        ("rejected", "Two weighted counters", "Two processes need a lock."),
    ],
)
def test_a_name_alone_is_no_contradiction(memory: Memory, kind: str, first: str, second: str) -> None:
    memory("remember", text=first, kind=kind)
    assert "may_contradict" not in memory("remember", text=second, kind="decision")
