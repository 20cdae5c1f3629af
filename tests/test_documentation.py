"""The pages tell the truth: generated ones are fresh, hand-written ones name things that exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clew.registry.reference import contracts

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_every_guide_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    guides = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert guides
    assert not [name for name in sorted(guides) if f"]({name})" not in index]


def test_generated_pages_are_up_to_date(tmp_path: Path) -> None:
    """In a process of its own, because other tests declare operations of theirs in this one."""
    script = "import sys, pathlib; from clew.registry import build, reference as r; "
    script += "r.write(build.index(), pathlib.Path(sys.argv[1]))"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, env=env)
    fresh = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*.md")}
    stale = [str(name) for name, text in fresh.items() if not same(ROOT / "docs" / name, text)]
    gone = {path.name for path in (ROOT / "docs" / "reference").glob("*.md")} - {name.name for name in fresh}
    assert fresh
    assert not stale and not gone, f"run `make index`: {stale} {sorted(gone)}"


def same(page: Path, text: str) -> bool:
    return page.exists() and page.read_text(encoding="utf-8") == text


def test_every_difference_from_a_contract_is_pinned_by_a_test() -> None:
    known = contracts()
    assert {contract.name for contract in known} >= {"branchmind", "mind-mem", "thoughtbox"}
    for contract in known:
        for item in contract.differences:
            path, _, function = item.test.partition("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {function}" in text, f"{contract.name}: {item.what}: {item.test} does not exist"


def test_the_tests_that_pages_name_exist() -> None:
    known = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for page in PAGES:
        named = re.findall(r"::(test_\w+)", page.read_text(encoding="utf-8"))
        assert not [name for name in named if f"def {name}(" not in known], page.name


def test_each_defect_of_the_trials_has_a_test_that_exists() -> None:
    """38 of agents, an operator and an attacker, 42 found beside the originals, 25 of real clients."""
    page = (ROOT / "docs" / "defects.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([GSWOLANXYD]\d+) \|.+?\| (`.+`) \|$", page, re.MULTILINE)
    counts = {"G": 4, "S": 3, "W": 8, "O": 3, "L": 5, "A": 15, "N": 15, "X": 15, "Y": 12, "D": 25}
    assert [entry for entry, _ in rows] == [f"{of}{at}" for of, last in counts.items() for at in range(1, last + 1)]
    for entry, tests in rows:
        for path, function in re.findall(r"`(tests/\S+\.py)::(test_\w+)`", tests):
            assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), f"{entry}: {path}::{function}"
        assert tests.count("::") == len(tests.split(", ")), entry


def test_the_architecture_names_modules_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("## Where to find a behaviour")[2].partition("\n## ")[0]
    named = [name for name in re.findall(r"`([a-z_/]+(?:\.py)?)`", table) if not name.startswith("clew ")]
    assert named
    assert not [name for name in named if not exists(name)]


def test_the_architecture_has_a_row_for_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("## Where to find a behaviour")[2].partition("\n## ")[0]
    named = [f"{name}/" for name in re.findall(r"`([a-z_/]+)`", table)]
    source = ROOT / "src" / "clew"
    packages = [f"{path.parent.relative_to(source).as_posix()}/" for path in source.rglob("*/__init__.py")]
    missing = [package for package in packages if not any(name.startswith(package) for name in named)]
    assert not missing


def exists(name: str) -> bool:
    inside = ROOT / "src" / "clew" / name
    return inside.exists() or inside.with_suffix(".py").exists() or (ROOT / name).exists()


def test_the_newcomer_finds_both_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make run" in readme
    assert "make test" in readme


def test_make_describes_every_target_for_people() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    targets = set(phony[1].split()) - {"help"}
    described = set(re.findall(r"^#   make (\w+)", makefile, re.MULTILINE))
    assert targets == described
