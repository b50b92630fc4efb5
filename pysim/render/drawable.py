"""Arguments of pictures: a trajectory, or a model or a scene at its start."""

from __future__ import annotations

from dataclasses import asdict

from pysim.errors import PysimError
from pysim.mechanism.compile import start_state
from pysim.mechanism.model import Model
from pysim.trajectory import Trajectory
from pysim.trajectory.from_states import trajectory_of_states
from pysim.worlds.loading import Scene

Drawable = Trajectory | Model | Scene


def to_trajectory(drawable: Drawable, function: str) -> Trajectory:
    """Return a trajectory as it is, and the start of a model or a scene as a trajectory of one row.

    Raises:
        PysimError: it is something else; the message names the `function` that was called with it.
    """
    if isinstance(drawable, Trajectory):
        return drawable
    if isinstance(drawable, Model):
        return trajectory_of_states(drawable, [0.0], start_state(drawable).q[None])
    if isinstance(drawable, Scene):
        spec, q = drawable.spec, drawable.state.q
        render = asdict(spec.render)
        return trajectory_of_states(
            drawable.model, [0.0], q[None], name=spec.name, render=render, blocks=spec.blocks
        )
    raise _wrong(drawable, function, "a Trajectory, a Model or a Scene")


def motion_of(drawable: Drawable, function: str) -> Trajectory:
    """Return a trajectory as it is.

    Raises:
        PysimError: it is something else, which has no motion.
    """
    if isinstance(drawable, Trajectory):
        return drawable
    raise _wrong(drawable, function, "a Trajectory")


def _wrong(given: object, function: str, expected: str) -> PysimError:
    remedy = "pass what pysim.simulate or pysim.load_trajectory returns"
    if isinstance(given, Scene):
        remedy = "pass pysim.simulate(scene)"
    elif isinstance(given, Model):
        remedy = "pass pysim.Trajectory.of(model, t, q)"
    elif isinstance(given, str):
        remedy = f"pass pysim.load_trajectory({given!r})"
    return PysimError(function, f"needs {expected}, got a {type(given).__name__}; {remedy}")
