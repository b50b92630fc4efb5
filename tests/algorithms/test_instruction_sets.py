"""The environment chooses the kernels before the first call. Oracles: what `_engine.isa` says, and the other sets."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree


def run_with(isa: str) -> subprocess.CompletedProcess[str]:
    code = "import pysim._engine as engine; print(engine.isa())"
    environment = {**os.environ, "PYSIM_ISA": isa}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("wanted", pysim.available_isas())
def test_the_environment_chooses_the_instruction_set(wanted: str) -> None:
    assert run_with(wanted).stdout.strip() == wanted


def test_without_a_choice_the_widest_set_runs() -> None:
    assert run_with("").stdout.strip() == pysim.available_isas()[-1]


def test_an_unknown_set_in_the_environment_is_rejected_with_the_known_ones() -> None:
    finished = run_with("sse9")
    assert finished.returncode != 0
    known = ", ".join(["auto", *pysim.available_isas()])
    message = f"ValueError: isa 'sse9' is not available on this CPU; choose {known}"
    assert finished.stderr.strip().splitlines()[-1] == message


@pytest.mark.skipif(
    {"baseline", "avx2"} <= set(pysim.available_isas()) or pysim.available_isas() == ["baseline"],
    reason="needs a set wider than one that is not built",
)
def test_a_set_that_was_not_built_is_rejected_with_the_option_that_builds_it() -> None:
    name = next(name for name in ("baseline", "avx2") if name not in pysim.available_isas())
    finished = run_with(name)
    known = ", ".join(["auto", *pysim.available_isas()])
    problem = f"isa '{name}' is not in this build; build it with -Ccmake.define.PYSIM_ISAS=all, or choose {known}"
    assert finished.stderr.strip().splitlines()[-1] == f"ValueError: {problem}"


def test_every_set_agrees_to_rounding(rng: np.random.Generator) -> None:
    model = compile_model(random_tree(rng, passive=True))
    q = np.array([model.random_configuration(rng) for _ in range(19)])
    v, tau = rng.normal(size=(2, 19, model.nv))
    results = []
    for isa in pysim.available_isas():
        pysim.use_isa(isa)
        results.append(pysim.aba(model, q, v, tau, passive=True))
    pysim.use_isa("auto")
    for result in results[1:]:
        scale = np.abs(result).max()
        np.testing.assert_allclose(result, results[0], rtol=0, atol=1e-11 * scale)
