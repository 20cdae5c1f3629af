"""`python -m tests.clients.cold claude 20`: so many sessions of a client, each with no server running before it.

Counts how many are told where the work stands and refused a guarded edit, and notes it for docs/clients.md together
with the load of the machine. `make clients` runs one such session of each client; this shows that it was no luck.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients import table
from tests.clients.drivers import COLD, DRIVERS, Driver
from tests.clients.programs import install
from tests.clients.results import note
from tests.clients.scene import Scene, scene


def run_cold(driver: Driver, place: Scene) -> tuple[bool, bool]:
    """Whether the session heard the start, and whether it was guarded."""
    place.stop_server()
    file = place.project / "migrations" / "001_init.sql"
    before = file.read_text()
    session = driver.run(place, [driver.edit(file, before.strip(), "create table a (c int);")])
    refused = "Add a new migration instead." in session.last.text
    return "where the work stands" in session.first.text, refused and file.read_text() == before


def main() -> None:
    driver, count = DRIVERS[sys.argv[1]], int(sys.argv[2])
    os.environ.pop("CLEW_RESIDENT", None)
    install(driver.program)
    heard = guarded = 0
    loads = []
    with TemporaryDirectory(prefix="clew-cold-") as folder, scene(Path(folder) / "home") as place:
        driver.connect(place)
        place.fill()
        for number in range(1, count + 1):
            heard_now, guarded_now = run_cold(driver, place)
            heard, guarded = heard + heard_now, guarded + guarded_now
            loads.append(os.getloadavg()[0])
            print(f"{number}: heard {heard}, guarded {guarded}, load {loads[-1]:.1f}", flush=True)
    cell = f"{heard} and {guarded} of {count}, at load {min(loads):.0f} to {max(loads):.0f}"
    note(driver.program, COLD, cell)
    table.main()


if __name__ == "__main__":
    main()
