"""Comparison of the actuators and sensors of an imported model with MuJoCo's, at random states and commands."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np

from pysim.scene.actuator_commands import followed
from pysim.scene.attachment import parts_of
from pysim.scene.mjcf.model import MujocoModel
from pysim.scene.toml.reader import read_built
from pysim.worlds.accelerations import forces_of_actuators
from pysim.worlds.loading import Scene, compile_scene
from pysim.worlds.signal_runs import signals_of_states
from tests.corpus.mujoco_agreement import Pair, relative

SUMMED = {  # outputs of pysim's sensors that are MuJoCo's, by the kind of MuJoCo's
    "JOINTPOS": "q",
    "FRAMEPOS": "position",
    "FRAMEQUAT": "orientation",
    "FRAMELINVEL": "velocity",
    "FRAMEANGVEL": "rate",
    "VELOCIMETER": "velocity",
    "GYRO": "rate",
    "ACCELEROMETER": "acceleration",
    "TENDONPOS": "length",
    "TENDONVEL": "rate",
    "ACTUATORPOS": "length",
    "ACTUATORVEL": "rate",
}


@dataclass
class Actuated:
    """A scene with a model, and the model in MuJoCo, without limits, contacts and the actuators that are left out."""

    path: Path
    rng: np.random.Generator
    reference: MujocoModel = field(init=False)
    scene: Scene = field(init=False)
    pair: Pair = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.path.resolve()
        self.reference = MujocoModel(self.path)
        m = self.reference.m
        self.controls = self.rng.uniform(-2, 2, m.nu)
        self.scene = self._scene({})
        names = self.read_actuators()
        commands = {name: float(self.controls[m.actuator_ctrladr[k]]) for k, name in names.items()}
        self.scene = self._scene(commands)
        self.pair = Pair(self.scene.model, self.reference)
        bits = mujoco.mjtDisableBit
        m.opt.disableflags &= ~int(bits.mjDSBL_ACTUATION)
        self.left = [k for k in range(m.nactuator) if k not in names]
        for k in self.left:
            m.actuator_gainprm[k] = m.actuator_biasprm[k] = 0.0
        m.actuator_actearly[:] = False

    def _scene(self, commands: dict[str, float]) -> Scene:
        """Return the scene with constant commands."""
        lines = [f"{json.dumps(name)} = {value!r}" for name, value in commands.items()]
        text = f'inertia = "nearest"\n[[model]]\nfile = {json.dumps(self.path.name)}\n'
        text += 'collision = "none"\nlimits = false\nfriction = false\n[model.command]\n'
        text += "\n".join(lines)
        return compile_scene(read_built(text, self.path.parent))

    @property
    def is_smooth(self) -> bool:
        """Whether pysim's model has all actuators, and no constraints, which are switched off in MuJoCo."""
        stops = any(force.type.endswith("_stop") for force in self.scene.spec.model.forces)
        return not (self.left or self.scene.model.rows or stops)

    def read_actuators(self) -> dict[int, str]:
        """Return the names of the actuators that pysim reads, by their number in MuJoCo."""
        spec = self.scene.spec
        parts = parts_of(spec.model)._replace(blocks=spec.blocks)
        by_place: dict[str, list[str]] = {}
        places = {block.name: block.where for block in spec.blocks}
        places |= {force.name: force.where for force in spec.model.forces}
        for name in followed(parts):
            by_place.setdefault(places[name], []).append(name)
        m, found = self.reference.m, {}
        for k in range(m.nactuator):
            own = by_place.get(self.reference.location("actuators", k), [])
            label = self.reference.name("ACTUATOR", k)
            if label in own or own:
                found[k] = label if label in own else own.pop(0)
        return found


def agreement(path: Path, states: int = 10) -> dict[str, float]:
    """Return the largest relative differences of actuator forces and sensors over random states."""
    rng = np.random.default_rng(20260726)
    actuated = Actuated(Path(path), rng)
    m, data, scene = actuated.pair.m, actuated.pair.data, actuated.scene
    errors = {"actuators": 0.0, "sensors": 0.0}
    if scene.signals is None:
        return errors
    numbers = np.array(scene.signals.start)
    names = scene.signals.state_names
    by_name = actuated.read_actuators()
    for _ in range(states):
        data.ctrl[:] = actuated.controls
        data.act[:] = rng.uniform(-1, 1, m.na)
        for k, name in by_name.items():
            if m.actuator_actadr[k] >= 0:
                numbers[names.index(f"{name}.activation")] = data.act[m.actuator_actadr[k]]
        q, v = actuated.pair.random_state(rng)
        T, _ = actuated.pair.velocity_map(q, v)
        tau = forces_of_actuators(scene, np.zeros(1), q[None], v[None], numbers[None])[0]
        expected = data.qfrc_actuator - data.qfrc_gravcomp * _gravcomp(m)
        errors["actuators"] = max(errors["actuators"], relative(T.T @ tau, expected))
        readings = signals_of_states(scene, np.zeros(1), q[None], v[None], numbers[None])[0]
        errors["sensors"] = max(errors["sensors"], _sensor_error(actuated, readings))
    return errors


def _gravcomp(m: mujoco.MjModel) -> np.ndarray:
    """Return 1 where MuJoCo counts the compensation of weight among the actuators' forces."""
    return np.array([bool(m.jnt_actgravcomp[j]) for j in m.dof_jntid], float)


def _sensor_error(actuated: Actuated, readings: np.ndarray) -> float:
    """Return the largest relative difference of the sensors that both have."""
    m, data, signals = actuated.pair.m, actuated.pair.data, actuated.scene.signals
    assert signals is not None
    columns = {signal.name: signal for signal in signals.recorded}
    worst = 0.0
    for k in range(m.nsensor):
        kind = mujoco.mjtSensor(int(m.sensor_type[k])).name.partition("_")[2]
        name = actuated.reference.name("SENSOR", k)
        full = f"{name}.{SUMMED[kind]}" if kind in SUMMED else name
        if full not in columns or (kind == "ACCELEROMETER" and not actuated.is_smooth):
            continue
        column = columns[full]
        found = readings[column.first : column.first + column.size]
        at = int(m.sensor_adr[k])
        expected = data.sensordata[at : at + int(m.sensor_dim[k])]
        if kind == "FRAMEQUAT":
            expected = np.roll(expected, -1) * (1.0 if expected[0] >= 0 else -1.0)
        worst = max(worst, relative(found, expected))
    return worst
