"""Lengths of paths, such as those of muscles and cables, and their moment arms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import UnknownNameError, did_you_mean
from pysim.scene.spec import BlockSpec, RenderSpec, SceneSpec, Settings
from pysim.worlds.loading import Scene, compile_scene
from pysim.worlds.signal_runs import signals_of_states

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.joint_description import TraceCache
    from pysim.mechanism.model import Model
    from pysim.scene.spec import PathPart
    from pysim.typing import Array


@dataclass(frozen=True)
class MomentArms:
    """Lengths and moment arms of paths at configurations."""

    names: tuple[str, ...]  # of the forces, actuators and sensors whose paths they are
    lengths: Array  # (…, paths) [m]
    arms: Array  # (…, paths, nv) [m, or 1 of coordinates in metres], −∂L/∂q along the tangent


def moment_arms(
    scene: Scene | Model, q: ArrayLike | None = None, names: Sequence[str] | None = None
) -> MomentArms:
    """Return the lengths of paths and their moment arms: a tension T exerts the generalised forces T · arm.

    >>> finger = pysim.load_scene("scenes/tendon_finger.toml")
    >>> found = pysim.moment_arms(finger)
    >>> found.names, found.arms.shape
    (('tendon',), (1, 63))

    Args:
        scene: with forces, actuators or sensors on paths; or a model, whose forces count.
        q: configurations (…, nq); the start of a scene by default, the neutral one of a model.
        names: of forces, actuators and sensors; all that have a path by default.

    Raises:
        UnknownNameError: one of them has no path.
    """
    model, blocks = (scene.model, scene.spec.blocks) if isinstance(scene, Scene) else (scene, ())
    paths = {force.name: force.path for force in model.spec.forces if force.path}
    paths |= {block.name: block.points for block in blocks if block.points}
    start = scene.state.q if isinstance(scene, Scene) else model.neutral()
    wanted = tuple(paths) if names is None else tuple(names)
    for name in wanted:
        if name not in paths:
            problem = f"no path of a force, actuator or sensor has the name {name!r}"
            raise UnknownNameError("names", problem + did_you_mean(name, paths))
    given = np.asarray(start if q is None else q, float)
    lengths, slopes = path_slopes(
        model, {name: paths[name] for name in wanted}, given.reshape(-1, model.nq)
    )
    shape = given.shape[:-1]
    return MomentArms(
        wanted, lengths.reshape(*shape, -1), -slopes.reshape(*shape, len(wanted), model.nv)
    )


def path_slopes(
    model: Model,
    paths: Mapping[str, tuple[PathPart, ...]],
    q: Array,
    cache: TraceCache | None = None,
) -> tuple[Array, Array]:
    """Return the lengths (n, paths) [m] of paths, and their slopes ∂L/∂q (n, paths, nv).

    Plugins in the `cache` are not traced and checked again.
    """
    n, nv = len(q), model.nv
    if not paths:
        return np.zeros((n, 0)), np.zeros((n, 0, nv))
    spec = model.spec
    blocks = tuple(
        BlockSpec("sensor", f"path {k}", "distance", points=points, where=spec.where)
        for k, points in enumerate(paths.values())
    )
    scene = compile_scene(
        SceneSpec(
            spec.name,
            replace(spec, forces=(), blocks=()),
            (),
            Settings(step=1e-3, integrator="rk4"),
            RenderSpec(),
            "",
            Path(spec.where),
            blocks=blocks,
        ),
        cache,
    )
    rows, unit = np.repeat(q, nv, axis=0), np.tile(np.eye(nv), (n, 1))
    lengths = [f"{block.name}.length" for block in blocks]
    rates = [f"{block.name}.rate" for block in blocks]
    signals = signals_of_states(scene, np.zeros(n * nv), rows, unit, np.zeros((n * nv, 0)))
    assert scene.signals is not None  # the blocks have readings
    at = {signal.name: signal.first for signal in scene.signals.recorded}
    values, slopes = (
        np.stack([signals[:, at[name]].reshape(n, nv) for name in names], axis=1)
        for names in (lengths, rates)
    )
    return values[:, :, 0], slopes
