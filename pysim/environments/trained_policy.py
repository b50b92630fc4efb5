"""Policies in scenes: the input that actions set becomes the output of a learned policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.elements.library.policy import read_network
from pysim.environments.observed import ACTION_RATE, LAST_ACTION
from pysim.errors import PysimError, SimulationError
from pysim.scene import read_environment
from pysim.scene.control_inputs import with_control_inputs
from pysim.scene.spec import BlockSpec
from pysim.worlds.loading import Scene, compile_scene

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

OBSERVATION = "observation of the policy"


def with_policy(
    scene: Scene,
    path: str | PathLike[str],
    policy: str | PathLike[str],
    overrides: Mapping[str, object] | None = None,
) -> Scene:
    """Return a scene in which a policy acts at the period of its `[environment]`.

    Args:
        scene: the scene of the file.
        path: the scene file.
        policy: file that `pysim learn` has written.
        overrides: of the scene file.

    Raises:
        PysimError: the policy cannot be read, or was trained with other observations.
    """
    tables, _ = read_environment(path, overrides)
    seen = tuple(name for name in tables.observations if name not in (LAST_ACTION, ACTION_RATE))
    name, where = tables.action.input, str(policy)
    if not Path(policy).is_file():
        raise PysimError(where, "is no file; give what `pysim learn` has written")
    observed = read_network(where).get("observations", np.array(tables.observations))
    trained = [str(name) for name in observed.ravel()]
    if trained != tables.observations:
        problem = f"was trained with the observations {', '.join(trained)}, and the scene has"
        remedy = "give the scene that it was trained in"
        raise PysimError(where, f"{problem} {', '.join(tables.observations)}; {remedy}")
    own = [
        BlockSpec("controller", OBSERVATION, "join", inputs=seen, where=where),
        BlockSpec(
            "controller",
            name,
            "learned_policy",
            inputs=(OBSERVATION,),
            period=tables.period,
            parameters={"file": str(Path(policy).resolve())},
            where=where,
        ),
    ]
    spec = scene.spec
    if all(block.name != name for block in spec.blocks):  # the actuators of a model file
        spec, _ = with_control_inputs(spec)
    blocks = tuple(block for block in spec.blocks if block.name != name)
    if len(blocks) == len(spec.blocks):
        raise SimulationError("environment.action.input", f"{name!r} is no input of the scene")
    return compile_scene(replace(spec, blocks=(*blocks, *own)))
