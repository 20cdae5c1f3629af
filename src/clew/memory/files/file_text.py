"""Writes a memory file, always as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from clew.memory.files import hand_edits, plain_files
from clew.memory.files.directory import DERIVED, Directory
from clew.memory.files.file_state import FolderState, known
from clew.memory.files.swap import LateSave
from clew.registry.context import Context
from clew.store.database import Row


@dataclass(frozen=True)
class FileOutput:
    path: str
    data: bytes
    seq: int


def output_of(ctx: Context, row: Row) -> FileOutput:
    path = row["path"]
    text = hand_edits.rendered(ctx, path) if row["blocks"] else plain_files.stored(ctx, path)
    return FileOutput(path, text.encode(), row["seq"])


def write_output(directory: Directory, state: FolderState, output: FileOutput) -> list[LateSave]:
    if not is_tracked(output.path):
        directory.replace(output.path, output.data)
        state.write_only_seq = max(state.write_only_seq, output.seq)
        return []
    written = directory.write(output.path, output.data, state.files.get(output.path))
    state.files[output.path] = known(written.stamp, output.seq, output.data)
    return written.late


def is_tracked(path: str) -> bool:
    return not path.startswith(("intelligence/applied/", f"{DERIVED}/"))
