"""Models that vary from public ones (variants.py): poses, mass matrices, bias forces, accelerations, paths and muscles.

The oracle is the wheel `opensim` at random states of the tree, locks and couplers released. Where several rotations of
a joint depend on one coordinate, OpenSim's velocity forces contradict its mass matrix (test_reader.py): there the bias
is compared at rest. `pytest --junitxml=FILE` writes the largest differences of every model.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.scene import read_model
from tests.scene.osim.opensim_models import FOLDER, PUBLIC, OsimModel, relative
from tests.scene.osim.test_forces import KINDS
from tests.scene.osim.variants import write_variant

opensim = pytest.importorskip("opensim", reason="the oracle opensim is not installed (extra osim)")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="PYSIM_OSIM names no folder with models")
SEEDS = range(7)
AT_REST = {"Rajagopal2016"}  # whose bias is compared at rest
LIMITS = {"pose": 1e-10, "M": 1e-10, "bias": 1e-10, "acceleration": 1e-10}
LIMITS |= {"length": 1e-10, "tension": 1e-8}


@dataclass(frozen=True)
class Variant(OsimModel):
    """A model in a file, in pysim."""

    file: Path = Path()
    described: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.file

    @cached_property
    def numbers(self) -> dict[str, Any]:
        return self.described


class Peer:
    """The model in OpenSim, without forces. Arrays are in the order of its coordinates."""

    def __init__(self, file: Path) -> None:
        opensim.Logger.removeFileSink()
        opensim.Logger.setLevelString("off")
        self.model = opensim.Model(str(file))
        self.state = self.model.initSystem()
        self.matter = self.model.getMatterSubsystem()
        self.solver = opensim.InverseDynamicsSolver(self.model)
        self.coordinates = all_of(self.model.getCoordinateSet())
        self.muscles = all_of(self.model.getMuscles())
        marked = self.state
        for k, coordinate in enumerate(self.coordinates):
            coordinate.setLocked(marked, False)
            coordinate.setValue(marked, 1000.0 + k, False)
            coordinate.setSpeedValue(marked, 1000.0 + k)
        count = range(len(self.coordinates))
        q, u = marked.getQ().to_numpy(), marked.getU().to_numpy()
        self.place = [int(np.flatnonzero(q == 1000.0 + k)[0]) for k in count]
        self.order = [int(np.flatnonzero(u == 1000.0 + k)[0]) for k in count]
        self.state = self.model.initializeState()
        for force in all_of(self.model.getForceSet()):
            force.setAppliesForce(self.state, False)
        for coordinate in self.coordinates:
            coordinate.setLocked(self.state, False)

    def described(self) -> dict[str, Any]:
        """Return what `OsimModel.state` reads."""
        owner: dict[str, str] = {}
        for joint in all_of(self.model.getJointSet()):
            owner |= {
                joint.get_coordinates(k).getName(): joint.getName()
                for k in range(joint.numCoordinates())
            }
        names = [c.getName() for c in self.coordinates]
        return {"coordinates": [{"name": name, "joint": owner[name]} for name in names]}

    def draw(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return values in the middle of the ranges and speeds."""
        ends = np.array([(c.getRangeMin(), c.getRangeMax()) for c in self.coordinates])
        start = np.array([c.getDefaultValue() for c in self.coordinates])
        wide = np.ptp(ends, axis=1) > 7
        ends[wide] = start[wide, None] + [-1, 1]
        q = ends[:, 0] + np.ptp(ends, axis=1) * rng.uniform(0.1, 0.9, len(ends))
        return q, rng.uniform(-1, 1, len(ends))

    def put(self, q: Any, u: Any) -> None:
        whole_q, whole_u = self.state.getQ().to_numpy(), self.state.getU().to_numpy()
        whole_q[self.place], whole_u[self.order] = q, u
        self.state.setQ(opensim.Vector.createFromMat(whole_q))
        self.state.setU(opensim.Vector.createFromMat(whole_u))
        self.model.realizeVelocity(self.state)

    def mass_matrix(self) -> Any:
        M = opensim.Matrix()
        self.matter.calcM(self.state, M)
        return M.to_numpy()[np.ix_(self.order, self.order)]

    def bias(self) -> Any:
        return self.solver.solve(self.state).to_numpy()[self.order]


def all_of(items: Any) -> list[Any]:
    return [items.get(k) for k in range(items.getSize())]


def pose_of(transform: Any) -> Any:
    X = np.eye(4)
    X[:3, :3] = [[transform.R().get(i, k) for k in range(3)] for i in range(3)]
    X[:3, 3] = [transform.p().get(k) for k in range(3)]
    return X


def tree_differences(peer: Peer, variant: Variant, rng: Any, *, at_rest: bool) -> dict[str, float]:
    """Return the largest relative differences of poses, M, bias and accelerations at a state."""
    q_theirs, u = peer.draw(rng)
    u = 0 * u if at_rest else u
    peer.put(q_theirs, u)
    model = variant.free
    q, v, T, rate = variant.state({"q": q_theirs, "u": u})
    M, bias = peer.mass_matrix(), peer.bias()
    poses = [
        np.abs(
            pysim.frame_placement(model, q, body.getName())
            - pose_of(body.getTransformInGround(peer.state))
        ).max()
        for body in all_of(peer.model.getBodySet())
    ]
    ours = T.T @ pysim.rnea(model, q, v, rate)
    result = {"pose": max(poses), "M": relative(T.T @ pysim.crba(model, q) @ T, M)}
    result["bias"] = relative(ours, bias)
    if np.linalg.cond(M) < 1e12:
        udot = np.linalg.solve(T, pysim.aba(model, q, v, 0 * v) - rate)
        result["acceleration"] = relative(udot, np.linalg.solve(M, -bias))
    return result


def path_differences(peer: Peer, file: Path, rng: Any) -> dict[str, float]:
    """Return the largest difference of lengths of paths without surfaces [m], and of tensions over maximal forces."""
    spec, model = read_model(file), pysim.load_model(file)
    forces = {f.name: f for f in spec.forces if f.type in KINDS}
    values, speeds = peer.draw(rng)
    for k, coordinate in enumerate(peer.coordinates):
        if coordinate.getName() not in model.joint_names:
            values[k] = 0.0  # of a ball
    peer.put(values, speeds)
    peer.model.assemble(peer.state)
    peer.model.realizeVelocity(peer.state)
    q = np.array(model.neutral())
    for coordinate in peer.coordinates:
        name = coordinate.getName()
        if name in model.joint_names and not coordinate.isDependent(peer.state):
            k = model.joint_names.index(name)
            q[model.q_offsets[k]] = coordinate.getValue(peer.state)
    lengths = pysim.moment_arms(model, q)
    result = {"length": 0.0, "tension": 0.0}
    for muscle in peer.muscles:
        name = muscle.getName()
        path = muscle.getGeometryPath().getLength(peer.state)
        if not any(part.is_obstacle for part in forces[name].path):
            off = abs(lengths.lengths[lengths.names.index(name)] - path)
            result["length"] = max(result["length"], off)
        muscle.setActivation(peer.state, 0.3)
        try:
            muscle.computeEquilibrium(peer.state)
            peer.model.realizeDynamics(peer.state)
        except RuntimeError:
            continue
        keys = {**forces[name].parameters, "excitation": 0.5}
        own = KINDS[forces[name].type](**keys)
        if forces[name].type == "rigid_tendon_muscle":
            tension = own.tension(path, muscle.getLengtheningSpeed(peer.state), 0.3)
        else:
            tension = own.tension(path, muscle.getFiberLength(peer.state))
        off = abs(tension - muscle.getTendonForce(peer.state)) / own.max_isometric_force
        result["tension"] = max(result["tension"], off)
    return result


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_variant_is_that_of_opensim(tmp_path, record_property, name, seed):
    file = tmp_path / f"{name}.osim"
    write_variant(Path(FOLDER or "") / file.name, zlib.crc32(name.encode()) + seed, file)
    peer, rng = Peer(file), np.random.default_rng(seed)
    variant = Variant(name, file, peer.described())
    found = dict.fromkeys(LIMITS, 0.0)
    for _ in range(2):
        state = tree_differences(peer, variant, rng, at_rest=name in AT_REST)
        found = {key: max(x, state.get(key, 0.0)) for key, x in found.items()}
    if peer.muscles:
        found |= path_differences(peer, file, rng)
    record_property("differences", {key: float(f"{x:.1e}") for key, x in found.items()})
    assert all(found[key] < limit for key, limit in LIMITS.items()), found
