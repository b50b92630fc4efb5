"""The engine loads in any order beside other compiled packages. Oracle: another interpreter that imports both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pysim


@pytest.mark.parametrize("package", ["matplotlib.pyplot", "h5py", "scipy.optimize", "pyvista"])
def test_the_engine_loads_after_another_package(package: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(pysim.__file__).parents[1])}
    words = [sys.executable, "-c", f"import {package}, pysim; print(pysim.available_isas())"]
    run = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
