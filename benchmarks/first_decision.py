"""From the wheel to the first recalled decision, in an empty home: five commands and their times.

Clew's dependencies are provided to the new environment by a `.pth` file instead of being downloaded, so the figures
are those of Clew itself and the run needs no network. `python -m benchmarks.first_decision --download` installs it all
with pip, `--uv` with `uv tool install` as README says, both without a cache; what was installed is then counted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import clew_memory_model
from benchmarks.report import Report

ROOT = Path(__file__).resolve().parent.parent
MOST_SECONDS = 60
MOST_COMMANDS = 5
DECISION = "The file named last wins"
QUESTION = "which file wins"


@dataclass
class Newcomer:
    """A new user with an empty home and a wheel, who types commands."""

    folder: Path
    lent: bool = True
    """Whether the libraries come from this environment instead of the network."""
    uv: str | None = None
    """The installer, if it is not pip."""
    times: list[tuple[str, float]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def venv(self) -> Path:
        return self.folder / "venv"

    @property
    def clew(self) -> Path:
        if self.uv:
            return self.home / ".local" / "bin" / "clew"
        return self.venv / ("Scripts" if os.name == "nt" else "bin") / "clew"

    def environment(self) -> dict[str, str]:
        """An environment without the clients and settings of the user who runs this.

        How packages are reached belongs to the machine, and is needed where they are downloaded.
        """
        network = ("PIP_", "UV_", "SSL_", "REQUESTS_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        kept = {name: value for name, value in os.environ.items() if name.startswith(network)}
        return {
            **kept,
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PATH": "/usr/bin:/bin",
            "CLEW_RESIDENT": "off",
        }

    def run(self, *words: str) -> str:
        """Run one command; records its time and returns its output."""
        begun = time.perf_counter()
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        done = subprocess.run(words, cwd=work, env=self.environment(), capture_output=True, text=True, timeout=600)
        shown = " ".join(Path(word).name if "/" in word else word for word in words)
        self.times.append((shown, time.perf_counter() - begun))
        assert done.returncode == 0, f"{shown}\n{done.stdout}{done.stderr}"
        return done.stdout

    def install(self, wheel: Path) -> None:
        """An environment of its own, and the wheel in it: two commands."""
        self.home.mkdir(parents=True, exist_ok=True)
        if self.uv:
            self.run(self.uv, "tool", "install", "--quiet", "--no-cache", "--python", sys.executable, str(wheel))
            return
        bare = ("--without-pip",) if self.lent else ()
        self.run(sys.executable, "-m", "venv", *bare, str(self.venv))
        python = str(self.clew.parent / "python")
        if not self.lent:
            self.run(python, "-m", "pip", "install", "--quiet", "--no-cache-dir", str(wheel))
            return
        # pip of this environment installs into the other one: making a new pip would be most of the time.
        into = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet")
        self.run(*into, "--no-index", "--no-deps", str(wheel))
        library = next((self.venv / "lib").glob("python*/site-packages"))
        # .pth files inside a path of a .pth file are ignored, so editable installs are listed here.
        model = Path(clew_memory_model.__file__).parents[1]
        paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(model)}
        (library / "lent.pth").write_text("".join(f"{path}\n" for path in sorted(paths)))


def build_wheel(folder: Path) -> Path:
    words = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def first_decision(newcomer: Newcomer, wheel: Path) -> str:
    """Run the five commands; returns the output of the last one."""
    newcomer.install(wheel)
    clew = str(newcomer.clew)
    newcomer.run(clew, "connect", "--yes")
    newcomer.run(clew, "remember", "--kind", "decision", DECISION, "--why", "shells do it so")
    return newcomer.run(clew, "recall", *QUESTION.split())


def main() -> None:
    report = Report("first_decision", "From the wheel to the first recalled decision, in an empty home")
    with tempfile.TemporaryDirectory(prefix="clew-first-") as place:
        folder = Path(place)
        uv = shutil.which("uv") if "--uv" in sys.argv[1:] else None
        newcomer = Newcomer(folder, lent="--download" not in sys.argv[1:], uv=uv)
        (newcomer.home / ".claude").mkdir(parents=True)
        wheel = build_wheel(folder)
        found = first_decision(newcomer, wheel)
        assert DECISION in found, found
        for command, seconds in newcomer.times:
            report.row(command=command, seconds=seconds, target="")
        total = sum(seconds for _, seconds in newcomer.times)
        report.row(
            command=f"{len(newcomer.times)} commands", seconds=total, target=f"{MOST_COMMANDS} in {MOST_SECONDS} s"
        )
        if uv or not newcomer.lent:
            count, size = installed(newcomer)
            report.row(command=f"{count} packages, {size:.0f} MB on disk, Clew among them", seconds="", target="")
    report.save()


def installed(newcomer: Newcomer) -> tuple[int, float]:
    """The number of packages in the environment without its installer, and their size."""
    root = newcomer.home / ".local" / "share" / "uv" / "tools" if newcomer.uv else newcomer.venv
    [library] = root.glob("**/site-packages")
    tools = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    files = [
        file
        for file in library.rglob("*")
        if file.is_file() and not file.relative_to(library).parts[0].startswith(tools)
    ]
    names = {file.parent.name for file in files if file.parent.name.endswith(".dist-info")}
    return len(names), sum(file.stat().st_size for file in files) / 1e6


if __name__ == "__main__":
    main()
