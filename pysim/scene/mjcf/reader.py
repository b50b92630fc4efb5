"""Reader of models in MuJoCo's modeling format (MJCF).

MuJoCo itself parses and compiles the file, so that defaults, includes, attached models, orientations and inertias of
geoms are those of MuJoCo. The compiled tree becomes bodies and joints with MuJoCo's coordinates, sites become frames,
equality constraints loops and couplings, tendons forces, actuators and sensors those of a scene, keyframes start
states, and geoms that collide with planes have contacts. Everything else is reported.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.inertia import move_theta, theta_from_com
from pysim.scene.import_omissions import Omissions
from pysim.scene.mjcf.actuators import ActuatorReader
from pysim.scene.mjcf.constraints import ConstraintReader
from pysim.scene.mjcf.contacts import ContactReader
from pysim.scene.mjcf.files import check_files
from pysim.scene.mjcf.gravity_compensation import compensating_forces
from pysim.scene.mjcf.joints import JointReader
from pysim.scene.mjcf.model import BALL, FREE, WORLD, MujocoModel, Names, wxyz_pose, xyzw
from pysim.scene.mjcf.sensors import SensorReader
from pysim.scene.mjcf.shapes import ShapeReader
from pysim.scene.mjcf.tendons import TendonReader
from pysim.scene.mjcf.unsupported import reject_deformable, report_unsupported
from pysim.scene.poses import rotation
from pysim.scene.spec import BodySpec, FileStep, FrameSpec, KeyframeSpec, ModelSpec
from pysim.scene.stop_defaults import with_stops
from pysim.scene.tree import check_connections
from pysim.scene.urdf.joints import plain_joint
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.spec import JointSpec

WORLD_SHAPES = "world_shapes"


def read_mjcf(
    path: str | PathLike[str],
    *,
    package_dirs: Iterable[str | PathLike[str]] = (),
    strict: bool = False,
) -> ModelSpec:
    """Return the mechanism of an MJCF file.

    Args:
        path: the file.
        package_dirs: folders outside the model's in which it may name files.
        strict: reject what would be left out.

    Raises:
        SceneError: MuJoCo is not installed or rejects the file, or the file names files that it may not.
        ModelError: the mechanism is invalid.
    """
    path = Path(path)
    check_files(path, package_dirs)
    try:
        import mujoco  # noqa: F401, PLC0415, an extra
    except ImportError:
        problem = (
            'needs the parser of MuJoCo; install it with `pip install "pysim-multibody[mjcf]"`'
        )
        raise SceneError(str(path), problem) from None
    model, omissions = MujocoModel(path), Omissions(strict=strict)
    reject_deformable(model)
    model.warn()
    shapes = ShapeReader(model, omissions)
    contact_reader = ContactReader(model, shapes, omissions)
    shapes.grounds = frozenset(contact_reader.grounds)
    bodies, joints = _tree(model, shapes, omissions)
    bodies, contacts = contact_reader.read(bodies)
    constraints = ConstraintReader(model, omissions)
    constraints.read()
    names, frames = Names(), _frames(model)
    actuators = ActuatorReader(model, omissions, names)
    actuators.read()
    named_sites = {site: frame.name for site, frame in frames.items()}
    sensors = SensorReader(model, omissions, names, named_sites).read()
    passive = (*TendonReader(model, omissions).read(), *compensating_forces(model))
    forces = [replace(force, name=names.unique(force.name)) for force in passive]
    report_unsupported(model, omissions)
    spec = ModelSpec(
        name=model.spec.modelname or path.stem,
        gravity=_gravity(model),
        bodies=tuple(bodies),
        joints=tuple(joints),
        frames=tuple(frames.values()),
        where=str(path),
        loops=tuple(constraints.loops),
        couplings=tuple(constraints.couplings),
        keyframes=tuple(_keyframes(model, actuators)),
        forces=(*forces, *actuators.forces),
        blocks=(*actuators.blocks, *sensors),
        contacts=contacts,
        self_collision=True,  # as the masks say
        steps=(FileStep(float(model.m.opt.timestep), path.name),),
    )
    check_connections(spec)
    return replace(spec, joints=with_stops(spec.joints, bodies), omitted=omissions.warn())


def _gravity(model: MujocoModel) -> Array:
    return model.m.opt.gravity.copy() if model.enables("GRAVITY") else np.zeros(3)


def _tree(
    model: MujocoModel, shapes: ShapeReader, omissions: Omissions
) -> tuple[list[BodySpec], list[JointSpec]]:
    """Return bodies and joints, a parent before its children."""
    joint_reader = JointReader(model, omissions)
    bodies: list[BodySpec] = []
    joints: list[JointSpec] = []
    static = shapes.read(0)
    if static:
        name, where = model.places.unique(WORLD_SHAPES), str(model.path)
        bodies.append(BodySpec(name, np.zeros(10), static, where))
        label = model.joint_names.unique(f"{name}_fixed")
        joints.append(plain_joint(label, "fixed", WORLD, name, np.eye(4), where))
    for i in range(1, model.m.nbody):
        between, chain = joint_reader.read(i)
        where = model.location("bodies", i)
        bodies += [*between, BodySpec(model.bodies[i], _theta(model, i), shapes.read(i), where)]
        joints += chain
    return bodies, joints


def _theta(model: MujocoModel, i: int) -> Array:
    """Return θ (10,) of a body about its frame's origin."""
    m = model.m
    principal = theta_from_com(float(m.body_mass[i]), np.zeros(3), np.diag(m.body_inertia[i]))
    return move_theta(principal, wxyz_pose(m.body_ipos[i], m.body_iquat[i]))


def _frames(model: MujocoModel) -> dict[int, FrameSpec]:
    """Return the named sites as frames; a site named like a body or another frame gets a number."""
    found = {}
    for k in range(model.m.nsite):
        name = model.name("SITE", k)
        if name.startswith("#"):
            continue
        body = model.bodies[model.m.site_bodyid[k]]
        where = model.location("sites", k)
        found[k] = FrameSpec(model.places.unique(name), body, model.site_pose(k), where)
    return found


def _keyframes(model: MujocoModel, actuators: ActuatorReader) -> list[KeyframeSpec]:
    m = model.m
    return [
        KeyframeSpec(
            model.name("KEY", k).replace("#", "key"),
            *state_by_joint(model, m.key_qpos[k], m.key_qvel[k]),
            commands=actuators.commands(m.key_ctrl[k]),
            activations=actuators.activations(m.key_act[k]),
            where=model.location("keys", k),
        )
        for k in range(m.nkey)
    ]


def state_by_joint(
    model: MujocoModel, qpos: Array, qvel: Array
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return q and v of every joint, by name, from MuJoCo's coordinates and velocities."""
    m = model.m
    q: dict[str, Array] = {}
    v: dict[str, Array] = {}
    for k, name in enumerate(model.joints):
        kind, at_q, at_v = int(m.jnt_type[k]), int(m.jnt_qposadr[k]), int(m.jnt_dofadr[k])
        if kind == FREE:
            quaternion = xyzw(qpos[at_q + 3 : at_q + 7])
            q[name] = np.concatenate([qpos[at_q : at_q + 3], quaternion])
            linear = rotation(quaternion).T @ qvel[at_v : at_v + 3]  # MuJoCo's is in the world
            v[name] = np.concatenate([linear, qvel[at_v + 3 : at_v + 6]])
        elif kind == BALL:
            q[name], v[name] = xyzw(qpos[at_q : at_q + 4]), qvel[at_v : at_v + 3].copy()
        else:
            q[name], v[name] = qpos[at_q : at_q + 1].copy(), qvel[at_v : at_v + 1].copy()
    return q, v
