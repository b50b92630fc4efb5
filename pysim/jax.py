"""Rollouts of worlds that JAX differentiates (extra `jax`).

    def miss(controls):
        q, v = pysim.jax.rollout(worlds, controls)
        return ((q[:, -1, 0] - 1) ** 2).sum()
    jax.grad(miss)(controls)

The engine runs on the host (`jax.pure_callback`), within jit, too; under vmap it is called once a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.analysis.array_rollout import ArrayRollout
from pysim.analysis.differentiable_steps import MEMORY
from pysim.analysis.signal_rows import SignalRows
from pysim.errors import without_package

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    raise without_package(error, "jax", "jax") from None

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.simulation.worlds import Worlds

__all__ = ["rollout"]


def rollout(
    worlds: Worlds,
    controls: jax.Array | None = None,
    *,
    q: jax.Array | None = None,
    v: jax.Array | None = None,
    parameters: Mapping[str, jax.Array] | None = None,
    steps: int | None = None,
    memory: float = MEMORY,
    signals: Sequence[str] = (),
) -> tuple[jax.Array, ...]:
    """Return q (n, steps, nq), v (n, steps, nv) and signals after every step; the worlds keep their states.

    They have derivatives by all arrays that are given, as `pysim.gradient` computes them, in double precision; arrays
    are of JAX's precision, which `jax.config.update("jax_enable_x64", True)` makes double. Derivatives repeat
    the steps, from the states that the worlds have at that time.

    Args:
        worlds: as `pysim.gradient` takes them.
        controls: values (n, steps, inputs) of the inputs in every step, in file order; by default the present ones.
        q: configurations (n, nq) at the start; those of the worlds by default.
        v: velocities (n, nv) at the start; those of the worlds by default.
        parameters: numbers of the scene by path, which are written to `Worlds.parameters` and stay there.
        steps: number of steps, instead of controls.
        memory: bytes of records that are kept at most.
        signals: names of signals, each of whose rows (n, steps) or (n, steps, size) follows q and v.

    Raises:
        SimulationError: as `pysim.gradient`.
    """
    given = {"q": q, "v": v, "controls": controls, "parameters": dict(parameters or {})}
    values = {name: x for name, x in given.items() if x is not None}
    count: Any = controls.shape[-2] if controls is not None else steps
    kind = jnp.result_type(float)
    leading = worlds.q.shape[:-1]
    shapes: list[tuple[int, ...]] = [(count, worlds.q.shape[-1]), (count, worlds.v.shape[-1])]
    rows = SignalRows(worlds, signals)
    shapes += [rows.shape(name, count) for name in rows.signals]
    ends = tuple(jax.ShapeDtypeStruct((*leading, *shape), kind) for shape in shapes)

    def rollout_of(arrays: Any) -> ArrayRollout:  # noqa: ANN401, a tree of arrays
        arrays = jax.tree.map(lambda x: np.asarray(x, float), arrays)
        own = None if "controls" in arrays else count
        return ArrayRollout(worlds, **arrays, steps=own, memory=memory, signals=signals)

    def forward(arrays: Any) -> Any:  # noqa: ANN401
        run = rollout_of(arrays)
        return tuple(x.astype(kind) for x in (run.q, run.v, *run.signals.values()))

    def backward(arrays: Any, *bars: Any) -> Any:  # noqa: ANN401
        q_bar, v_bar, *of_signals = (np.asarray(bar, float) for bar in bars)
        by_name = dict(zip(rows.signals, of_signals, strict=True))
        found = rollout_of(arrays).back(q_bar, v_bar, by_name)._asdict()
        return {
            name: jax.tree.map(lambda bar, x: np.asarray(bar, x.dtype), found[name], own)
            for name, own in arrays.items()
        }

    @jax.custom_vjp
    def run(arrays: Any) -> Any:  # noqa: ANN401
        return jax.pure_callback(forward, ends, arrays, vmap_method="sequential")

    def pull(arrays: Any, bars: Any) -> Any:  # noqa: ANN401
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), arrays)
        return (jax.pure_callback(backward, shapes, arrays, *bars, vmap_method="sequential"),)

    run.defvjp(lambda arrays: (run(arrays), arrays), pull)
    ends_of_steps: tuple[jax.Array, ...] = run(values)
    return ends_of_steps
