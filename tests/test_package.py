"""What is shipped: the wheel carries every file, the locks are exact, the descriptions agree."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import clew
from clew_memory_model import ENCODER, PAIRS

ROOT = Path(__file__).parent.parent
MODEL = ROOT / "packages" / "clew-memory-model"
WEIGHTS = (PAIRS, ENCODER)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return zipfile.ZipFile(next(target.glob("*.whl")))


def test_the_wheel_holds_every_file_of_the_package(wheel: zipfile.ZipFile) -> None:
    here = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "clew").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert here <= set(wheel.namelist()), sorted(here - set(wheel.namelist()))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel as `make dist` makes it: from the source archive."""
    target = tmp_path_factory.mktemp("released")
    run = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(target)]
    subprocess.run(run, cwd=ROOT, check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(target)]
    subprocess.run([*pip, str(next(target.glob("*.tar.gz")))], check=True, capture_output=True)
    return zipfile.ZipFile(next(target.glob("*.whl")))


def test_a_released_wheel_names_the_model_and_one_of_a_checkout_its_folder(
    wheel: zipfile.ZipFile, released: zipfile.ZipFile
) -> None:
    """So that `pip install .` works in a checkout, and nothing that is published names a folder of the publisher."""
    metadata = f"clew_memory-{clew.__version__}.dist-info/METADATA"
    here, published = (archive.read(metadata).decode() for archive in (wheel, released))
    assert f"Requires-Dist: clew-memory-model @ {MODEL.as_uri()}" in here
    assert "Requires-Dist: clew-memory-model<2,>=1" in published and "file:" not in published
    assert set(released.namelist()) == set(wheel.namelist())


def test_the_wheel_of_the_model_holds_weights_and_licence(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(run, cwd=MODEL, check=True, capture_output=True)
    [path] = tmp_path.glob("clew_memory_model-*.whl")
    with zipfile.ZipFile(path) as archive:
        names = {Path(name).name for name in archive.namelist()}
        [notice] = [name for name in archive.namelist() if name.endswith("/NOTICE")]
        assert "all-MiniLM-L6-v2" in archive.read(notice).decode()
    assert {path.name for path in WEIGHTS} | {"LICENSE", "py.typed"} <= names


def test_the_wheel_brings_the_command_the_extras_and_the_licence(wheel: zipfile.ZipFile) -> None:
    info = f"clew_memory-{clew.__version__}.dist-info"
    commands = wheel.read(f"{info}/entry_points.txt").decode()
    assert {"clew", "clew-memory", "clew-hook"} == set(re.findall(r"^([\w-]+) = ", commands, re.MULTILINE))
    # `uvx clew-memory serve` starts the command that is called like the distribution.
    started = dict(line.split(" = ") for line in commands.splitlines() if " = " in line)
    assert started["clew"] == started["clew-memory"]
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert {"postgres", "notebooks", "semantic", "all"} == set(re.findall(r"Provides-Extra: (\w+)", metadata))
    assert "Apache License" in wheel.read(f"{info}/licenses/LICENSE").decode()
    assert "all-MiniLM-L6-v2" in wheel.read(f"{info}/licenses/NOTICE").decode()


@pytest.mark.parametrize("name", ["run", "test"])
def test_a_lock_pins_exact_versions_and_names_no_host(name: str) -> None:
    lines = (ROOT / "requirements" / f"{name}.lock").read_text().splitlines()
    pinned = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; .+)?")
    assert lines
    assert not [line for line in lines if not pinned.fullmatch(line) or "://" in line]
    assert not [line for line in lines if line.startswith("torch")]


def test_the_locks_cover_the_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups, extras = project["dependency-groups"], project["project"]["optional-dependencies"]
    declared = [*project["project"]["dependencies"], *groups["build"]]
    declared += [*extras["postgres"], *extras["notebooks"]]
    declared = [line for line in declared if not line.startswith("clew-memory-model")]  # comes from this repository

    def names(lines: list[str]) -> set[str]:
        return {re.split(r"[\[<>=;! ]", line)[0].lower() for line in lines}

    for lock, wanted in (("run", declared), ("test", declared + extras["semantic"] + groups["test"])):
        locked = names((ROOT / "requirements" / f"{lock}.lock").read_text().splitlines())
        assert names(wanted) <= locked, f"run `make lock`: {sorted(names(wanted) - locked)} not in {lock}.lock"


def test_the_registry_description_agrees_with_the_package() -> None:
    server = json.loads((ROOT / "server.json").read_text())
    assert server["version"] == server["packages"][0]["version"] == clew.__version__
    assert f"mcp-name: {server['name']}" in (ROOT / "README.md").read_text()
    assert len(server["description"]) <= 100
    # A reserved domain until somebody publishes it under their own: the name claims no owner.
    assert re.fullmatch(r"example\.[a-zA-Z0-9.-]*/[a-zA-Z0-9._-]+", server["name"])


def test_the_build_machine_runs_what_a_developer_runs() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().rstrip().endswith("exec make test")


KINDS = (".py", ".md", ".toml", ".json", ".yml", ".yaml", ".sh", ".cmd", ".service", "Makefile", "Dockerfile")


def test_nobody_is_told_to_install_a_distribution_that_is_not_ours() -> None:
    """The name `clew` belongs to somebody else: whoever installs it runs a stranger's code."""
    foreign = re.compile(r"(?:pip|uv tool|pipx) install ['\"]?clew(?![-\w])|clew\[|uvx clew(?![-\w])")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    texts = [ROOT / name for name in tracked if name.endswith(KINDS)]
    said = [
        str(path) for path in texts if path.is_file() and path != Path(__file__) and foreign.search(path.read_text())
    ]
    assert texts
    assert not said
