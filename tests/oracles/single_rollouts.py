"""Rollouts of single worlds, the oracle of batches to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pysim

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


def rolled_alone(
    models: Sequence[pysim.Model],
    q0: npt.NDArray[Any],
    v0: npt.NDArray[Any],
    controls: npt.NDArray[Any] | None,
    *args: Any,
    **options: Any,
) -> list[Any]:
    """Return the rollout of each world from a separate call; `controls` may be None."""
    own_controls = [None] * len(models) if controls is None else controls
    worlds = zip(models, q0, v0, own_controls, strict=True)
    return [pysim.rollout(model, q, v, u, *args, **options) for model, q, v, u in worlds]


def assert_same(together: Any, alone: Any) -> None:
    """Assert that q and v of one call for all worlds are those of separate calls."""
    for whole, parts in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(whole, parts)
