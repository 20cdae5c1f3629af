"""Where bundles are exchanged: a folder, a folder of another machine, or a separate ref of a git remote.

A remote is read and written as a folder `ORIGIN/FIRST-LAST-DIGEST.clew`. Files are never changed: one that is there is
there as its name says. So nothing is lost when several stores write at once.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Protocol

from clew.errors import ClewError, invalid
from clew.sync.bundle_format import Bundle, BundleError, Change, pack, sha256, unpack

SUFFIX = ".clew"
REF = "refs/clew/sync"
_NAME = re.compile(r"\d+-(\d+)-[0-9a-f]+\.clew")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]+/\d+-\d+-[0-9a-f]+\.clew")
"""A bundle of another machine: a name that is no option, leads nowhere else, and that a shell takes as it is."""
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*")
_REMOTE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
TO_CONNECT = 10
TRIES = 5
SECONDS = 120


class SyncRemote(Protocol):
    @property
    def folder(self) -> Path: ...

    def fetch(self) -> None:
        """Bring the folder up to what is there now."""
        ...

    def held(self, origin: str) -> int:
        """The number of the last change of this origin that is there."""
        ...

    def publish(self) -> list[str] | None:
        """Send what was written into the folder, and say what was not taken; None where somebody else was faster, and
        all begins again."""
        ...


@dataclass(frozen=True)
class FolderRemote:
    folder: Path

    def fetch(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def held(self, origin: str) -> int:
        return last_held(self.folder, origin)

    def publish(self) -> list[str]:
        return []


@dataclass(frozen=True)
class GitRemote:
    """A ref of a git remote that no branch and no work tree ever holds."""

    project: Path
    url: str
    folder: Path

    def fetch(self) -> None:
        for path in bundle_files(self.folder):
            path.unlink()
        self._git("update-ref", "-d", REF)
        listed = self._git("ls-remote", self.url, REF)
        if not listed:
            return
        self._git("fetch", "--quiet", "--no-tags", self.url, f"+{REF}:{REF}")
        for line in self._git("ls-tree", "-r", REF).splitlines():
            described, _, name = line.partition("\t")
            if name.endswith(SUFFIX) and ".." not in name and not name.startswith("/"):
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self._bytes("cat-file", "blob", described.split()[2]))

    def held(self, origin: str) -> int:
        return last_held(self.folder, origin)

    def publish(self) -> list[str] | None:
        old = self._git("for-each-ref", "--format=%(objectname)", REF)
        tree = self._tree()
        if old and self._git("rev-parse", f"{REF}^{{tree}}") == tree:
            return []
        parents = ("-p", old) if old else ()
        commit = self._git("commit-tree", tree, *parents, "-m", "Changes of Clew")
        # A lease on what was read: a faster writer's change is read first.
        pushed = self._run("push", "--quiet", f"--force-with-lease={REF}:{old}", self.url, f"{commit}:{REF}")
        if pushed.returncode and old == self._git("ls-remote", self.url, REF).partition("\t")[0]:
            raise _git_error(pushed)
        return None if pushed.returncode else []

    def _tree(self) -> str:
        with tempfile.TemporaryDirectory() as place:
            index = {"GIT_INDEX_FILE": str(Path(place) / "index")}
            entries = []
            for path in bundle_files(self.folder):
                blob = self._git("hash-object", "-w", str(path))
                entries.append(f"100644 {blob}\t{path.relative_to(self.folder).as_posix()}\n")
            self._run("update-index", "--add", "--index-info", given="".join(entries).encode(), more=index)
            return self._git("write-tree", more=index)

    def _git(self, *arguments: str, more: dict[str, str] | None = None) -> str:
        return self._bytes(*arguments, more=more).decode().strip()

    def _bytes(self, *arguments: str, more: dict[str, str] | None = None) -> bytes:
        done = self._run(*arguments, more=more)
        if done.returncode:
            raise _git_error(done)
        return done.stdout

    def _run(
        self, *arguments: str, given: bytes = b"", more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        names = {f"GIT_{who}_{what}": "clew" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **names, "GIT_TERMINAL_PROMPT": "0", **(more or {})}
        command = ["git", "-C", str(self.project), *arguments]
        try:
            return subprocess.run(
                command, input=given, env=environment, capture_output=True, timeout=SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise ClewError("IO_ERROR", f"git: {problem}", "Install git, or sync with a folder.") from None


def _git_error(done: subprocess.CompletedProcess[bytes]) -> ClewError:
    said = done.stderr.decode(errors="replace").strip().splitlines()
    problem = said[-1] if said else f"exit code {done.returncode}"
    return ClewError("IO_ERROR", f"git: {problem}", "Name a remote of this project's repository, or a folder.")


@dataclass
class SshRemote:
    """A folder of another machine, reached with the `ssh` of this one and what every Unix has."""

    host: str
    path: str
    folder: Path
    _there: frozenset[str] = frozenset()

    def fetch(self) -> None:
        found = self._run(f"{self._enter()} && find . -path './.in-*' -prune -o -type f -name '*{SUFFIX}' -print")
        listed = (line.removeprefix("./") for line in found.decode(errors="replace").splitlines())
        self._there = frozenset(name for name in listed if _SAFE_NAME.fullmatch(name))
        here = self._here()
        for name in here - self._there:
            (self.folder / name).unlink()
        self._receive(sorted(self._there - here))

    def held(self, origin: str) -> int:
        return last_held(self.folder, origin)

    def publish(self) -> list[str]:
        here = self._here()
        if new := sorted(here - self._there):
            self._send(new)
        if gone := sorted(self._there - here):  # rewritten without what was erased
            self._run(f"{self._enter()} && xargs rm -f --", "\n".join(gone).encode())
        return []

    def _here(self) -> frozenset[str]:
        return frozenset(path.relative_to(self.folder).as_posix() for path in bundle_files(self.folder))

    def _enter(self) -> str:
        place = shlex.quote(self.path)
        return f"mkdir -p -- {place} && cd -- {place}"

    def _receive(self, names: list[str]) -> None:
        if not names:
            return
        packed = self._run(f"{self._enter()} && xargs tar -cf - --", "\n".join(names).encode())
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            for entry in archive:
                content = archive.extractfile(entry) if entry.isfile() and entry.name in names else None
                if content is not None:
                    _place(self.folder / entry.name, content.read())

    def _send(self, names: list[str]) -> None:
        """Unpacked into a draft folder and moved into place, so that no reader sees half a file."""
        packed = BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in names:
                archive.add(self.folder / name, arcname=name)
        beside = f".in-{secrets.token_hex(8)}"
        folders = " ".join(sorted({name.rpartition("/")[0] for name in names}))
        moves = " && ".join(f"mv -f {beside}/{folder}/* {folder}/" for folder in folders.split())
        self._run(
            f"{self._enter()} && mkdir -p {beside} {folders} && tar -xf - -C {beside} && {moves} && rm -rf {beside}",
            packed.getvalue(),
        )

    def _run(self, script: str, given: bytes = b"") -> bytes:
        # Nobody is there to type a password, and a host is never an option.
        command = ["ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={TO_CONNECT}", "--", self.host, script]
        try:
            done = subprocess.run(command, input=given, capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise _ssh_error(self.host, str(problem)) from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise _ssh_error(self.host, said[-1] if said else f"exit code {done.returncode}")
        return done.stdout


def _ssh_error(host: str, problem: str) -> ClewError:
    return ClewError(
        "IO_ERROR",
        f"ssh {host}: {problem}",
        "Try `ssh HOST true`: it must answer without asking for anything, with a key or an agent of ssh.",
    )


@dataclass(frozen=True)
class RemotePlaces:
    """What a remote needs of this machine, and what a caller may name."""

    home: Path
    project: Path | None
    is_local: bool
    """Whether the caller is at this machine's shell. Others name no address: what they may read must not be sent to
    where they say, and git and ssh take more from an address than one would think."""


@contextmanager
def opened_remote(name: str, places: RemotePlaces) -> Iterator[SyncRemote]:
    """`git:REMOTE` for a remote of the project's repository, `ssh:HOST:PATH`, and anything else is a folder."""
    if name.startswith("ssh:"):
        yield _ssh_remote(name, places)
    elif name.startswith("git:"):
        with tempfile.TemporaryDirectory(prefix="clew-sync-") as folder:
            yield _git_remote(name.removeprefix("git:"), places, Path(folder))
    else:
        yield FolderRemote(Path(name))


def _git_remote(url: str, places: RemotePlaces, folder: Path) -> GitRemote:
    project = places.project
    if project is None or not (project / ".git").exists():
        raise ClewError(
            "NOT_ALLOWED", "a git remote needs a project that is a git repository", "Name a folder instead."
        )
    if url.startswith("-"):
        raise invalid("remote", f"{url[:60]!r} is no remote", "Name a remote of the repository, such as git:origin.")
    if not places.is_local and not _REMOTE_NAME.fullmatch(url):
        raise only_at_the_shell("an address", "git:origin, or another remote by its name in the repository")
    return GitRemote(project, url, folder)


def _ssh_remote(name: str, places: RemotePlaces) -> SshRemote:
    host, _, path = name.removeprefix("ssh:").partition(":")
    if not _HOST.fullmatch(host) or not path or not path.isprintable():
        raise invalid("remote", f"{name[:80]!r} is no ssh:HOST:PATH", "Write ssh:mira@desk:clew, say.")
    if not places.is_local:
        raise only_at_the_shell("another machine", "a folder")
    # Kept, so that only what is new travels; the name says whose it is.
    folder = places.home / "sync" / sha256(name.encode())[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return SshRemote(host, path.removeprefix("~/"), folder)


def only_at_the_shell(what: str, instead: str) -> ClewError:
    return ClewError(
        "NOT_ALLOWED",
        f"{what} is named at the shell only: `clew sync REMOTE`",
        f"Name {instead}; or ask the user to run it.",
        details={"rule": "remote"},
    )


def bundle_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def held_files(folder: Path) -> list[tuple[Path, int]]:
    """The bundles of a folder, each with the number of its last change as its name says."""
    named = [(path, _NAME.fullmatch(path.name)) for path in bundle_files(folder)]
    return [(path, int(found[1])) for path, found in named if found]


def last_held(folder: Path, origin: str) -> int:
    return max((last for _, last in held_files(folder / origin)), default=0)


def read_bundle(path: Path) -> Bundle | BundleError:
    """A bundle, or what is wrong with it."""
    try:
        return unpack(path.read_bytes())
    except BundleError as problem:
        return problem
    except OSError as problem:
        return BundleError(problem.strerror or str(problem))


def write_bundle(folder: Path, origin: str, before: str, changes: Sequence[Change]) -> Path:
    """A file named by its content; written to a draft first, so that no reader sees half of it."""
    data = pack(origin, before, list(changes))
    name = f"{changes[0]['seq']:08d}-{changes[-1]['seq']:08d}-{sha256(data)[:16]}{SUFFIX}"
    target = folder / origin / name
    _place(target, data)
    return target


def _place(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(target)
