"""Tables for people, JSON for machines, from the same rows."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


class Report:
    """Rows of one measurement. `save` prints the table and writes the file."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self.title = title
        self.rows: list[dict[str, Any]] = []

    def row(self, **columns: Any) -> None:
        self.rows.append(columns)

    def save(self) -> Path:
        self.print()
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]}
        record = {"name": self.name, "title": self.title, "at": int(time.time()), "machine": machine, "rows": self.rows}
        path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return path

    def print(self) -> None:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        cells = [[shown(row.get(name, "")) for name in names] for row in self.rows]
        widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
        print(f"\n{self.title}")
        print("  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)))
        for line in cells:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def shown(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def spread(seconds: list[float]) -> dict[str, float]:
    """Median and a high percentile in milliseconds."""
    ordered = sorted(seconds)
    return {
        "p50_ms": statistics.median(ordered) * 1000,
        "p95_ms": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1000,
        "max_ms": ordered[-1] * 1000,
    }
