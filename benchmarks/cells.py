"""Running notebook cells over stdio: how long a small TypeScript cell takes from call to answer."""

from __future__ import annotations

from benchmarks.client import clew_server
from benchmarks.report import Report, spread
from benchmarks.stores import fresh_store


def main(quick: bool = False) -> None:
    report = Report("cells", "A TypeScript cell over stdio")
    count = 10 if quick else 40
    with fresh_store() as store, clew_server(store.home) as server:
        server.initialize()
        server.call("notebook_create", name="Bench")
        server.call(
            "notebook_add_cell", notebookId="NB-001", type="code", content="const x: number = 6; console.log(x * 7)"
        )
        server.call("notebook_run_cell", notebookId="NB-001", cellId="CELL-0003")
        times = [server.timed("notebook_run_cell", notebookId="NB-001", cellId="CELL-0003") for _ in range(count)]
    report.row(cell="TypeScript", runs=count, **spread(times), target="p50 <= 150 ms")
    report.save()


if __name__ == "__main__":
    main()
