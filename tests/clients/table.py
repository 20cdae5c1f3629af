"""`python -m tests.clients.table` writes docs/clients.md from what each real client showed when it was last run."""

from __future__ import annotations

from pathlib import Path

from tests.clients.drivers import DRIVERS, ROWS, Driver
from tests.clients.results import NOT_RUN, Result, results

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
HEAD = """\
# Results with real clients

Each client is installed from npm in the version below, connected with `clew connect NAME`, and run headless against a
stub of its model on loopback that records what the model was sent. `make clients` runs all of them and writes this
page; `make clients CLIENTS=codex` runs one and updates its column. How it works:
[tests/clients](../tests/clients/test_sessions.py).

"yes" means that the test of that row passed; "no" is followed by the client's own limit. Cursor, VS Code, Zed,
Windsurf, Antigravity, Claude Desktop, Goose, Amp and Auggie cannot be run here: what Clew writes for them follows
their documentation.
"""
Results = dict[str, dict[str, Result]]


def page(known: Results) -> str:
    shown = [driver for name, driver in DRIVERS.items() if name in known]
    return "\n".join([HEAD, *(_table(group, known) for group in (shown[:5], shown[5:]) if group)])


def _table(group: list[Driver], known: Results) -> str:
    rows = [
        ["client", *(driver.program.title for driver in group)],
        ["---"] * (len(group) + 1),
        ["version", *(driver.program.version for driver in group)],
        ["run on", *(_dates(known[driver.name]) for driver in group)],
    ]
    for row in ROWS:
        found = (known[driver.name].get(row) for driver in group)
        rows.append([row, *(it.cell if it else NOT_RUN for it in found)])
    return "".join("| " + " | ".join(cells) + " |\n" for cells in rows)


def _dates(rows: dict[str, Result]) -> str:
    """The day of the run; of several runs the first and the last one."""
    days = sorted({it.date for it in rows.values()})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def main() -> None:
    PAGE.write_text(page(results()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
