"""Muscles of an MJCF model: actuators whose gain, bias and activation are those of MuJoCo's muscle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pysim.scene.mjcf.model import MujocoModel

LEAST_DIVISOR = 1e-15  # by which MuJoCo limits divisors
RANGE, PEAK, SCALE, PASSIVE, PARAMETERS = slice(0, 2), 2, 3, 7, 9  # places in gainprm and biasprm
_KEYS = {
    4: "shortest_fibre",
    5: "longest_fibre",
    6: "max_contraction_velocity",
    7: "passive_force",
    8: "lengthening_force",
}


def unread_muscle(m: Any, k: int, gain: str, bias: str, dynamics: str) -> str:  # noqa: ANN401, MuJoCo's model
    """Return why an actuator with a part of a muscle is not read; "" if it is.

    Args:
        m: the model.
        k: number of the actuator.
        gain: type of its gain.
        bias: type of its bias.
        dynamics: type of its activation.
    """
    if gain != "MUSCLE" or dynamics != "MUSCLE" or bias not in {"MUSCLE", "NONE"}:
        parts = f"gain {gain.lower()}, bias {bias.lower()} and dynamics {dynamics.lower()}"
        return f"a muscle has all its parts in pysim, and this one has {parts}"
    same = m.actuator_gainprm[k, :PARAMETERS] == m.actuator_biasprm[k, :PARAMETERS]
    if bias == "MUSCLE" and not np.delete(same, PASSIVE).all():
        return "the parameters of its active and passive force differ"
    first, last = map(float, m.actuator_lengthrange[k])
    if not first < last:
        return f"its range of lengths, from {first:g} to {last:g}, is empty"
    if not m.actuator_gainprm[k, 0] < m.actuator_gainprm[k, 1]:
        return "its range of the fibre's lengths is empty"
    if not m.actuator_gainprm[k, 4] < 1 < m.actuator_gainprm[k, 5]:
        return "its optimal length, 1, is not between lmin and lmax"
    return ""


def muscle_keys(model: MujocoModel, k: int) -> dict[str, Any]:
    """Return the keys of the actuator `mujoco_muscle`, without the gear and the ranges of its signals."""
    m = model.m
    parameters, times = m.actuator_gainprm[k], m.actuator_dynprm[k]
    peak = float(parameters[PEAK])
    if peak < 0:
        peak = float(parameters[SCALE]) / max(float(m.actuator_acc0[k]), LEAST_DIVISOR)
    keys: dict[str, Any] = {
        "peak_force": peak,
        "length_range": tuple(map(float, m.actuator_lengthrange[k])),
        "fibre_range": tuple(map(float, parameters[RANGE])),
    }
    keys |= {key: float(parameters[place]) for place, key in _KEYS.items()}
    has_bias = int(m.actuator_biastype[k]) == model.mj.mjtBias.mjBIAS_MUSCLE
    keys["passive_force"] = float(m.actuator_biasprm[k, PASSIVE]) if has_bias else 0.0
    keys["activation_time"], keys["deactivation_time"] = float(times[0]), float(times[1])
    if times[2] > 0:
        keys["smoothing"] = float(times[2])
    return keys
