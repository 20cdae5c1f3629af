"""Builds `clew/registry/index.json` and the vectors for the search of operations, for every wheel, archive and
editable install.

In a checkout it also says that the model is to be installed from its folder, as no registry of packages needs to be
asked for it. A source archive has no such folder, so what is built from one names the package like any other.

The index lists all operations, resources, prompts and hooks, so that a start imports only the modules that it needs.
It is generated, and therefore not in git.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

MODEL = "clew-memory-model"


class IndexBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "src"
        # A process of its own: the backend must not import the package that it builds.
        # An installer that isolates the build hands its packages on in PYTHONPATH.
        paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "clew.registry.build", "--index-only"]
        subprocess.run(command, env=environment, check=True)
        build_data["artifacts"] += ["src/clew/registry/index.json", "src/clew/registry/wish_vectors.bin"]


class ModelMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        folder = Path(self.root) / "packages" / MODEL
        if folder.is_dir():
            place = f"{MODEL} @ {folder.resolve().as_uri()}"
            metadata["dependencies"] = [place if line.startswith(MODEL) else line for line in metadata["dependencies"]]
