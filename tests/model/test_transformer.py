"""What the model takes of a machine."""

from __future__ import annotations

import ast
import subprocess
import sys


def test_products_of_matrices_stay_on_the_thread_that_asks_for_them() -> None:
    program = """
import ctypes, numpy
from clew.blas import _libraries
from clew.model.pair import pair_model
pair_model()
libraries = [ctypes.CDLL(str(path)) for path in _libraries()]
counts = [getattr(library, "scipy_openblas_get_num_threads64_", None) for library in libraries]
print([count() for count in counts if count])
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert set(ast.literal_eval(said)) <= {1}, said
