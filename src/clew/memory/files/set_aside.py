"""Files replaced by a restored store: their later edits must not be read back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from clew.memory.files.directory import OWN, Directory
from clew.memory.files.file_state import FolderState
from clew.settings import Settings


def memory_folders(settings: Settings) -> dict[str, Path]:
    """The folders of memory files of a data directory, by workspace."""
    found = {
        path.parent.name.replace("+", "/"): path
        for path in sorted((settings.home / "workspaces").glob("*/memory"))
        if path.is_dir()
    }
    if settings.memory_dir is not None and settings.memory_dir.is_dir():
        found[settings.workspace] = settings.memory_dir
    return found


@contextmanager
def files_set_aside(folders: Sequence[Path]) -> Iterator[list[Path]]:
    """Lock the folders while the store is replaced; their files are moved to `.clew/before-restore-*`,
    and are rendered from the restored store. Yields the paths where they are kept."""
    with ExitStack() as held:
        directories = [Directory(folder) for folder in folders]
        for directory in directories:
            held.enter_context(directory.locked())
        kept = [place for directory in directories if (place := _set_aside(directory)) is not None]
        yield kept


def _set_aside(directory: Directory) -> Path | None:
    paths = [*directory.block_files(), *directory.plain_files()]
    if not paths:
        return None
    place = directory.root / OWN / f"before-restore-{time.time_ns()}"
    for path in paths:
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(directory.root / path, target)
    state = directory.state()
    # The names stay: a folder without them would be treated as another store's. Without known files,
    # all are rendered again.
    directory.save(FolderState(store=state.store, shared=state.shared, stores=state.stores))
    for path in paths:
        directory.remove(path)
    return place
