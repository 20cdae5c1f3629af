"""Where BranchMind keeps its store, so that a server started in its place can point to the old memory.

Asked at every start, before anything of Clew is loaded, and therefore without `pathlib`.
"""

from __future__ import annotations

import os

FILE = "branchmind_rust.db"
USUAL = os.path.join(".agents", "mcp", ".branchmind")
"""Its default directory below a project."""


def original_store(home: str, project: str) -> str | None:
    """The store in the data directory, which is where `--storage-dir` leads, else the one of the project."""
    files = (os.path.join(place, FILE) for place in (home, os.path.join(project, USUAL)))
    return next((os.path.realpath(file) for file in files if os.path.isfile(file)), None)


def project_of(directory: str) -> str:
    """The nearest directory upwards that holds .git, else the directory itself: where BranchMind looks too."""
    above = directory
    while not os.path.exists(os.path.join(above, ".git")):
        if above == os.path.dirname(above):
            return directory
        above = os.path.dirname(above)
    return above
