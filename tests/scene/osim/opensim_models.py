"""Models of OpenSim with the numbers that OpenSim 4.6 computed of them, and states of these models in pysim.

Files of models and numbers in tests/data are pysim's. Those of the public repository opensim-models, whose authors'
licences differ, are read from the folder PYSIM_OSIM, if it is set: NAME.osim with NAME.json beside it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.spatial.rotations import quaternion_from_rotation
from tests.robots import REFERENCE

DATA = REFERENCE.parent / "osim"
PUBLIC = ("double_pendulum", "arm26", "gait2392_thelen2003muscle", "Rajagopal2016")
FOLDER = os.environ.get("PYSIM_OSIM")


def public(*names: str) -> Any:
    """Return the parameters of a test that runs on public models, skipped where they are missing."""
    reason = "PYSIM_OSIM names no folder with the models of opensim-models and their numbers"
    skip = pytest.mark.skipif(FOLDER is None, reason=reason)
    return [pytest.param(name, marks=skip) for name in names]


@dataclass(frozen=True)
class OsimModel:
    """Model of a file, in pysim and in OpenSim's numbers."""

    name: str

    @property
    def path(self) -> Path:
        """File of the model."""
        own = DATA / f"{self.name}.osim"
        return own if own.exists() else Path(FOLDER or "") / f"{self.name}.osim"

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """What OpenSim computed."""
        own = REFERENCE / "opensim" / f"{self.name}.json"
        file = own if own.exists() else Path(FOLDER or "") / f"{self.name}.json"
        return dict(json.loads(file.read_text("utf-8")))

    @cached_property
    def free(self) -> pysim.Model:
        """The model in pysim whose coupled coordinates are independent."""
        return pysim.load_model(self.path, mimic=False)

    @property
    def states(self) -> list[dict[str, Any]]:
        """States with OpenSim's numbers."""
        return [state for state in self.numbers["states"] if "M" in state]

    def state(self, state: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        """Return q, v, T with v = T u, and Ṫ u, of the speeds u in OpenSim's order."""
        model = self.free
        q, v = np.array(model.neutral()), np.zeros(model.nv)
        T, bias = np.zeros((model.nv, len(state["q"]))), np.zeros(model.nv)
        names = [c["name"] for c in self.numbers["coordinates"]]
        position = dict(zip(names, state["q"], strict=True))
        number = {name: k for k, name in enumerate(names)}
        u = np.array(state["u"], float)
        groups: dict[str, list[str]] = {}
        for c in self.numbers["coordinates"]:
            groups.setdefault(c["joint"], []).append(c["name"])
        for joint, coordinates in groups.items():
            if coordinates[0] in model.joint_names:
                for name in coordinates:
                    k = model.joint_names.index(name)
                    q[model.q_offsets[k]] = position[name]
                    T[model.v_offsets[k], number[name]] = 1.0
                continue
            k = model.joint_names.index(joint)
            at_q, at_v = model.q_offsets[k], model.v_offsets[k]
            numbers = [number[name] for name in coordinates]
            if model.joint_nv[k] == model.joint_nq[k]:  # a custom joint
                q[at_q : at_q + len(numbers)] = [position[name] for name in coordinates]
                T[range(at_v, at_v + len(numbers)), numbers] = 1.0
                continue
            R = xyz(*(position[name] for name in coordinates[:3]))
            quaternion, turning = quaternion_from_rotation(R), numbers[:3]
            w = R.T @ u[turning]
            if len(coordinates) == 6:
                q[at_q : at_q + 3] = [position[name] for name in coordinates[3:]]
                T[at_v : at_v + 3, numbers[3:]] = R.T
                bias[at_v : at_v + 3] = -np.cross(w, R.T @ u[numbers[3:]])
                at_q, at_v = at_q + 3, at_v + 3
            q[at_q : at_q + 4] = quaternion
            T[at_v : at_v + 3, turning] = R.T
        v = T @ u
        return q, v, T, bias


def xyz(a: float, b: float, c: float) -> Any:
    """Return Rx(a) Ry(b) Rz(c)."""

    def turn(angle: float, i: int, j: int) -> Any:
        R = np.eye(3)
        R[i, i] = R[j, j] = np.cos(angle)
        R[i, j], R[j, i] = -np.sin(angle), np.sin(angle)
        return R

    return turn(a, 1, 2) @ turn(b, 2, 0) @ turn(c, 0, 1)


@cache
def model_of(name: str) -> OsimModel:
    """Return a model, read once."""
    return OsimModel(name)


def relative(value: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest number."""
    expected = np.asarray(expected, float)
    return float(np.abs(np.asarray(value) - expected).max() / max(np.abs(expected).max(), 1e-9))
