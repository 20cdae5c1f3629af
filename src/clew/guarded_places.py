"""Which projects have memory and guards, noted so that a hook knows it before anything of Clew is loaded.

One small file for each project's place in `<home>/places`: the strictest answer of its guards, then the workspaces that
belong to the place. What guards say is in the store; this only tells a hook how long an answer is worth
waiting for, and that a command must not pass unseen while no server answers. The standard library only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "places"
STRICT = ("ask", "deny")
"""What guards answer that must not be missed; a remark may be."""
LARGEST = 64_000


class GuardedPlace:
    """A plain class: every tool call of an agent waits for this module, and importing dataclasses would double it."""

    __slots__ = ("strictest", "workspaces")

    def __init__(self, strictest: str, workspaces: tuple[str, ...]) -> None:
        self.strictest = strictest
        self.workspaces = workspaces

    @property
    def is_strict(self) -> bool:
        return self.strictest in STRICT


def project_root(directory: str) -> str:
    """The nearest directory upwards that holds `.git`, else the directory itself; as `settings.project_root`."""
    place = os.path.realpath(directory)
    while not os.path.exists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return os.path.realpath(directory)
        place = above
    return place


def mark_of(root: str) -> str:
    """The digest by which a workspace is marked with the place of its project (`Settings.own_guard`)."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            from hashlib import sha256
    return str(sha256(os.fsencode(os.path.realpath(root))).hexdigest())[:16]


def read_place(home: str, directory: str) -> GuardedPlace | None:
    """What is noted of the project that a directory belongs to; None where Clew was never used."""
    try:
        with open(_file(home, project_root(directory)), encoding="utf-8") as file:
            strictest, *workspaces = file.read(LARGEST).split("\n")
    except (OSError, ValueError):
        return None
    return GuardedPlace(strictest, tuple(name for name in workspaces if name))


def note_place(home: str, root: str, strictest: str, workspaces: Iterable[str]) -> None:
    """Keep it for hooks; where it cannot be kept, they wait as briefly as for a project without guards."""
    text = "\n".join((strictest, *sorted(set(workspaces)), ""))
    place = _file(home, root)
    try:
        with open(place, encoding="utf-8") as file:
            if file.read(LARGEST) == text:
                return
    except (OSError, ValueError):
        pass
    draft = f"{place}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, place)
    except OSError:
        pass


def _file(home: str, root: str) -> str:
    return os.path.join(home, FOLDER, mark_of(root))
