"""Compiled MuJoCo model with names for every object and their places in the file."""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimWarning, SceneError
from pysim.scene.poses import pose
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

WORLD = "world"
FREE, BALL, SLIDE, HINGE = range(4)  # of mjtJoint


@dataclass
class Names:
    """Names that are given once, with a number added to repeated ones."""

    taken: set[str] = field(default_factory=lambda: {WORLD})

    def unique(self, name: str) -> str:
        """Return the name, or the name with the first free number."""
        found, count = name, 1
        while found in self.taken:
            count += 1
            found = f"{name}_{count}"
        self.taken.add(found)
        return found


class MujocoModel:
    """Model `m` of MuJoCo with its specification; names are unique among bodies and frames, and among joints."""

    def __init__(self, path: Path) -> None:
        import mujoco  # noqa: PLC0415, an extra

        self.path, self.mj = path, mujoco
        with warnings.catch_warnings(record=True) as caught, _without_log(mujoco) as logged:
            warnings.simplefilter("always")
            try:
                self.spec = mujoco.MjSpec.from_file(str(path))
                self.m: Any = self.spec.compile()
            except (ValueError, RuntimeError, MemoryError) as error:
                raise SceneError(*_refusal(str(path), str(error))) from None
        texts = [*(str(w.message) for w in caught), *logged]
        self.warnings = dict.fromkeys(" ".join(text.split()) for text in texts)
        self._elements: dict[str, dict[int, Any]] = {}
        m = self.m
        self.places = Names()
        bodies = [self._name("BODY", i) for i in range(m.nbody)]
        self.places.taken |= set(bodies)
        self.bodies = [
            WORLD if i == 0 else name or self.places.unique(f"body{i}")
            for i, name in enumerate(bodies)
        ]
        joints = [self._name("JOINT", i) for i in range(m.njnt)]
        names = Names(set(joints))
        self.joints = [
            name or names.unique(f"{self.bodies[m.jnt_bodyid[i]]}_joint")
            for i, name in enumerate(joints)
        ]
        self.joint_names = names

    def warn(self) -> None:
        """Give the warnings of MuJoCo's compiler."""
        for text in self.warnings:
            warnings.warn(f"{self.path}: MuJoCo warns: {text}", PysimWarning, stacklevel=2)

    def _name(self, kind: str, index: int) -> str:
        found = self.mj.mj_id2name(self.m, getattr(self.mj.mjtObj, f"mjOBJ_{kind}"), index)
        return found or ""

    def label(self, kind: str, index: int) -> str:
        """Return a name in quotes for messages, #k if there is none."""
        found = self._name(kind, index)
        return repr(found) if found else f"#{index}"

    def name(self, kind: str, index: int) -> str:
        """Return a name for messages, "#k" if there is none."""
        return self._name(kind, index) or f"#{index}"

    def element(self, kind: str, index: int) -> Any:  # noqa: ANN401, an element of MjSpec
        """Return an element of the specification by its kind, such as "joints", and its number in the model."""
        if kind not in self._elements:  # MuJoCo walks the tree for each of these lists
            self._elements[kind] = {item.id: item for item in getattr(self.spec, kind)}
        return self._elements[kind].get(index)

    def location(self, kind: str, index: int) -> str:
        """Return `file:line` of an element; `file` if its line is unknown, as in included files."""
        line = re.search(r"line ([1-9]\d*)", getattr(self.element(kind, index), "info", None) or "")
        return f"{self.path}:{line.group(1)}" if line else str(self.path)

    def enables(self, *flags: str) -> bool:
        """Return whether none of some flags of <option>, such as "SPRING", switches parts of the model off."""
        bits = self.mj.mjtDisableBit
        off = (getattr(bits, f"mjDSBL_{flag}") for flag in flags)
        return not any(int(self.m.opt.disableflags) & bit for bit in off)

    @cached_property
    def springs(self) -> bool:
        """Whether springs act."""
        return self.enables("SPRING")

    @cached_property
    def dampers(self) -> bool:
        """Whether dampers act."""
        return self.enables("DAMPER")

    @cached_property
    def limits(self) -> bool:
        """Whether limits act."""
        return self.enables("LIMIT", "CONSTRAINT")

    @cached_property
    def friction(self) -> bool:
        """Whether dry friction acts."""
        return self.enables("FRICTIONLOSS", "CONSTRAINT")

    def body_pose(self, index: int) -> Array:
        """Return the pose (4, 4) of a body in its parent at the reference configuration."""
        return wxyz_pose(self.m.body_pos[index], self.m.body_quat[index])

    def static_pose(self, index: int) -> Array:
        """Return the pose (4, 4) in the world of a body that is fixed to it."""
        X = np.eye(4)
        while index:
            X, index = self.body_pose(index) @ X, int(self.m.body_parentid[index])
        return X

    def site_pose(self, index: int) -> Array:
        """Return the pose (4, 4) of a site in its body."""
        return wxyz_pose(self.m.site_pos[index], self.m.site_quat[index])


@contextmanager
def _without_log(mujoco: Any) -> Iterator[list[str]]:  # noqa: ANN401, the module
    """Collect MuJoCo's warnings, which it would append to MUJOCO_LOG.TXT in the working folder."""
    logged: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(logged.append)
    try:
        yield logged
    finally:
        mujoco.set_mju_user_warning(before)


def wxyz_pose(xyz: ArrayLike, quaternion: ArrayLike) -> Array:
    """Return X (4, 4) of a position [m] and a quaternion (w, x, y, z)."""
    return pose(xyz, xyzw(quaternion))


def xyzw(quaternion: ArrayLike) -> Array:
    """Return a quaternion (w, x, y, z) as (x, y, z, w)."""
    return np.roll(np.asarray(quaternion, float), -1)


def _refusal(path: str, text: str) -> tuple[str, str]:
    """Return the place and problem of an error of MuJoCo."""
    line = re.search(r"line(?: number=)?\s*(\d+)", text, re.IGNORECASE)
    where = f"{path}:{line.group(1)}" if line else path
    reason = " ".join(text.split())
    return where, f"MuJoCo rejects the model: {reason}; fix the file"
