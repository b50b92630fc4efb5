"""Actuators of an MJCF model: motors and servos as actuators of a scene, thrust at sites as forces.

The control of an actuator is a constant source "NAME/command", which a scene may replace by another signal. It is 0, or
that of a keyframe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.mjcf.model import BALL, FREE
from pysim.scene.mjcf.muscles import muscle_keys, unread_muscle
from pysim.scene.mjcf.tendons import course_of
from pysim.scene.spec import BlockSpec, ForceSpec
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel, Names
    from pysim.scene.spec import PathPart

KIND = "actuators"
COMMAND = "/command"  # end of the name of the source that an actuator follows
_TARGETS = {
    "SLIDERCRANK": "it acts on a slider-crank",
    "BODY": "it acts by adhesion at contacts",
    "SO3": "it acts on an orientation",
}
_LAWS = {
    "DCMOTOR": "it is a DC motor with the laws of MuJoCo",
    "PID": "it is a PID controller with the laws of MuJoCo",
    "SO3": "it acts on an orientation",
    "USER": "its law is code of a program",
}


@dataclass(frozen=True)
class Transmission:
    """Coordinates with a gear each, points of a path with one gear, or a frame with axes of force and torque."""

    gear: tuple[float, ...]
    coordinates: tuple[str, ...] = ()
    points: tuple[PathPart, ...] = ()
    site: int | None = None
    has_length: bool = True


@dataclass
class ActuatorReader:
    """Reader of actuators, which reports those that it leaves out."""

    model: MujocoModel
    omissions: Omissions
    names: Names  # of signals, sensors, actuators and forces
    blocks: list[BlockSpec] = field(default_factory=list)
    forces: list[ForceSpec] = field(default_factory=list)
    sources: dict[int, str] = field(default_factory=dict)  # of those that are read, by number
    _taken: dict[int, str] = field(default_factory=dict)

    def read(self) -> None:
        """Read every actuator."""
        m = self.model.m
        self._taken = {k: self.names.unique(self._label(k)) for k in range(m.nactuator)}
        off = not self.model.enables("ACTUATION")
        for k in range(m.nactuator):
            group = int(m.actuator_group[k])
            if off or (group >= 0 and int(m.opt.disableactuator) >> group & 1):
                reason = "is left out: it is switched off in <option>"
                self.omissions.note(KIND, self._item(k), self._where(k), reason)
            else:
                self._actuator(k)

    def commands(self, controls: Array) -> dict[str, float]:
        """Return the controls (nu,) of the actuators that are read, by the name of their source."""
        at = self.model.m.actuator_ctrladr
        return {source: float(controls[at[k]]) for k, source in self.sources.items()}

    def activations(self, activations: Array) -> dict[str, float]:
        """Return the activations (na,) of the actuators that have one, by the name of the actuator."""
        at = self.model.m.actuator_actadr
        return {self._taken[k]: float(activations[at[k]]) for k in self.sources if at[k] >= 0}

    def _label(self, k: int) -> str:
        """Return the name of an actuator; that of what it acts on if it has none."""
        name = self.model.name("ACTUATOR", k)
        if not name.startswith("#"):
            return name
        acts = transmission_of(self.model, k)
        if not isinstance(acts, str) and len(acts.coordinates) == 1:
            return acts.coordinates[0]
        return f"actuator{k + 1}"

    def _item(self, k: int) -> str:
        return f"actuator {self.model.label('ACTUATOR', k)}"

    def _where(self, k: int) -> str:
        return self.model.location(KIND, k)

    def _leave(self, k: int, reason: str) -> None:
        self.omissions.add(KIND, self._item(k), self._where(k), reason)

    def _actuator(self, k: int) -> None:
        law = self._unread_law(k)
        acts = law or transmission_of(self.model, k)
        if isinstance(acts, str):
            self._leave(k, f"is left out: {acts}")
            return
        kind, parameters = self._law(k)
        if kind != "motor" and not acts.has_length:
            self._leave(k, f"is left out: {_without_length(acts)}")
            return
        if self.model.m.actuator_actearly[k]:
            reason = (
                "acts with its present activation: actearly, that of the next step, is not read"
            )
            self.omissions.note(KIND, self._item(k), self._where(k), reason)
        if self.model.m.actuator_delay[k]:
            delay = float(self.model.m.actuator_delay[k])
            self._leave(k, f"has a delay of {delay:g} s, which is left out")
        self._note_tendon_limit(k)
        name = self._taken[k]
        source = self.sources[k] = self.names.unique(name + COMMAND)
        where = self._where(k)
        value = {"value": 0.0}
        command = BlockSpec(
            "signal", source, "constant", parameters=value, where=where, command_of=""
        )
        self.blocks.append(command)
        if acts.site is not None:
            self._thruster(k, acts, parameters | {"command": source})
            return
        if acts.gear != (1.0,):
            parameters["gear"] = acts.gear
        self.blocks.append(
            BlockSpec(
                "actuator",
                name,
                kind,
                inputs=(source,),
                coordinates=acts.coordinates,
                points=acts.points,
                parameters=parameters,
                where=where,
            )
        )

    def _note_tendon_limit(self, k: int) -> None:
        m = self.model.m
        on_tendon = int(m.actuator_trntype[k]) == self.model.mj.mjtTrn.mjTRN_TENDON
        if on_tendon and m.tendon_actfrclimited[m.actuator_trnid[k, 0]]:
            self._leave(k, "acts on a tendon with a range of actuator forces, which is left out")

    def _thruster(self, k: int, acts: Transmission, parameters: dict[str, Any]) -> None:
        """Add force and torque along axes of a site."""
        assert acts.site is not None
        m = self.model.m
        parameters |= {"force_axis": acts.gear[:3], "torque_axis": acts.gear[3:]}
        body = self.model.bodies[m.site_bodyid[acts.site]]
        at = self.model.site_pose(acts.site)
        where = self._where(k)
        self.forces.append(
            ForceSpec(
                self._taken[k], "thruster", b=body, at_b=at, parameters=parameters, where=where
            )
        )

    def _unread_law(self, k: int) -> str:
        """Return why the law of an actuator is not read; "" if it is."""
        m, mj = self.model.m, self.model.mj
        if m.actuator_plugin[k] >= 0:
            return "it is code of MuJoCo"
        words = []
        for enum, of in (("Gain", "gain"), ("Bias", "bias"), ("Dyn", "dyn")):
            number = int(getattr(m, f"actuator_{of}type")[k])
            words.append(str(getattr(mj, f"mjt{enum}")(number).name).partition("_")[2])
        for word in words:
            if word in _LAWS:
                return _LAWS[word]
        return unread_muscle(m, k, *words) if "MUSCLE" in words else ""

    def _law(self, k: int) -> tuple[str, dict[str, Any]]:
        """Return the type of the actuator in a scene, and its keys without the gear."""
        m, mj = self.model.m, self.model.mj
        if int(m.actuator_gaintype[k]) == mj.mjtGain.mjGAIN_MUSCLE:
            return "mujoco_muscle", muscle_keys(self.model, k) | self._ranges(k)
        gain, bias = np.zeros(3), np.zeros(3)
        gain[0] = m.actuator_gainprm[k, 0]
        if int(m.actuator_gaintype[k]) == mj.mjtGain.mjGAIN_AFFINE:
            gain[:] = m.actuator_gainprm[k, :3]
        if int(m.actuator_biastype[k]) == mj.mjtBias.mjBIAS_AFFINE:
            bias[:] = m.actuator_biasprm[k, :3]
        keys = self._ranges(k)
        dynamics = int(m.actuator_dyntype[k])
        if dynamics == mj.mjtDyn.mjDYN_NONE and not (bias.any() or gain[1:].any()):
            return "motor", keys | ({"gain": float(gain[0])} if gain[0] != 1 else {})
        if tuple(gain) != (1.0, 0.0, 0.0):
            keys["gain"] = _shortened(gain)
        if bias.any():
            keys["bias"] = _shortened(bias)
        if dynamics == mj.mjtDyn.mjDYN_NONE:
            return "affine", keys
        if dynamics == mj.mjtDyn.mjDYN_INTEGRATOR:
            return "affine_integrator", keys
        return "affine_filter", keys | {"time_constant": float(m.actuator_dynprm[k, 0])}

    def _ranges(self, k: int) -> dict[str, Any]:
        """Return the ranges of command, force and activation that an actuator has."""
        m, at = self.model.m, int(self.model.m.actuator_ctrladr[k])
        keys: dict[str, Any] = {}
        if m.actuator_ctrllimited[at] and self.model.enables("CLAMPCTRL"):
            keys["command_range"] = _pair(m.actuator_ctrlrange[at])
        if m.actuator_forcelimited[k]:
            keys["force_range"] = _pair(m.actuator_forcerange[k])
        if m.actuator_actlimited[k] and m.actuator_actadr[k] >= 0:
            keys["activation_range"] = _pair(m.actuator_actrange[k])
        return keys


def _without_length(acts: Transmission) -> str:
    """Return why an actuator whose force depends on a length or an angle is not read where there is none."""
    if acts.site is not None:
        return "its force depends on a length, and a site has none; write a <motor>"
    joint = acts.coordinates[0].rpartition(".")[0]
    return (
        f"its force depends on an angle, and the ball or free joint {joint!r}, which rotates about three axes at once, "
        "has none; write a <motor>, or three hinges"
    )


def transmission_of(model: MujocoModel, k: int) -> Transmission | str:
    """Return the transmission of an actuator, or why pysim does not represent it."""
    m = model.m
    kind = str(model.mj.mjtTrn(int(m.actuator_trntype[k])).name).partition("_")[2]
    if kind in _TARGETS:
        return _TARGETS[kind]
    target, other = map(int, m.actuator_trnid[k])
    gear = tuple(map(float, m.actuator_gear[m.actuator_outadr[k]]))
    if kind == "SITE":
        if other >= 0:
            return "it acts between two sites"
        return Transmission(gear, site=target, has_length=False)
    if kind == "TENDON":
        course = course_of(model, target)
        if course.obstacle:
            return course.obstacle.replace("it runs", "its tendon runs")
        if course.is_rigid:
            return "its tendon lies on one rigid body"
        if course.points:
            return Transmission(gear[:1], points=course.points)
        names, weights = zip(*course.weights, strict=True)
        return Transmission(tuple(gear[0] * weight for weight in weights), names)
    return _on_joint(model, target, gear, in_parent=kind == "JOINTINPARENT")


def _on_joint(
    model: MujocoModel, joint: int, gear: tuple[float, ...], *, in_parent: bool
) -> Transmission | str:
    name, kind = model.joints[joint], int(model.m.jnt_type[joint])
    if kind not in {BALL, FREE}:
        return Transmission(gear[:1], (name,))
    axis = gear[3:] if kind == FREE else gear[:3]
    if in_parent:
        return "its axis is fixed in the parent of a joint that rotates freely"
    if kind == FREE and any(gear[:3]):
        return "it pushes a free joint along an axis of the world"
    turning = [
        (f"{name}.{word}", ratio) for word, ratio in zip(_TURNING, axis, strict=True) if ratio
    ]
    if not turning:
        return "its gear is 0"
    names, ratios = zip(*turning, strict=True)
    return Transmission(ratios, names, has_length=False)


_TURNING = ("wx", "wy", "wz")  # velocities of ball and free joints


def _pair(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(map(float, values))


def _shortened(factors: Array) -> tuple[float, ...]:
    """Return factors without the zeros at the end."""
    last = int(np.flatnonzero(factors)[-1]) if factors.any() else 0
    return tuple(map(float, factors[: last + 1]))
