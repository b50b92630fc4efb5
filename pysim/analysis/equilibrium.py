"""Static equilibrium of a scene; the method is in `pysim.worlds.equilibrium`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.worlds.equilibrium import Equilibrium, find_equilibrium
from pysim.worlds.loading import Scene

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Equilibrium", "equilibrium"]


def equilibrium(
    scene: Scene, *, free: Collection[str] | None = None, stable: bool = True
) -> Equilibrium:
    """Return the equilibrium of a scene near its start, at t = 0 and with its states of elements as they are.

    Contacts are left out. Pass `equilibrium(scene).state` to `linearize`, or write `[assembly] equilibrium = true` to
    start there.

    Args:
        scene: the scene.
        free: joints, or names of `model.velocity_names`, that move; all by default. Others keep their start.
        stable: go downhill to a stable equilibrium, with a warning if the one that is found is not. Otherwise take
            Newton's steps to the nearest one, stable or not, such as the upright position of a pendulum.

    Raises:
        SimulationError: there is none near the start, or it has no such joint; the error names the joint that moves.
    """
    _check_scene(scene)
    return find_equilibrium(scene, free=free, stable=stable)


def _check_scene(scene: object) -> None:
    if not isinstance(scene, Scene):
        problem = f"must be a pysim.Scene, got {type(scene).__name__}"
        raise TypeError(f"scene {problem}; give what pysim.load_scene returns")
