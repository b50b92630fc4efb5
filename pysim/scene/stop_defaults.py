"""Default parameters of stops and friction: numbers that a file leaves out, NaN in a specification, are chosen here.

Both are scaled to the inertia that the joint moves at q = 0, so that one rule serves a finger and a hip and is stable
for steps of a millisecond. At a stop, a spring and a damper that push back, the joint oscillates at STOP_FREQUENCY with
STOP_DAMPING_RATIO; under its own weight it rests about g / STOP_FREQUENCY² = 1 mm beyond the limit. Friction saturates
at the speed that it alone removes in FRICTION_TIME, but at least at LEAST_WIDTH.

In a scene, whose drives and scheme are known, a stop gives way to them and to the weight that the joint carries by at
most `allowed_depth`: a share DEPTH of the range, at most LARGEST_DEPTH. A joint of a robot that stands on the ground
carries the rest of the robot, too. The frequency is then as high as that needs, within what the scheme follows at its
step: damped_bounce / step of `pysim.integrators`, half of it where other joints lighten what moves. Under implicit
schemes, a drive that resists velocities with D lets the stop be stiff up to STIFF_SHARE D / step as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameters import moved_by, tensors
from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.scene.drive_loads import DriveLoad, is_bounded
from pysim.scene.spec import with_fields
from pysim.scene.tree import WORLD, order_from_world
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pysim.scene.spec import BodySpec, JointSpec, ModelSpec, Settings

STOP_FREQUENCY = 100.0  # [rad/s]
STOP_DAMPING_RATIO = 0.5
DEPTH = 0.01  # share of the range
LARGEST_DEPTH = 0.01  # [m or rad]
FREQUENCY_SHARE = 0.5  # share of the highest frequency where a joint moves with others
STIFF_SHARE = 0.5
STIFFNESS_TOLERANCE = 1e-9  # relative difference of stiffnesses that carry a load
FRICTION_TIME = 1e-3  # [s]
LEAST_WIDTH = 1e-3  # [m/s or rad/s]
_OF_STOPS = ("stop_stiffness", "stop_damping")
# share of the velocity limit in a robot's file, before which its drives begin to give way
RATED_BAND = 0.05


@dataclass(frozen=True)
class Demand:
    """Loads that default stops carry, and the step that bounds their stiffness."""

    loads: Mapping[str, DriveLoad]  # of drives, by joint
    gravity: Array  # (3,) [m/s²]
    step: float  # [s]
    rate: float  # step times the highest frequency of a stop; inf if it is not bounded
    is_implicit: bool  # whether the scheme is stable for any damping
    stands: bool = False  # whether bodies touch, so that a joint may carry the rest of its robot

    def with_loads(self, loads: Mapping[str, DriveLoad]) -> Demand:
        """Return the demand with other loads of drives."""
        return replace(self, loads=loads)


@dataclass(frozen=True)
class SoftStop:
    """Default stop that gives way by more than `allowed_depth` to its weight and to drives whose commands are known."""

    joint: JointSpec
    coordinate: int
    depth: float  # [m or rad]
    load: float  # [N or N·m]
    drives: tuple[str, ...]
    stiffness: float  # [N/m or N·m/rad] that would hold it


def demand_of(settings: Settings, model: ModelSpec, loads: Mapping[str, DriveLoad]) -> Demand:
    """Return the demand on the default stops of a scene with these settings of a run."""
    kind, stands = find_integrator(settings.integrator), model.contacts is not None
    if kind.adaptive or kind.contacts:
        return Demand(loads, model.gravity, np.inf, np.inf, is_implicit=True, stands=stands)
    rate = kind.damped_bounce or 0.0
    return Demand(loads, model.gravity, settings.step, rate, kind.implicit, stands)


def soft_stop_text(stop: SoftStop, demand: Demand) -> str:
    """Return a warning about a stop that gives way, with remedies."""
    joint, k = stop.joint, stop.coordinate
    kind = find_joint(joint.type)
    name = joint.name if len(kind.v_names) == 1 else f"{joint.name}.{kind.v_names[k]}"
    length, force, per = (
        ("rad", "N·m", "N·m/rad") if kind.v_units[k] == "rad/s" else ("m", "N", "N/m")
    )
    by = f" of {', '.join(map(repr, stop.drives))} and its weight"
    step = 0.98 * demand.step * float(np.sqrt(joint.stop_stiffness[k] / stop.stiffness))
    return (
        f"{joint.where}: limits of joint {name!r}: the default stop gives way by {stop.depth:.2g} {length} under the "
        f"{stop.load:.3g} {force}{by}, because a stiffer one needs shorter steps; take simulation.step = {step:.2g} "
        f'or less, integrator = "convex", or limits.stiffness [{per}] and limits.damping'
    )


def with_stops(
    joints: Iterable[JointSpec],
    bodies: Iterable[BodySpec],
    known: Mapping[int, JointSpec] | None = None,
    *,
    demand_changed: bool = True,
    demand: Demand | None = None,
    soft: list[SoftStop] | None = None,
) -> tuple[JointSpec, ...]:
    """Return the joints with stops and friction widths chosen that are NaN.

    Args:
        joints: the joints.
        bodies: the bodies that they move.
        known: results of an earlier call, by the `id` of the joint given there.
        demand_changed: whether a body, the place of a joint, or gravity differs from that call.
        demand: loads that the stops carry in a scene; none in a model alone.
        soft: list to which the stops are appended that cannot carry them.
    """
    joints, known = tuple(joints), known or {}
    scaled = [_depends_on_inertia(joint) for joint in joints]
    theta = composite_inertias(joints, bodies) if any(scaled) else {}
    carrying = {joint.parent for joint in joints if joint.type != "fixed"}
    rest = _standing_masses(joints, theta) if theta and demand and demand.stands else {}
    stopped = []
    for joint, depends in zip(joints, scaled, strict=True):
        if id(joint) in known and not (depends and demand_changed):
            stopped.append(known[id(joint)])
        elif not depends:
            stopped.append(_without_stop(joint))
        else:
            alone = joint.parent == WORLD and joint.child not in carrying
            own, other = theta[joint.child], rest.get(joint.child, 0.0)
            stopped.append(_with_stop(joint, own, demand, soft, rest=other, alone=alone))
    return tuple(stopped)


def _depends_on_inertia(joint: JointSpec) -> bool:
    """Return whether a stop or friction of a joint is scaled; otherwise they are 0, and the width is LEAST_WIDTH."""
    bounded = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
    return bool(bounded or joint.friction.any() or not np.isnan(joint.stop_stiffness).all())


def _without_stop(joint: JointSpec) -> JointSpec:
    """Return a joint without stop and friction, with the numbers that `_with_stop` would choose."""
    none = np.zeros(len(joint.start_v))
    return with_fields(
        joint,
        stop_stiffness=none,
        stop_damping=_chosen(joint.stop_damping, none),
        friction_width=_chosen(joint.friction_width, none + LEAST_WIDTH),
    )


def allowed_depth(joint: JointSpec) -> Array:
    """Return how far a default stop may give way to its load, for each coordinate (nv,) [m or rad]."""
    span = joint.upper - joint.lower
    return np.minimum(
        LARGEST_DEPTH, np.where(np.isfinite(span) & (span > 0), DEPTH * span, LARGEST_DEPTH)
    )


def _with_stop(
    joint: JointSpec,
    theta: Array,
    demand: Demand | None,
    soft: list[SoftStop] | None,
    *,
    rest: float,
    alone: bool,
) -> JointSpec:
    inertia = joint.armature + _inertia(joint, theta)
    default = STOP_FREQUENCY**2 * inertia * is_bounded(joint)
    if demand is not None and np.isnan(joint.stop_stiffness).any():
        default = _carrying(joint, theta, inertia, default, demand, soft, rest=rest, alone=alone)
    stiffness = _chosen(joint.stop_stiffness, default)
    critical = 2 * np.sqrt(stiffness * inertia)
    load = None if demand is None else demand.loads.get(joint.name)
    damping = STOP_DAMPING_RATIO * critical
    if load is not None:  # drives that resist damp the stop
        damping = np.clip(critical - load.damping, 0.0, damping)
    width = np.divide(
        joint.friction * FRICTION_TIME, inertia, out=np.zeros_like(inertia), where=inertia > 0
    )
    return with_fields(
        joint,
        stop_stiffness=stiffness,
        stop_damping=_chosen(joint.stop_damping, damping),
        friction_width=_chosen(joint.friction_width, np.maximum(LEAST_WIDTH, width)),
        default_stops=frozenset(name for name in _OF_STOPS if np.isnan(getattr(joint, name)).all()),
    )


def without_default_stops(joint: JointSpec) -> JointSpec:
    """Return a joint whose stops are NaN again where they were chosen, for a scene to choose them."""
    if not joint.default_stops:
        return joint
    unsaid = np.full_like(joint.lower, np.nan)
    return with_fields(
        joint, default_stops=frozenset(), **dict.fromkeys(joint.default_stops, unsaid)
    )


def _carrying(
    joint: JointSpec,
    theta: Array,
    inertia: Array,
    stiffness: Array,
    demand: Demand,
    soft: list[SoftStop] | None,
    *,
    rest: float,
    alone: bool,
) -> Array:
    """Return the stiffness of a joint's stops (nv,) that carries its loads, as far as the step allows."""
    load = demand.loads.get(joint.name)
    load = load or DriveLoad(0 * inertia, 0 * inertia, 0 * inertia, ())
    weight = _weight(joint, theta, demand.gravity, rest)
    force = (load.force + weight) * is_bounded(joint)
    wanted = np.maximum(stiffness, force / allowed_depth(joint))
    if np.isfinite(demand.rate):
        highest = demand.rate * (1.0 if alone else FREQUENCY_SHARE) / demand.step
        resisting = load.damping + joint.damping
        most = highest**2 * inertia
        if demand.is_implicit:
            most = np.maximum(most, STIFF_SHARE * resisting / demand.step)
        else:  # with the drives' own decay, within the stability of explicit schemes
            room = 2 * inertia - resisting * demand.step
            most = np.minimum(most, np.maximum(room, 0.0) / demand.step**2)
        stiffness = np.maximum(stiffness, np.minimum(wanted, most))
    else:
        stiffness = wanted
    if soft is not None:
        known = (load.known + weight) * is_bounded(joint)
        needed = known / allowed_depth(joint)
        is_soft = np.isnan(joint.stop_stiffness) & (needed > (1 + STIFFNESS_TOLERANCE) * stiffness)
        is_soft &= load.known > 0  # a weight alone need not rest in its stop
        for k in np.flatnonzero(is_soft).tolist():
            own, depth = with_fields(joint, stop_stiffness=stiffness), known[k] / stiffness[k]
            soft.append(
                SoftStop(own, k, float(depth), float(known[k]), load.drives, float(needed[k]))
            )
    return stiffness


def _weight(joint: JointSpec, theta: Array, gravity: Array, carried: float) -> Array:
    """Return the largest load (nv,) [N or N·m] of weights on each coordinate of a joint, at q = 0.

    Args:
        joint: the joint.
        theta: θ (10,) of its body with its descendants.
        gravity: (3,) [m/s²].
        carried: mass that stands on them [kg]; its weight acts at their radius of gyration.
    """
    g, mass = float(np.linalg.norm(gravity)), float(theta[0])
    axis = np.array(joint.axis)
    across = np.linalg.norm(theta[1:4] - (theta[1:4] @ axis) * axis)
    has_axis = joint.type in {"revolute", "helical", "cylindrical"}
    arm = float(across if has_axis else np.linalg.norm(theta[1:4]))
    gyration = np.sqrt(np.maximum(_inertia(joint, theta), 0.0) / mass) if mass > 0 else 0.0
    units = find_joint(joint.type).v_units
    turning = np.maximum(arm, carried * gyration)
    loads = g * np.where(np.array(units) == "m/s", max(mass, carried), turning)
    if joint.type == "helical":
        loads = loads + abs(joint.parameters["pitch"]) * max(mass, carried) * g
    return np.asarray(loads)


def _standing_masses(joints: tuple[JointSpec, ...], theta: Mapping[str, Array]) -> dict[str, float]:
    """Return the mass of the rest of its tree, for every body of a tree that moves freely."""
    hangs_on = {joint.child: joint for joint in joints}
    roots: dict[str, JointSpec] = {}
    for name in order_from_world(joints):
        joint = hangs_on[name]
        roots[name] = roots.get(joint.parent, joint)
    return {
        name: float(theta[root.child][0] - theta[name][0])
        for name, root in roots.items()
        if root.type == "free"
    }


def _chosen(said: Array, otherwise: Array) -> Array:
    return np.where(np.isnan(said), otherwise, said)


def _inertia(joint: JointSpec, theta: Array) -> Array:
    """Return the inertia (nv,) [kg or kg·m²] of a body with θ (10,) that each velocity of a joint moves."""
    axis, m, I = np.array(joint.axis), theta[0], tensors(theta)  # noqa: E741
    about_axis = axis @ I @ axis
    match joint.type:
        case "helical":
            values = [about_axis + joint.parameters["pitch"] ** 2 * m]
        case "cylindrical":
            values = [m, about_axis]
        case "universal":
            values = [I[0, 0], I[1, 1]]
        case "planar":
            values = [m, m, I[2, 2]]
        case _:  # the axes of a plugin are unknown: as for a ball
            turn = about_axis if joint.type == "revolute" else np.trace(I) / 3
            units = find_joint(joint.type).v_units
            values = [m if unit == "m/s" else turn for unit in units]
    return np.array(values, float)


def composite_inertias(
    joints: tuple[JointSpec, ...], bodies: Iterable[BodySpec]
) -> dict[str, Array]:
    """Return θ (10,) of each body together with its descendants at q = 0, about the body's origin."""
    theta = {body.name: body.theta for body in bodies}
    hangs_on = {joint.child: joint for joint in joints}
    for name in reversed(order_from_world(joints)):
        joint = hangs_on[name]
        if joint.parent in theta:
            theta[joint.parent] = theta[joint.parent] + moved_by(theta[name], joint.at)
    return theta
