"""`python -m benchmarks [NAME ...] [--quick] [--engine ENGINE] [--commit COMMIT]`.

Each module with a `main` is one measurement."""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import sys
from pathlib import Path

SUPPORT = {
    "__main__",
    "recall",
    "agents",
    "report",
    "client",
    "http_client",
    "peer",
    "bare",
    "everyday_store",
    "work",
    "big_store",
    "samples",
    "stores",
    "transcripts",
    "word_vectors",
}
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


def names() -> list[str]:
    found = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return sorted(name for name in found if name not in SUPPORT)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(names())}; default: all")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs, to see that everything works")
    parser.add_argument("--engine", choices=("sqlite", "postgres"), help="only this one, where both are measured")
    parser.add_argument("--commit", help="the older code, where today's is measured beside it")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"no measurement called {', '.join(unknown)}; there are: {', '.join(names())}")
    for name in options.names or names():
        measure = importlib.import_module(f"benchmarks.{name}").main
        given = {
            "quick": options.quick,
            **({"engines": (options.engine,)} if options.engine else {}),
            **({"commit": options.commit} if options.commit else {}),
        }
        taken = inspect.signature(measure).parameters
        measure(**{option: value for option, value in given.items() if option in taken})


if __name__ == "__main__":
    main()
