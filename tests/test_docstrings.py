"""Examples in docstrings. Oracle: `doctest`, which runs them and compares what they print.

They run in the folder of the project, with `pysim`, `np`, and a double pendulum: `scene`, `model`, q, v, a, tau.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import pysim

ROOT = Path(__file__).parents[1]
MODULES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted((ROOT / "pysim").glob("**/*.py"))
    if ">>>" in file.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_examples_of_a_module_print_what_they_say(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    scene = pysim.load_scene("scenes/double_pendulum.toml")
    model, state = scene.model, scene.state
    names = {"pysim": pysim, "np": np, "scene": scene, "model": model}
    names |= {"q": state.q, "v": state.v, "a": np.zeros(2), "tau": np.zeros(2)}
    module = importlib.import_module(name)
    found = doctest.DocTestFinder().find(module, extraglobs=names)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    for test in found:
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).attempted > 0
    assert report == []


def test_public_functions_for_every_day_have_an_example() -> None:
    names = """check com_jacobian frame_placement frame_velocity inverse_kinematics jacobian linearize
        load_model load_scene lqr rollout simulate"""
    without = [n for n in names.split() if ">>>" not in (inspect.getdoc(getattr(pysim, n)) or "")]
    assert without == []
    methods = [
        (pysim.Worlds, "record push step reset"),
        (pysim.Trajectory, "at poses_at"),
        (pysim.Model, "locked integrate with_gravity"),
    ]
    missing = [
        f"{owner.__name__}.{name}"
        for owner, listed in methods
        for name in listed.split()
        if ">>>" not in (inspect.getdoc(getattr(owner, name)) or "")
    ]
    assert missing == []
