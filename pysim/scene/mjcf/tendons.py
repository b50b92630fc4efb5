"""Tendons of an MJCF model as forces: springs, dampers and limits along sites and on sums of joint coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.mjcf.joints import stop_gains
from pysim.scene.mjcf.model import wxyz_pose
from pysim.scene.spec import ForceSpec, PathPart

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel

KIND = "tendons"


@dataclass(frozen=True)
class Course:
    """Course of a tendon: coordinates with their weights, or points of bodies.

    Attributes:
        obstacle: what pysim does not represent of it; it has neither coordinates nor points then.
        is_rigid: whether its points lie on one rigid body, so that its length is constant.
    """

    weights: tuple[tuple[str, float], ...] = ()  # by coordinate
    points: tuple[PathPart, ...] = ()
    obstacle: str = ""
    is_rigid: bool = False

    @property
    def keys(self) -> dict[str, Any]:
        """Keys of a force along it."""
        if self.points:
            return {"path": self.points}
        names, weights = zip(*self.weights, strict=True)
        return {"coordinates": names, "weights": weights}


def course_of(model: MujocoModel, k: int) -> Course:
    """Return the course of a tendon."""
    m, start = model.m, int(model.m.tendon_adr[k])
    wraps = range(start, start + int(m.tendon_num[k]))
    kinds = [str(model.mj.mjtWrap(int(m.wrap_type[w])).name.partition("_")[2]) for w in wraps]
    if kinds[0] == "JOINT":
        weights: dict[str, float] = {}
        for w in wraps:
            name = model.joints[m.wrap_objid[w]]
            weights[name] = weights.get(name, 0.0) + float(m.wrap_prm[w])
        return Course(tuple(weights.items()))
    points: list[PathPart] = []
    divisor, begins = 1.0, False  # of the strands after a pulley, where a new branch begins
    for w, kind in zip(wraps, kinds, strict=True):
        if kind == "PULLEY":
            divisor, begins = float(m.wrap_prm[w]), bool(points)
            continue
        if kind == "SITE":
            strands = 0.0 if begins else 1.0 / divisor if points else 1.0
            points.append(_site(model, int(m.wrap_objid[w]), strands))
            begins = False
            continue
        part = _around(model, w, kind)
        if isinstance(part, str):
            return Course(obstacle=part)
        points.append(part)
    on = {int(m.body_weldid[model.bodies.index(part.body)]) for part in points}
    return Course(is_rigid=True) if len(on) < 2 else Course(points=tuple(points))


def _site(model: MujocoModel, site: int, strands: float) -> PathPart:
    body = model.bodies[model.m.site_bodyid[site]]
    return PathPart(body, model.m.site_pos[site].copy(), multiplicity=strands)


def _around(model: MujocoModel, w: int, kind: str) -> PathPart | str:
    """Return the geom that a tendon wraps over, or why pysim does not represent it."""
    m, geom, side = model.m, int(model.m.wrap_objid[w]), round(float(model.m.wrap_prm[w]))
    kind, radius = kind.lower(), float(m.geom_size[geom, 0])
    at = wxyz_pose(m.geom_pos[geom], m.geom_quat[geom])
    direction = np.zeros(3)
    if side >= 0:
        label = model.label("SITE", side)
        if m.site_bodyid[side] != m.geom_bodyid[geom]:
            return f"it runs around a {kind} with the side of site {label} on another body"
        direction = at[:3, :3].T @ (m.site_pos[side] - at[:3, 3])
        if np.linalg.norm(direction) < radius:  # also of a cylinder
            return PathPart(model.bodies[m.geom_bodyid[geom]], at, kind, radius, inside=True)
        if kind == "cylinder":
            direction[2] = 0.0
            if not direction.any():
                direction[0] = 1.0  # as MuJoCo normalises zero
        direction /= np.linalg.norm(direction)
    x, y, z = map(float, direction)
    return PathPart(model.bodies[m.geom_bodyid[geom]], at, kind, radius, (x, y, z))


class TendonReader:
    """Reader of the tendons that exert forces of their own, which reports what it leaves out."""

    def __init__(self, model: MujocoModel, omissions: Omissions) -> None:
        self.model, self.m, self.omissions = model, model.m, omissions

    def read(self) -> tuple[ForceSpec, ...]:
        """Return the forces of all tendons."""
        return tuple(force for k in range(self.m.ntendon) for force in self._tendon(k))

    def _tendon(self, k: int) -> list[ForceSpec]:
        m = self.m
        stiffness = float(m.tendon_stiffness[k]) * self.model.springs
        damping = float(m.tendon_damping[k]) * self.model.dampers
        limited = bool(m.tendon_limited[k]) and self.model.limits
        if m.tendon_frictionloss[k] and self.model.friction:
            self._leave(k, "has friction, which is left out")
        if m.tendon_armature[k]:
            self._leave(k, "has an armature, which is left out")
        for key, word in (("stiffnesspoly", "stiffness"), ("dampingpoly", "damping")):
            if np.any(getattr(m, f"tendon_{key}", np.zeros((k + 1, 1)))[k]):
                self._leave(k, f"has polynomial {word} of higher order, which is left out")
        if not (stiffness or damping or limited):
            reason = "is not read: it exerts no force of its own"
            self.omissions.note(KIND, self._item(k), self.model.location(KIND, k), reason)
            return []
        course = course_of(self.model, k)
        if course.obstacle:
            self._leave(k, f"is left out: {course.obstacle}")
            return []
        if course.is_rigid:
            reason = "is not read: it lies on one rigid body"
            self.omissions.note(KIND, self._item(k), self.model.location(KIND, k), reason)
            return []
        acts, forces = course.keys, []
        if stiffness or damping:
            forces.append(self._spring(k, acts, stiffness, damping))
        if limited:
            forces.append(self._stop(k, acts))
        return forces

    def _spring(self, k: int, acts: dict[str, Any], stiffness: float, damping: float) -> ForceSpec:
        lower, upper = map(float, self.m.tendon_lengthspring[k])
        keys = {"stiffness": stiffness, "damping": damping, "slack": upper - lower}
        if "path" in acts:
            keys["rest_length"] = lower
            if upper == lower:
                del keys["slack"]
            kind = "slack_spring" if "slack" in keys else "path_spring"
            return self._force(k, "", kind, acts, keys)
        return self._force(k, "", "weighted_spring", acts, keys | {"rest": lower})

    def _stop(self, k: int, acts: dict[str, Any]) -> ForceSpec:
        """Return the limits, with the stiffness and damping that MuJoCo aims at for the tendon alone."""
        lower, upper = map(float, self.m.tendon_range[k])
        stiffness, damping = stop_gains(self.m.tendon_solref_lim[k])
        inertia = 1.0 / max(float(self.m.tendon_invweight0[k]), 1e-12)
        keys = {
            "lower": lower,
            "upper": upper,
            "stiffness": stiffness * inertia,
            "damping": damping * inertia,
        }
        kind = "path_stop" if "path" in acts else "weighted_stop"
        return self._force(k, "/limit", kind, acts, keys)

    def _force(
        self, k: int, suffix: str, kind: str, acts: dict[str, Any], keys: dict[str, float]
    ) -> ForceSpec:
        label = self.model.name("TENDON", k)
        name = label if not label.startswith("#") else f"tendon{k + 1}"
        parameters: dict[str, Any] = dict(keys)
        if "weights" in acts:
            parameters["weights"] = acts["weights"]
        return ForceSpec(
            name + suffix,
            kind,
            path=acts.get("path", ()),
            coordinates=acts.get("coordinates", ()),
            parameters=parameters,
            where=self.model.location(KIND, k),
        )

    def _item(self, k: int) -> str:
        return f"tendon {self.model.label('TENDON', k)}"

    def _leave(self, k: int, reason: str) -> None:
        self.omissions.add(KIND, self._item(k), self.model.location(KIND, k), reason)
