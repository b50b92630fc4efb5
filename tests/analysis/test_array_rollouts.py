"""Rollouts of worlds that PyTorch and JAX differentiate.

Oracle: pysim.gradient, which differences check; for quaternions at the start, differences.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.analysis.array_rollout import ArrayRollout
from pysim.analysis.motion_cotangents import along_motions, by_numbers
from pysim.typing import Array
from tests.analysis.test_gradients import BOX, HOPPER, scene_of
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
SIGNALS = ("foot.position", "height")
SENSORS = table("sensor", name="foot", type="pose", frame="shank") + table(
    "controller", name="height", type="gain", inputs=["foot.position.z"], gain=3.0
)
PATHS = ("body.thigh.mass", "joint.hip.damping")


def hoppers(folder: Path) -> tuple[pysim.Worlds, Array]:
    """Return worlds that land, and controls."""
    worlds = pysim.Worlds(scene_of(folder, HOPPER + SENSORS), 3)
    rng = np.random.default_rng(3)
    worlds.q[:, 2] = 0.42
    worlds.v[:] = rng.normal(0, 0.4, worlds.v.shape)
    return worlds, rng.normal(0, 0.2, (3, 25, 1))


def squares(q: Array, v: Array) -> tuple[Array, Array, Array]:
    return (q**2).sum((1, 2)) + (v**2).sum((1, 2)), 2 * q, 2 * v


def squares_of_signals(
    q: Array, v: Array, signals: dict[str, Array]
) -> tuple[Array, Array, Array, dict[str, Array]]:
    of_states = squares(q, v)
    own = sum((x**2).sum(axis=tuple(range(1, x.ndim))) for x in signals.values())
    return of_states[0] + own, *of_states[1:], {name: 2 * x for name, x in signals.items()}


def expected_of(worlds: pysim.Worlds, controls: Array) -> dict[str, Array]:
    found = pysim.gradient(worlds, controls, loss=squares_of_signals, signals=SIGNALS, by=PATHS)
    assert found.controls is not None
    q = by_numbers(worlds.model, worlds.q, found.q)
    return {"q": q, "v": found.v, "controls": found.controls, **found.parameters}


def values_of(worlds: pysim.Worlds, controls: Array) -> dict[str, Array]:
    own = {path: np.array(worlds.parameters[path]) for path in PATHS}
    return {"q": worlds.q.copy(), "v": worlds.v.copy(), "controls": controls, **own}


def test_numbers_of_a_motion_are_the_inverse_of_motions_along_numbers(tmp_path: Path) -> None:
    model = scene_of(tmp_path, HOPPER).model
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng)
    along = rng.normal(size=model.nv)
    bar = by_numbers(model, q, along)
    np.testing.assert_allclose(along_motions(model, q, bar), along, atol=1e-14)
    other = rng.normal(size=model.nv)
    size = 1e-6
    moved = (model.integrate(q, size * other) - model.integrate(q, -size * other)) / (2 * size)
    # of every function with this cotangent, the change along a motion
    assert abs(bar @ moved - along @ other) < 1e-8


@pytest.mark.parametrize("memory", [1 << 28, 1], ids=["kept", "made again"])
def test_a_rollout_goes_back_with_the_parameters_of_its_steps(memory: int, tmp_path: Path) -> None:
    """Oracle: the cotangents without anything in between, bit for bit."""
    cotangents = []
    for k in range(2):
        folder = tmp_path / str(k)
        folder.mkdir()
        worlds, controls = hoppers(folder)
        first = {"joint.hip.damping": np.full((3, 3), 0.2)}
        run = ArrayRollout(worlds, controls=controls, parameters=first, memory=memory)
        if k == 1:
            other = {"body.thigh.mass": np.full(3, 0.8), "joint.hip.damping": np.full((3, 3), 0.4)}
            ArrayRollout(worlds, controls=controls, parameters=other)
        cotangents.append(run.back(2 * run.q, 2 * run.v))
    for one, two in zip(cotangents[0][:3], cotangents[1][:3], strict=True):
        np.testing.assert_array_equal(one, two)
    one, two = (own.parameters["joint.hip.damping"] for own in cotangents)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(worlds.parameters["body.thigh.mass"], 0.8)
    np.testing.assert_array_equal(worlds.parameters["joint.hip.damping"], 0.4)


@pytest.mark.parametrize(("memory", "step"), [(1 << 28, 21), (1, 25)], ids=["kept", "made again"])
def test_a_rollout_whose_steps_end_elsewhere_later_has_no_gradient(
    memory: int, step: int, tmp_path: Path
) -> None:
    """Oracle: the record of another state."""
    worlds, controls = hoppers(tmp_path)
    run = ArrayRollout(worlds, controls=controls, memory=memory)
    run._recorded.save(20)  # the start
    with pytest.raises(
        pysim.SimulationError, match=f"step {step} of worlds 0, 1, 2 ends elsewhere"
    ):
        run.back(2 * run.q, 2 * run.v)


def test_torch_has_the_derivatives_of_gradient(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    worlds, controls = hoppers(tmp_path)
    expected = expected_of(worlds, controls)
    before = worlds.save()
    tensors = {
        name: torch.tensor(x, requires_grad=True) for name, x in values_of(worlds, controls).items()
    }
    parameters = {path: tensors[path] for path in PATHS}
    start = {"q": tensors["q"], "v": tensors["v"]}
    rows = pysim.torch.rollout(
        worlds, tensors["controls"], **start, parameters=parameters, signals=SIGNALS
    )
    assert [tuple(x.shape[2:]) for x in rows[2:]] == [(3,), ()]
    sum((x**2).sum() for x in rows).backward()
    for name, tensor in tensors.items():
        np.testing.assert_allclose(tensor.grad.numpy(), expected[name], rtol=1e-12, atol=1e-12)
    assert worlds.save() == before


def test_torch_keeps_the_precision_of_tensors_and_has_no_second_derivatives(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    worlds, controls = hoppers(tmp_path)
    own = torch.tensor(controls, dtype=torch.float32, requires_grad=True)
    q, _ = pysim.torch.rollout(worlds, own)
    (slope,) = torch.autograd.grad((q**2).sum(), own, create_graph=True)
    assert slope.dtype == torch.float32
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_one_world_has_no_axis_of_worlds_in_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    worlds = pysim.Worlds(scene_of(tmp_path, BOX))
    v = torch.tensor([0.3, -0.2, -0.5, 1.0, -2.0, 0.7], requires_grad=True)
    q, _ = pysim.torch.rollout(worlds, v=v, steps=20)
    assert q.shape == (20, 7)
    q[-1, 0].backward()
    assert v.grad.shape == (6,)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_jax_has_the_derivatives_of_gradient(is_compiled: bool, tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    worlds, controls = hoppers(tmp_path)
    expected = expected_of(worlds, controls)

    def loss(values: dict[str, Any]) -> Any:
        parameters = {path: values[path] for path in PATHS}
        start = {"q": values["q"], "v": values["v"]}
        rows = pysim.jax.rollout(
            worlds, values["controls"], **start, parameters=parameters, signals=SIGNALS
        )
        assert [x.shape[2:] for x in rows[2:]] == [(3,), ()]
        return sum((x**2).sum() for x in rows)

    with jax.enable_x64(True):
        slope = jax.grad(loss)
        found = (jax.jit(slope) if is_compiled else slope)(values_of(worlds, controls))
    for name, own in expected.items():
        np.testing.assert_allclose(found[name], own, rtol=1e-12, atol=1e-12)
