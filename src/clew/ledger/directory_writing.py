"""Writing a session as Thoughtbox keeps it on disk, each file whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from clew.ledger.integrity import BRANCHES, MANIFEST, file_order

_NODE = ("id", "data", "prev", "next", "revisesNode", "branchOrigin", "branchId")


def write_session(sessions: Path, exported: dict[str, Any]) -> Path:
    """The manifest comes last, so that a directory with one is complete."""
    session = exported["session"]
    folder = sessions / str(session["partitionPath"]) / str(session["id"])
    (folder / BRANCHES).mkdir(parents=True, exist_ok=True)
    main: list[str] = []
    branches: dict[str, list[str]] = {}
    for node in exported["nodes"]:
        name = f"{node['data']['thoughtNumber']:03d}.json"
        chain = node["branchId"]
        place = folder / BRANCHES / chain if chain else folder
        place.mkdir(exist_ok=True)
        _write(place / name, {key: node[key] for key in _NODE})
        (branches.setdefault(chain, []) if chain else main).append(name)
    _write(folder / MANIFEST, _manifest(session, main, branches))
    return folder


def _manifest(session: dict[str, Any], main: list[str], branches: dict[str, list[str]]) -> dict[str, Any]:
    known = ("title", "description", "tags", "createdAt", "updatedAt")
    own = {"id", *known, "thoughtCount", "branchCount", "partitionPath", "thoughtboxProject"}
    metadata = {name: session[name] for name in known if name in session}
    return {
        "id": session["id"],
        "version": "1.0.0",
        "thoughtFiles": sorted(main, key=file_order),
        "branchFiles": {chain: sorted(names, key=file_order) for chain, names in branches.items()},
        "metadata": metadata,
        **{name: value for name, value in session.items() if name not in own},
    }


def _write(path: Path, value: dict[str, Any]) -> None:
    part = path.with_name(f"{path.name}.tmp")
    part.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2))
    part.replace(path)
