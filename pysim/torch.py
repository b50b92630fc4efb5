"""Rollouts of worlds that PyTorch differentiates (extra `torch`).

q, v = pysim.torch.rollout(worlds, controls)
((q[:, -1, 0] - 1) ** 2).sum().backward()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.analysis.array_rollout import ArrayRollout
from pysim.analysis.differentiable_steps import MEMORY
from pysim.errors import without_package

try:
    import torch
    from torch.autograd.function import once_differentiable
except ModuleNotFoundError as error:
    raise without_package(error, "torch", "torch") from None

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.simulation.worlds import Worlds

__all__ = ["rollout"]


def rollout(
    worlds: Worlds,
    controls: torch.Tensor | None = None,
    *,
    q: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    parameters: Mapping[str, torch.Tensor] | None = None,
    steps: int | None = None,
    memory: float = MEMORY,
    signals: Sequence[str] = (),
) -> tuple[torch.Tensor, ...]:
    """Return q (n, steps, nq), v (n, steps, nv) and signals after every step; the worlds keep their states.

    They have derivatives by all tensors that are given, as `pysim.gradient` computes them, in double precision.

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
    given = dict(parameters or {})
    arguments = (worlds, steps, memory, signals, tuple(given))
    return _Rollout.apply(*arguments, q, v, controls, *given.values())


class _Rollout(torch.autograd.Function):
    """Steps of worlds, and products of their derivatives with cotangents."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> tuple[torch.Tensor, ...]:  # noqa: ANN401, of torch
        worlds, steps, memory, signals, paths, *tensors = arguments
        q, v, controls, *values = (None if x is None else _numbers(x) for x in tensors)
        parameters = dict(zip(paths, values, strict=True))
        run = ctx.run = ArrayRollout(worlds, q, v, controls, parameters, steps, memory, signals)
        ctx.tensors = tensors
        return tuple(torch.from_numpy(x.copy()) for x in (run.q, run.v, *run.signals.values()))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *bars: torch.Tensor) -> tuple[Any, ...]:  # noqa: ANN401
        q_bar, v_bar, *rows = map(_numbers, bars)
        found = ctx.run.back(q_bar, v_bar, dict(zip(ctx.run.signals, rows, strict=True)))
        of_arguments = [found.q, found.v, found.controls, *found.parameters.values()]
        return (*[None] * 5, *map(_like_argument, ctx.tensors, of_arguments))


def _numbers(x: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    return x.detach().cpu().double().numpy()


def _like_argument(x: torch.Tensor | None, bar: object) -> torch.Tensor | None:
    """Return a cotangent of the kind of the tensor."""
    return None if x is None else torch.as_tensor(np.asarray(bar)).reshape(x.shape).to(x)
