"""Sensors of an MJCF model as sensors of a scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.scene.mjcf.actuators import transmission_of
from pysim.scene.mjcf.model import wxyz_pose
from pysim.scene.mjcf.tendons import course_of
from pysim.scene.spec import BlockSpec
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel, Names

KIND = "sensors"
_OF_FRAMES = {
    "FRAMEPOS": ("pose", {}),
    "FRAMEQUAT": ("pose", {}),
    "FRAMELINVEL": ("twist", {"axes": "base"}),
    "FRAMEANGVEL": ("twist", {"axes": "base"}),
    "VELOCIMETER": ("twist", {}),
    "GYRO": ("twist", {}),
    "ACCELEROMETER": ("imu", {}),
}
_OF_JOINTS = {"JOINTPOS": "coordinates", "JOINTVEL": "rates", "BALLANGVEL": "rates"}
_TURNING = ("wx", "wy", "wz")
_RECORDED = {
    "JOINTACTFRC": "pysim records the sum of actuator forces as 'effort.JOINT'",
    "ACTUATORFRC": "pysim records the sum of actuator forces as 'effort.JOINT'",
    "CLOCK": "pysim records the time",
    "E_POTENTIAL": "pysim records the energies",
    "E_KINETIC": "pysim records the energies",
}


@dataclass
class SensorReader:
    """Reader of sensors, which lists those that it leaves out.

    Attributes:
        model: the model.
        omissions: receives what is left out.
        names: of signals, sensors, actuators and forces.
        frames: name of the frame of each site that has one.
    """

    model: MujocoModel
    omissions: Omissions
    names: Names
    frames: dict[int, str]

    def read(self) -> list[BlockSpec]:
        """Return the sensors that pysim has."""
        blocks = []
        for k in range(self.model.m.nsensor):
            keys = self._keys(k)
            if isinstance(keys, str):
                item = f"sensor {self.model.label('SENSOR', k)}"
                self.omissions.note(KIND, item, self.model.location(KIND, k), keys)
                continue
            label = self.model.name("SENSOR", k)
            name = self.names.unique(f"sensor{k + 1}" if label.startswith("#") else label)
            blocks.append(BlockSpec("sensor", name, where=self.model.location(KIND, k), **keys))
        return blocks

    def _keys(self, k: int) -> dict[str, Any] | str:
        """Return the fields of a sensor's specification, or why it is left out."""
        m, mj = self.model.m, self.model.mj
        kind = str(mj.mjtSensor(int(m.sensor_type[k])).name).partition("_")[2]
        target = int(m.sensor_objid[k])
        if m.sensor_cutoff[k] > 0:
            return f"is not read: it has a cutoff of {m.sensor_cutoff[k]:g}"
        if m.sensor_delay[k] > 0:
            return f"is not read: it has a delay of {m.sensor_delay[k]:g} s"
        if kind in _OF_JOINTS:
            name = self.model.joints[target]
            names = [name]
            if kind == "BALLANGVEL":
                names = [f"{name}.{word}" for word in _TURNING]
            return {"type": _OF_JOINTS[kind], "coordinates": tuple(names)}
        if kind in {"TENDONPOS", "TENDONVEL"}:
            return self._length_of_tendon(target)
        if kind in {"ACTUATORPOS", "ACTUATORVEL"}:
            return self._length_of_actuator(target)
        if kind == "TOUCH":
            return self._touch(k)
        if kind in _OF_FRAMES:
            return self._of_frames(k, *_OF_FRAMES[kind])
        return f"is not read: {_RECORDED.get(kind, f'pysim has no sensor of the kind {kind.lower()!r}')}"

    def _length_of_tendon(self, tendon: int) -> dict[str, Any] | str:
        course = course_of(self.model, tendon)
        if course.points:
            return {"type": "distance", "points": course.points}
        if course.weights:
            names, weights = zip(*course.weights, strict=True)
            return _sum(names, weights)
        return f"is not read: {course.obstacle or 'its tendon lies on one rigid body'}"

    def _length_of_actuator(self, actuator: int) -> dict[str, Any] | str:
        acts = transmission_of(self.model, actuator)
        if isinstance(acts, str):
            return f"is not read: of its actuator, {acts}"
        if acts.points and acts.gear == (1.0,):
            return {"type": "distance", "points": acts.points}
        if not acts.coordinates or not acts.has_length:
            return "is not read: the transmission of its actuator has no length in pysim"
        return _sum(acts.coordinates, acts.gear)

    def _of_frames(self, k: int, kind: str, parameters: dict[str, Any]) -> dict[str, Any] | str:
        m = self.model.m
        frame, at = self._frame(int(m.sensor_objtype[k]), int(m.sensor_objid[k]))
        keys = {"type": kind, "frame": frame, "at": at, "parameters": dict(parameters)}
        if m.sensor_refid[k] >= 0:
            base, base_at = self._frame(int(m.sensor_reftype[k]), int(m.sensor_refid[k]))
            if not np.array_equal(base_at, np.eye(4)):
                return "is not read: its reference is no body and no site with a name"
            keys["relative_to"] = base
        return keys

    def _touch(self, k: int) -> dict[str, Any]:
        """Return the keys of a touch sensor, whose `normal` is MuJoCo's number where its site holds all contacts."""
        site = int(self.model.m.sensor_objid[k])
        if not self._holds_body(site):
            item = f"sensor {self.model.label('SENSOR', k)}"
            reason = "counts all contacts of its body, in MuJoCo those inside of its site"
            self.omissions.note(KIND, item, self.model.location(KIND, k), reason)
        frame, at = self._frame(int(self.model.mj.mjtObj.mjOBJ_SITE), site)
        return {"type": "contact", "frame": frame, "at": at}

    def _holds_body(self, site: int) -> bool:
        """Return whether the largest sphere within a site holds the colliding geoms of its body."""
        m, mj = self.model.m, self.model.mj
        axes = {mj.mjtGeom.mjGEOM_SPHERE: 1, mj.mjtGeom.mjGEOM_CAPSULE: 1}
        kind = int(m.site_type[site])
        axes[mj.mjtGeom.mjGEOM_CYLINDER] = 2
        reach = float(np.min(m.site_size[site][: axes.get(kind, 3)]))
        body = int(m.site_bodyid[site])
        own = (m.geom_bodyid == body) & ((m.geom_contype != 0) | (m.geom_conaffinity != 0))
        far = np.linalg.norm(m.geom_pos[own] - m.site_pos[site], axis=1) + m.geom_rbound[own]
        return bool((far <= reach).all())

    def _frame(self, kind: int, number: int) -> tuple[str, Array]:
        """Return the frame or body of an object, and its pose there."""
        m, kinds, bodies = self.model.m, self.model.mj.mjtObj, self.model.bodies
        if kind == kinds.mjOBJ_SITE:
            if number in self.frames:
                return self.frames[number], np.eye(4)
            return bodies[m.site_bodyid[number]], self.model.site_pose(number)
        if kind == kinds.mjOBJ_GEOM:
            at = wxyz_pose(m.geom_pos[number], m.geom_quat[number])
            return bodies[m.geom_bodyid[number]], at
        if kind == kinds.mjOBJ_CAMERA:
            at = wxyz_pose(m.cam_pos[number], m.cam_quat[number])
            return bodies[m.cam_bodyid[number]], at
        if kind == kinds.mjOBJ_BODY:  # its inertial frame
            return bodies[number], wxyz_pose(m.body_ipos[number], m.body_iquat[number])
        return bodies[number], np.eye(4)


def _sum(names: tuple[str, ...], weights: tuple[float, ...]) -> dict[str, Any]:
    return {"type": "weighted_sum", "coordinates": names, "parameters": {"weights": weights}}
