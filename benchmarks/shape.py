"""The size and shape of the code: `python -m benchmarks shape [--commit COMMIT]`.

With a commit, the figures of that tree are shown next to the current ones. Functions that branch too much are listed
below the table.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Report

ROOT = Path(__file__).resolve().parent.parent
LONGEST_LINE = 100
MOST_COMPLEX = 15
LARGE_BINARY = 1_000_000
BINARIES = (".bin", ".onnx", ".png", ".safetensors")

_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)
_ANONYMOUS = re.compile(r"\bdict\[str, (?:Any|object)\]|\bJson\b|\bRow\b")
_IMPORT = re.compile(r"^\s*(?:from|import) ")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Shape:
    """The figures of one tree's Python code in `src`, its page and its binaries."""

    lines: int
    files: int
    median_file: int
    decisions: int
    conditional_expressions: int
    long_lines: int
    complex_functions: int
    anonymous_dicts: int
    page_lines: int
    large_binaries: int

    def per_1000(self, count: int) -> float:
        return 1000 * count / self.lines


def shape_of(tree: Path) -> Shape:
    sources = [path.read_text(encoding="utf-8") for path in sorted((tree / "src").rglob("*.py"))]
    parsed = [ast.parse(source) for source in sources]
    nodes = [node for module in parsed for node in ast.walk(module)]
    lines = [line for source in sources for line in source.splitlines()]
    functions = [node for node in nodes if isinstance(node, FunctionNode)]
    return Shape(
        lines=len(lines),
        files=len(sources),
        median_file=int(statistics.median(source.count("\n") for source in sources)),
        decisions=sum(map(_decisions, nodes)),
        conditional_expressions=sum(isinstance(node, ast.IfExp) for node in nodes),
        long_lines=sum(len(line) > LONGEST_LINE for line in lines),
        complex_functions=sum(complexity(function) > MOST_COMPLEX for function in functions),
        anonymous_dicts=sum(_count_anonymous(line) for line in lines),
        page_lines=_page_lines(tree),
        large_binaries=_large_binaries(tree),
    )


def complexity(function: FunctionNode) -> int:
    """McCabe's measure; a nested function counts for itself."""
    return 1 + sum(map(_decisions, _own_nodes(function)))


def _own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, FunctionNode):
            waiting.extend(ast.iter_child_nodes(node))


def _decisions(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return int(isinstance(node, _BRANCHES))


def _count_anonymous(line: str) -> int:
    return 0 if _IMPORT.match(line) else len(_ANONYMOUS.findall(line))


def _page_lines(tree: Path) -> int:
    static = tree / "src" / "clew" / "faces" / "web" / "static"
    own = [path for path in static.rglob("*.*") if path.suffix in (".js", ".css")]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in own if "vendor" not in path.parts)


def _large_binaries(tree: Path) -> int:
    found = (path for folder in ("src", "docs", "packages") for path in (tree / folder).rglob("*"))
    return sum(path.suffix in BINARIES and path.stat().st_size > LARGE_BINARY for path in found)


def main(commit: str | None = None) -> None:
    shapes = {"now": shape_of(ROOT)}
    if commit:
        with tempfile.TemporaryDirectory() as folder:
            shapes[commit] = _shape_at(commit, Path(folder))
    report = Report("shape", "Size and shape of the code")
    for name, shape in shapes.items():
        report.row(
            tree=name,
            lines=shape.lines,
            files=shape.files,
            median_file=shape.median_file,
            decisions_per_1000=round(shape.per_1000(shape.decisions)),
            conditional_expressions_per_1000=round(shape.per_1000(shape.conditional_expressions)),
            long_lines_per_1000=round(shape.per_1000(shape.long_lines)),
            complex_functions=shape.complex_functions,
            anonymous_dicts=shape.anonymous_dicts,
            page_lines=shape.page_lines,
            large_binaries=shape.large_binaries,
        )
    report.save()
    for line in complex_functions(ROOT):
        print(line)


def complex_functions(tree: Path) -> list[str]:
    """The functions over the limit, the most complex first."""
    found = []
    for path in sorted((tree / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, FunctionNode) and complexity(node) > MOST_COMPLEX:
                found.append((complexity(node), f"{path.relative_to(tree)}:{node.lineno} {node.name}"))
    return [f"{count} {place}" for count, place in sorted(found, reverse=True)]


def _shape_at(commit: str, folder: Path) -> Shape:
    command = ["git", "archive", "--format=tar", commit, "src", "docs"]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder, filter="data")
    return shape_of(folder)


if __name__ == "__main__":
    main()
