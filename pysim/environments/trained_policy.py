"""Policies in scenes: the input that actions set becomes the output of a learned policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.library.networks.policy import ENVIRONMENT, network_sizes, read_policy
from pysim.environments.environment import Environment
from pysim.environments.observed import ACTION_RATE, LAST_ACTION
from pysim.errors import PysimError, SimulationError
from pysim.scene import read_environment
from pysim.scene.control_inputs import with_control_inputs
from pysim.scene.spec import BlockSpec
from pysim.worlds.loading import Scene, compile_scene

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.elements.library.networks.onnx_network import OnnxNetwork

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
        policy: file that `pysim learn` has written; or a network of another program that was trained with this
            environment, an ONNX file or an .npz of the parameters of stable-baselines3 or rsl_rl, whose scales, limits
            and offsets are those of the environment.
        overrides: of the scene file.

    Raises:
        PysimError: the policy cannot be read, or does not fit the environment's observations or actions.
    """
    tables, _ = read_environment(path, overrides)
    seen = tuple(name for name in tables.observations if name not in (LAST_ACTION, ACTION_RATE))
    name, where = tables.action.input, str(policy)
    if not Path(policy).is_file():
        raise PysimError(where, "is no file; give what `pysim learn` has written, or an .onnx file")
    arrays, graph = read_policy(where)
    observed = arrays.get("observations", np.array(tables.observations))
    trained = [str(name) for name in observed.ravel()]
    if trained != tables.observations:
        problem = f"was trained with the observations {', '.join(trained)}, and the scene has"
        remedy = "give the scene that it was trained in"
        raise PysimError(where, f"{problem} {', '.join(tables.observations)}; {remedy}")
    numbers: dict[str, Any] = {}
    if "scales" not in arrays:
        numbers = _of_environment(path, overrides, where, arrays, graph)
    policy_blocks = [
        BlockSpec("controller", OBSERVATION, "join", inputs=seen, where=where),
        BlockSpec(
            "controller",
            name,
            "learned_policy",
            inputs=(OBSERVATION,),
            period=tables.period,
            parameters={"file": str(Path(policy).resolve()), **numbers},
            where=where,
        ),
    ]
    spec = scene.spec
    if all(block.name != name for block in spec.blocks):  # the actuators of a model file
        spec, _ = with_control_inputs(spec)
    blocks = tuple(block for block in spec.blocks if block.name != name)
    if len(blocks) == len(spec.blocks):
        raise SimulationError("environment.action.input", f"{name!r} is no input of the scene")
    return compile_scene(replace(spec, blocks=(*blocks, *policy_blocks)))


def _of_environment(
    path: str | PathLike[str],
    overrides: Mapping[str, object] | None,
    where: str,
    arrays: Mapping[str, NDArray[Any]],
    graph: OnnxNetwork | None,
) -> dict[str, Any]:
    """Return the keys of a policy that its environment has, for a network of another program."""
    environment = Environment(path, 1, overrides)
    n, m = network_sizes(arrays, graph)
    wanted = environment.observation_size, environment.action_size
    if (n, m) != wanted:
        problem = (
            f"takes {n} numbers and gives {m}, and the environment has {wanted[0]} and {wanted[1]}"
        )
        raise PysimError(where, f"{problem}; give the scene that it was trained in")
    own = environment.policy_arrays()
    return {
        name: float(own[name]) if name == "limit" else tuple(own[name].astype(float).tolist())
        for name in ENVIRONMENT
    }
