"""Muscles of an OpenSim model as forces along paths, whose excitations are constant signals "NAME/excitation".

Thelen 2003, and Millard 2012 and De Groote-Fregly 2016 with a damped or undamped fibre and an elastic or rigid tendon.
As in OpenSim, damped and rigid muscles of Millard have active curves with the minimum 0 and velocity curves without
slope at v_max, undamped ones a minimum of 0.1 or more and half of the slopes near v_max; and muscles of De Groote and
Fregly with an elastic tendon have an undamped fibre, unless their dynamics are implicit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pysim.scene.osim.paths import UnreadError
from pysim.scene.osim.values import choice, not_negative, number, positive, truth

if TYPE_CHECKING:
    from pysim.scene.urdf.xml import Element

STEEPEST = math.acos(0.1)  # [rad], the pennation beyond which fibres do not turn
LEAST_DAMPING = 0.001  # damping below which OpenSim takes the fibre for undamped
LEAST_ACTIVATION = 1e-6
THELEN = "Thelen2003Muscle"
MILLARD = "Millard2012EquilibriumMuscle"
DEGROOTE_FREGLY = "DeGrooteFregly2016Muscle"
CLASSES = (THELEN, MILLARD, DEGROOTE_FREGLY)
_TIMES = {THELEN: (0.015, 0.05), MILLARD: (0.01, 0.04), DEGROOTE_FREGLY: (0.015, 0.06)}  # [s]
_MODES = ("explicit", "implicit")
OTHERS = (
    "Schutte1993Muscle_Deprecated",
    "Schutte1993Muscle",
    "Delp1990Muscle_Deprecated",
    "RigidTendonMuscle",
    "Millard2012AccelerationMuscle",
)


def muscle_keys(muscle: Element) -> tuple[str, dict[str, Any]]:
    """Return the type of a muscle's force, and its keys without excitation and path.

    Raises:
        UnreadError: it has a property that pysim's muscles do not have.
    """
    keys = _shared(muscle)
    if muscle.tag == THELEN:
        return "thelen_muscle", keys | _thelen(muscle)
    if muscle.tag == DEGROOTE_FREGLY:
        return _degroote_fregly(muscle, keys)
    return _millard(muscle, keys)


def _shared(muscle: Element) -> dict[str, Any]:
    rise, fall = _TIMES[muscle.tag]
    if truth(muscle, "ignore_activation_dynamics", default=False):
        raise UnreadError("its activation follows the excitation at once")
    steepest = number(muscle, "maximum_pennation_angle", STEEPEST)
    if abs(steepest - STEEPEST) > 1e-3:
        raise UnreadError(
            f"its maximum_pennation_angle is {steepest:g} rad, not {STEEPEST:.4g} rad"
        )
    least = max(_least_activation(muscle), LEAST_ACTIVATION)
    return {
        "max_isometric_force": positive(muscle, "max_isometric_force", "N", 1000.0),
        "optimal_fibre_length": positive(muscle, "optimal_fiber_length", "m", 0.1),
        "tendon_slack_length": positive(muscle, "tendon_slack_length", "m", 0.2),
        "pennation_angle": number(muscle, "pennation_angle_at_optimal", _old_pennation(muscle)),
        "max_contraction_velocity": positive(muscle, "max_contraction_velocity", "1/s", 10.0),
        "activation_time": positive(muscle, "activation_time_constant", "s", rise),
        "deactivation_time": positive(muscle, "deactivation_time_constant", "s", fall),
        "minimum_activation": max(least, 0.01) if muscle.tag == THELEN else least,
        "initial_activation": number(
            muscle, "default_activation", 0.5 if muscle.tag == DEGROOTE_FREGLY else 0.05
        ),
    }


def _least_activation(muscle: Element) -> float:
    return 0.0 if muscle.tag == DEGROOTE_FREGLY else number(muscle, "minimum_activation", 0.01)


def _old_pennation(muscle: Element) -> float:
    """Return the pennation before version 3, where it had another name."""
    return number(muscle, "pennation_angle", 0.0)


def _thelen(muscle: Element) -> dict[str, Any]:
    if truth(muscle, "ignore_tendon_compliance", default=False):
        raise UnreadError("its tendon is rigid, which Thelen's muscle is not in pysim")
    return {
        "tendon_strain": positive(muscle, "FmaxTendonStrain", "1", 0.04),
        "passive_strain": positive(muscle, "FmaxMuscleStrain", "1", 0.6),
        "active_shape": positive(muscle, "KshapeActive", "1", 0.45),
        "passive_shape": positive(muscle, "KshapePassive", "1", 5.0),
        "velocity_shape": positive(muscle, "Af", "1", 0.25),
        "lengthening_force": positive(muscle, "Flen", "1", 1.4),
        "lengthening_limit": number(muscle, "fv_linear_extrap_threshold", 0.95),
    }


def _millard(muscle: Element, keys: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    damping = not_negative(muscle, "fiber_damping", "1", 0.1)
    is_rigid = truth(muscle, "ignore_tendon_compliance", default=False)
    is_damped = damping >= LEAST_DAMPING
    keys["damping"] = damping if is_damped else 0.0
    if not is_damped and not is_rigid:
        keys["minimum_activation"] = max(keys["minimum_activation"], 0.01)
    keys |= _active(
        _curve(muscle, "ActiveForceLengthCurve"), has_minimum=not (is_damped or is_rigid)
    )
    keys |= _passive(_curve(muscle, "FiberForceLengthCurve"))
    keys |= _velocity(_curve(muscle, "ForceVelocityCurve"), has_slopes=not (is_damped or is_rigid))
    if is_rigid:
        return "rigid_tendon_muscle", keys
    return "millard_muscle", keys | _tendon(_curve(muscle, "TendonForceLengthCurve"))


def _degroote_fregly(muscle: Element, keys: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    keys |= {
        "activation_smoothing": number(muscle, "activation_dynamics_smoothing", 0.1),
        "active_width": positive(muscle, "active_force_width_scale", "1", 1.0),
        "passive_strain": positive(muscle, "passive_fiber_strain_at_one_norm_force", "1", 0.6),
        "passive_share": float(not truth(muscle, "ignore_passive_fiber_force", default=False)),
    }
    damping = not_negative(muscle, "fiber_damping", "1", 0.0)
    mode = choice(muscle, "tendon_compliance_dynamics_mode", _MODES)
    if truth(muscle, "ignore_tendon_compliance", default=False):
        return "rigid_degroote_fregly_muscle", keys | {"damping": damping}
    return "degroote_fregly_muscle", keys | {
        "damping": damping if mode == "implicit" else 0.0,
        "tendon_strain": positive(muscle, "tendon_strain_at_one_norm_force", "1", 0.049),
    }


def _curve(muscle: Element, name: str) -> Element | None:
    return muscle.child(name)


def _value(curve: Element | None, tag: str, default: float) -> float:
    return default if curve is None else number(curve, tag, default)


def _active(curve: Element | None, *, has_minimum: bool) -> dict[str, Any]:
    least = _value(curve, "minimum_value", 0.1)
    return {
        "active_lengths": (
            _value(curve, "min_norm_active_fiber_length", 0.4441),
            _value(curve, "transition_norm_fiber_length", 0.73),
            _value(curve, "max_norm_active_fiber_length", 1.8123),
        ),
        "shallow_slope": _value(curve, "shallow_ascending_slope", 0.8616),
        "active_minimum": max(least, 0.1) if has_minimum else 0.0,
    }


def _passive(curve: Element | None) -> dict[str, Any]:
    zero = _value(curve, "strain_at_zero_force", 0.0)
    one = _value(curve, "strain_at_one_norm_force", 0.7)
    return {
        "passive_strains": (zero, one),
        "passive_slopes": (
            _value(curve, "stiffness_at_low_force", 0.2),
            _value(curve, "stiffness_at_one_norm_force", 2.0 / max(one - zero, 1e-9)),
        ),
        "passive_curviness": _value(curve, "curviness", 0.75),
    }


def _velocity(curve: Element | None, *, has_slopes: bool) -> dict[str, Any]:
    near_first = _value(curve, "concentric_slope_near_vmax", 0.25)
    near_last = _value(curve, "eccentric_slope_near_vmax", 0.15)
    still = _value(curve, "isometric_slope", 5.0)
    ends = (0.5 * near_first, 0.5 * near_last) if has_slopes else (0.0, 0.0)
    return {
        "velocity_slopes": (ends[0], near_first, still, near_last, ends[1]),
        "lengthening_force": _value(curve, "max_eccentric_velocity_force_multiplier", 1.4),
        "velocity_curviness": (
            _value(curve, "concentric_curviness", 0.6),
            _value(curve, "eccentric_curviness", 0.9),
        ),
    }


def _tendon(curve: Element | None) -> dict[str, Any]:
    strain = _value(curve, "strain_at_one_norm_force", 0.049)
    return {
        "tendon_strain": strain,
        "tendon_slope": _value(curve, "stiffness_at_one_norm_force", 1.375 / max(strain, 1e-9)),
        "toe_force": _value(curve, "norm_force_at_toe_end", 2 / 3),
        "tendon_curviness": _value(curve, "curviness", 0.5),
    }
