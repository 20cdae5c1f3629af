"""Two processes that think in one session at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

from clew.app import Clew
from tests.ledger.conftest import Thinker

EACH = 500

WRITER = """
import sys
from clew.app import open_clew
from clew.registry.connection import Connection
from clew.settings import load_settings

home, url, session, name, count = sys.argv[1:]
clew = open_clew(load_settings({"home": home, "database_url": url or None, "workspace": "ws"}, {}))
caller = Connection()
clew.dispatcher.call("load_context", {"sessionId": session}, caller)
for number in range(int(count)):
    arguments = {"thought": f"{name} {number}", "nextThoughtNeeded": True}
    if number % 5 == 4:
        arguments |= {"branchId": "shared", "branchFromThought": 1}
    answer = clew.dispatcher.call("thought", arguments, caller)
    assert answer.ok, answer.text
print("done")
"""


def test_two_processes_never_share_a_number_and_lose_nothing(
    make_clew: Callable[..., Clew], database_flags: dict[str, Any]
) -> None:
    thinker = Thinker(make_clew())
    session = thinker.do("start_new", cipher=True)["sessionId"]
    thinker.think("the question")
    where = [str(database_flags["home"]), str(database_flags.get("database_url", "")), session]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, *where, name, str(EACH)], stdout=subprocess.PIPE, text=True)
        for name in ("left", "right")
    ]
    assert [writer.communicate(timeout=240)[0].strip() for writer in writers] == ["done", "done"]
    found = {"": [], "shared": []}  # type: dict[str, list[int]]
    texts, cursor = [], 0
    while cursor is not None:
        page = thinker("session_get", sessionId=session, limit=500, cursor=cursor, max_chars=1_000_000)
        for item in page["thoughts"]:
            found[item.get("branchId", "")].append(item["thoughtNumber"])
            texts.append(item["thought"])
        cursor = page["pagination"]["next_cursor"]
    assert sorted(found[""]) == list(range(1, 2 + 2 * EACH * 4 // 5))
    assert sorted(found["shared"]) == list(range(2, 2 + 2 * EACH // 5))
    assert sorted(texts) == sorted(
        ["the question", *(f"{name} {n}" for name in ("left", "right") for n in range(EACH))]
    )
