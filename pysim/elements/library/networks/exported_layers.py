"""Networks that other programs have trained: the parameters of PyTorch, by name, as the layers of a policy.

    stable-baselines3  PPO, A2C        mlp_extractor.policy_net.0.weight …, action_net.weight; tanh
                       SAC             actor.latent_pi.0.weight …, actor.mu.weight; relu, tanh of the action
                       TD3, DDPG       actor.mu.0.weight …; relu, tanh of the action
                       VecNormalize    obs_rms.mean, obs_rms.var; (x − mean)/√(var + 1e-8) within ± 10
    rsl_rl             PPO             mlp.0.weight …, in older versions actor.0.weight …; elu
                       normalisation   obs_normalizer._mean, obs_normalizer._std; (x − mean)/(std + 0.01)

The actions of SAC, TD3 and DDPG are from −1 to 1, of the action's range.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]

NORMALIZED_LIMIT = 10.0  # limit of observations that VecNormalize has divided by their deviation
LEAST_VARIANCE = 1e-8  # added by VecNormalize
LEAST_DEVIATION = 1e-2  # added by rsl_rl


@dataclass(frozen=True)
class _Export:
    """Names of a program's policy: hidden layers `prefix`N, the last one, what it applies."""

    prefix: str
    last: str
    activation: str
    is_squashed: bool = False


_EXPORTS = (
    _Export("mlp_extractor.policy_net.", "action_net", "tanh"),
    _Export("actor.latent_pi.", "actor.mu", "relu", is_squashed=True),
    _Export("latent_pi.", "mu", "relu", is_squashed=True),
    _Export("actor.mu.", "", "relu", is_squashed=True),
    _Export("mu.", "", "relu", is_squashed=True),
    _Export("actor.mlp.", "", "elu"),
    _Export("mlp.", "", "elu"),
    _Export("actor.", "", "elu"),
)


def named_layers(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays of a policy, `weight0`, `bias0` …, of parameters with another program's names.

    Arrays without such names are returned as they are. Names without a dot, such as `activation` and `mean`, take
    precedence.
    """
    for export in _EXPORTS:
        layers = _layers(arrays, export)
        if layers:
            found: dict[str, Array] = {
                "activation": np.array(export.activation),
                "squashed": np.array(export.is_squashed),
            }
            for k, layer in enumerate(layers):
                found[f"weight{k}"] = arrays[f"{layer}.weight"]
                found[f"bias{k}"] = arrays.get(f"{layer}.bias", np.zeros(0))
            undotted = {name: x for name, x in arrays.items() if "." not in name}
            return found | _normalisation(arrays) | undotted
    return dict(arrays)


def _layers(arrays: Mapping[str, Array], export: _Export) -> list[str]:
    """Return the names of an export's layers in their order; none if it is of another program."""
    pattern = re.compile(re.escape(export.prefix) + r"(\d+)\.weight")
    numbers = sorted(int(found[1]) for name in arrays if (found := pattern.fullmatch(name)))
    layers = [f"{export.prefix}{number}" for number in numbers]
    if export.last:
        has_last = f"{export.last}.weight" in arrays
        return [*layers, export.last] if has_last else []
    return layers


def _normalisation(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return mean and deviation of the observations, and the limit of what they make, if the file has them."""
    if "obs_rms.mean" in arrays and "obs_rms.var" in arrays:
        return {
            "mean": arrays["obs_rms.mean"],
            "deviation": np.sqrt(arrays["obs_rms.var"] + LEAST_VARIANCE),
            "clip": np.array(NORMALIZED_LIMIT),
        }
    for owner in ("obs_normalizer.", "actor.obs_normalizer.", "actor_obs_normalizer."):
        if f"{owner}_mean" in arrays and f"{owner}_std" in arrays:
            return {
                "mean": arrays[f"{owner}_mean"].reshape(-1),
                "deviation": arrays[f"{owner}_std"].reshape(-1) + LEAST_DEVIATION,
            }
    return {}
