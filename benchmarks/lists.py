"""The size of the tool lists of each toolset, which a client reads before its first call."""

from __future__ import annotations

import json

from benchmarks.client import clew_server
from benchmarks.report import Report
from benchmarks.stores import fresh_store


def main(quick: bool = False) -> None:
    report = Report("lists", "tools/list by toolset")
    with fresh_store() as store:
        for toolset in ("core", "daily", "full"):
            with clew_server(store.home, toolset=toolset) as server:
                server.initialize()
                tools = server.request("tools/list", {})["tools"]
                text = json.dumps(tools, separators=(",", ":"), ensure_ascii=False)
                report.row(
                    toolset=toolset,
                    tools=len(tools),
                    bytes=len(text.encode()),
                    tokens_estimated=len(text) // 4,
                    idle_memory_mb=server.memory_mb(),
                    target="daily <= 14 tools, <= 20000 bytes; idle <= 90 MB",
                )
    report.save()


if __name__ == "__main__":
    main()
