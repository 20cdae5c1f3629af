"""All of the training in one command: `python -m benchmarks.training BASE [OUT]`.

BASE is a folder with all-MiniLM-L6-v2 (`model.safetensors`, `vocab.txt`); OUT (`build/training`) gets everything in
between. At its end the encoder of `packages/clew-memory-model` is written, and what it finds is printed.
Requires PyTorch and safetensors in addition to Clew: 200 steps take 40 minutes on one core, about one on a GPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.training import evaluate, export, prepare, train
from clew_memory_model import ENCODER


def main(base: str, out: str = "build/training") -> None:
    folder = Path(out)
    prepare.main(base, out)
    train.train(folder, folder, train.Options())
    export.export(export.state_from(folder), ENCODER)
    evaluate.main(out, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
