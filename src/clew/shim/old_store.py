"""What `clew serve` prints to standard error if the project has a store of BranchMind."""

from __future__ import annotations

import os

from clew.original_store import original_store, project_of
from clew.shim.options import parse_plainly
from clew.shim.place import data_directory


def remark(words: list[str]) -> str | None:
    """The location of that store, as long as the project has none of ours; afterwards the answers mention it."""
    try:
        here = os.getcwd()
    except OSError:  # the directory is gone; the start of the server reports that
        return None
    plain = parse_plainly(words)
    named = plain.flags.get("home") if plain is not None else None
    home = data_directory(os.environ, str(named) if named else None, here)
    if os.path.exists(os.path.join(home, "clew.db")):
        return None
    store = original_store(home, project_of(here))
    way = f"import_branchmind, or `clew --home {home} import branchmind`, reads it"
    return f"{store} is a store of BranchMind; {way}" if store is not None else None
