"""From a specification to a frozen model: weld what is fixed, order the tree, hand it to the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import JointError, ModelError, did_you_mean
from pysim.inertia import (
    has_positive_energy,
    is_physical,
    move_theta,
    nearest_physical,
    unphysical_reason,
)
from pysim.loops.assembly import assemble
from pysim.loops.idle_rows import without_idle_rows
from pysim.model import Body, Model, State, Ties
from pysim.motion import motion_of
from pysim.scene.mimic import leading
from pysim.scene.tree import check_tree
from pysim.scene.written import urdf_inertial
from pysim.ties import describe_ties
from pysim.watch import watch_events

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.scene.possible import InertiaRule
    from pysim.scene.spec import BodySpec, JointSpec, ModelSpec, SceneSpec, Settings
    from pysim.shapes import Geometry


@dataclass(frozen=True)
class Scene:
    """A compiled scene: what to simulate, from where, how."""

    model: Model
    state: State
    settings: Settings
    spec: SceneSpec
    actuation: _engine.Actuation
    events: _engine.Events | None = None  # those of spec.events, in their order


@dataclass
class _Carrier:
    """A moving body, or the world (index -1), with everything welded to it."""

    index: int
    name: str
    theta: NDArray[np.float64] = field(default_factory=lambda: np.zeros(10))
    geometries: list[Geometry] = field(default_factory=list)


def compile_model(spec: ModelSpec) -> Model:
    """Freeze a mechanism.

    Bodies joined by fixed joints become one; every body stays addressable as a frame. Joints keep the file's
    order, depth first, a parent before its children.

    Raises:
        ModelError: the joints make no tree, or some joint moves no inertia.
    """
    check_tree(spec)
    builder = _Builder(spec)
    builder.add_children("world", builder.world, np.eye(4))
    builder.add_frames()
    for carrier in builder.carriers:
        _check_energy(carrier, spec, builder)
    model = builder.build()
    _check_inertia(model)
    return without_idle_rows(model)


def compile_scene(spec: SceneSpec) -> Scene:
    """Freeze a scene: its model, start state, prescribed forces and events. Loops are closed.

    Raises:
        ModelError: no such mechanism, or no start near the given one in which every loop is closed.
    """
    model = compile_model(spec.model)
    state = start_state(model)
    if model.rows:
        closed = assemble(model, state.q, state.v, hold=spec.hold)
        state = State(closed.q, closed.v, closed.loop_q)
    events = watch_events(model, spec.events)
    return Scene(model, state, spec.settings, spec, _actuation(model, spec), events)


def start_state(model: Model) -> State:
    """Return the state the joints' `start` keys name; its loops may be open."""
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        if at_q >= 0:
            q[at_q : at_q + len(joint.start_q)] = joint.start_q
            v[at_v : at_v + len(joint.start_v)] = joint.start_v
    return State(q, v)


class _Builder:
    """Walks the joints depth first and collects what the engine needs."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.world = _Carrier(-1, "world")
        self.carriers: list[_Carrier] = []
        self.joints: list[JointSpec] = []
        self.descriptions: list[dict[str, object]] = []
        self.frames: dict[str, tuple[int, NDArray[np.float64]]] = {}
        self._bodies = {body.name: body for body in spec.bodies}
        self._placed: dict[str, tuple[_Carrier, NDArray[np.float64]]] = {
            "world": (self.world, np.eye(4))
        }

    def children(self, body: str) -> Iterator[JointSpec]:
        return (joint for joint in self.spec.joints if joint.parent == body)

    def add_children(self, name: str, carrier: _Carrier, pose: NDArray[np.float64]) -> None:
        """Add every joint below the body `name`, which sits at `pose` in its carrier."""
        pending = [(joint, carrier, pose) for joint in reversed(list(self.children(name)))]
        while pending:
            joint, carrier, pose = pending.pop()
            at = pose @ joint.at
            if joint.type == "fixed":
                child, child_pose = carrier, at
            else:
                child = self._add_moving(joint, carrier, at)
                child_pose = np.eye(4)
            self._weld(self._bodies[joint.child], child, child_pose)
            pending += [(j, child, child_pose) for j in reversed(list(self.children(joint.child)))]

    def _add_moving(self, joint: JointSpec, parent: _Carrier, at: NDArray[np.float64]) -> _Carrier:
        carrier = _Carrier(len(self.carriers), joint.child)
        self.carriers.append(carrier)
        motion = motion_of(joint)
        self.joints.append(joint)
        passive = np.column_stack(
            [
                joint.damping,
                joint.stiffness,
                joint.friction,
                joint.friction_width,
                joint.lower,
                joint.upper,
                joint.stop_stiffness,
                joint.stop_damping,
            ]
        )
        self.descriptions.append(
            {
                "name": joint.name,
                **motion.description,
                "parent": parent.index,
                "placement": (at @ motion.at).ravel().tolist(),
                "follows": -1,
                "ratio": 1.0,
                "offset": 0.0,
                "rest": list(joint.rest),
                "armature": list(joint.armature),
                "passive": passive.tolist(),
            }
        )
        return carrier

    def carries(self, carrier: _Carrier, body: BodySpec) -> bool:
        return self._placed[body.name][0] is carrier

    def _weld(self, body: BodySpec, carrier: _Carrier, pose: NDArray[np.float64]) -> None:
        carrier.theta = carrier.theta + move_theta(body.theta, pose)
        carrier.geometries += [g.moved(pose) for g in body.geometries]
        self.frames[body.name] = (carrier.index, pose)
        self._placed[body.name] = (carrier, pose)

    def add_frames(self) -> None:
        for frame in self.spec.frames:
            carrier, pose = self._placed[frame.body]
            self.frames[frame.name] = (carrier.index, pose @ frame.pose)

    def build(self) -> Model:
        for joint, description in zip(self.joints, self.descriptions, strict=True):
            if joint.mimic is not None:
                leader, ratio, offset = self._leader(joint)
                description |= {"follows": leader, "ratio": ratio, "offset": offset}
        return Model(
            self.descriptions,
            self.spec.gravity,
            spec=self.spec,
            joints=tuple(self.joints),
            bodies=tuple(Body(c.name, c.theta, tuple(c.geometries)) for c in self.carriers),
            world_geometries=tuple(self.world.geometries),
            frames=self.frames,
            ties=self._ties(),
        )

    def _ties(self) -> Ties:
        """Loops, couplings and springs; joints that Python computes cannot be projected onto them."""
        spec = self.spec
        for joint, description in zip(self.joints, self.descriptions, strict=True):
            if "callback" in description and (spec.loops or spec.couplings):
                problem = (
                    f"joint {joint.name!r} is computed by Python, which loops and couplings cannot wait for; "
                    "write it so that it can be traced"
                )
                raise ModelError(joint.where, problem)
        return describe_ties(spec, self._placed, self.joints)

    def _leader(self, joint: JointSpec) -> tuple[int, float, float]:
        """Index of the joint at the head of a chain of followers, and the ratio and offset to it."""
        index = {other.name: k for k, other in enumerate(self.joints)}
        try:
            mimic = leading(joint, {other.name: other for other in self.joints})
        except JointError as error:
            raise ModelError(joint.where, error.problem) from error
        assert mimic is not None
        if mimic.joint not in index:
            problem = f"joint {joint.name!r} follows {mimic.joint!r}, which is no moving joint"
            raise ModelError(joint.where, problem + did_you_mean(mimic.joint, index))
        return index[mimic.joint], mimic.ratio, mimic.offset


def _check_energy(carrier: _Carrier, spec: ModelSpec, builder: _Builder) -> None:
    """Refuse a moving body that some twist gives a negative kinetic energy, by the link that brings it about."""
    if has_positive_energy(carrier.theta):
        return
    welded = [body for body in spec.bodies if builder.carries(carrier, body)]
    body = next((body for body in welded if not is_physical(body.theta)), welded[0])
    others = f" (with what is welded to it, as {carrier.name!r})" if len(welded) > 1 else ""
    reason = unphysical_reason(body.theta) or unphysical_reason(carrier.theta)
    problem = f"body {body.name!r}{others} can have a negative kinetic energy: {reason}"
    if body.theta[0] > 0:
        near = urdf_inertial(nearest_physical(body.theta))
        problem += f'; the nearest is {near}; paste it, or load with inertia = "nearest"'
    raise ModelError(body.where, problem)


def _check_inertia(model: Model) -> None:
    """Refuse a tree that some velocity moves without inertia: M would be singular."""
    if model.nv == 0:
        return
    M = np.asarray(_engine.crba(model, model.random_configuration(np.random.default_rng(0))))
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    idle = int(np.argmin(size))
    if size[idle] > 1e-7 * size.max():  # else that coordinate alone moves nothing
        values, vectors = np.linalg.eigh(M / np.outer(size, size))
        if values[0] > 1e-15:
            return
        idle = int(np.argmax(np.abs(vectors[:, 0])))
    at = max(k for k, first in enumerate(model.v_offsets) if 0 <= first <= idle)
    joint = model.joints[at]
    problem = (
        f"joint {joint.name!r} moves no inertia, the bodies it carries are massless along it and "
        f"the mass matrix is singular; give body {joint.child!r} a mass, the joint an armature, "
        "or make the joint fixed"
    )
    raise ModelError(joint.where, problem)


def _actuation(model: Model, spec: SceneSpec) -> _engine.Actuation:
    arrays = np.zeros((4, model.nv))
    index = {joint.name: k for k, joint in enumerate(model.joints)}
    for actuator in spec.actuators:
        k = index[actuator.joint]
        if model.v_offsets[k] < 0:
            problem = f"joint {actuator.joint!r} follows another; drive the joint that leads"
            raise ModelError(actuator.where, problem)
        at = model.v_offsets[k] + actuator.coordinate
        if arrays[:2, at].any():
            problem = f"joint {actuator.joint!r} has two actuators on one coordinate; keep one"
            raise ModelError(actuator.where, problem)
        arrays[:, at] = actuator.offset, actuator.amplitude, actuator.frequency, actuator.phase
    return _engine.Actuation(*arrays)


def load_model(
    path: str | PathLike[str],
    *,
    free_base: bool = False,
    mimic: bool = True,
    package_dirs: Iterable[str | PathLike[str]] = (),
    inertia: InertiaRule = "check",
) -> Model:
    """Read a mechanism from a `.urdf` or `.toml` file and freeze it.

    Args:
        path: the file, or `package://NAME/path`.
        free_base: give a URDF's root link a free joint named "root_joint" to the world.
        mimic: let mimic joints follow; otherwise each is a coordinate of its own.
        package_dirs: where `package://` is looked up first.
        inertia: "check" tells of a robot's link whose inertia no body has, and refuses a scene's; "strict" refuses
            both; "nearest" takes the closest body and logs it.

    Raises:
        SceneError: the file cannot be read; the text says where, what and what to do.
        ModelError: what it says makes no mechanism.
    """
    from pysim.scene import read_model  # noqa: PLC0415, pydantic and lxml load when first used

    return compile_model(
        read_model(
            path, free_base=free_base, mimic=mimic, package_dirs=package_dirs, inertia=inertia
        )
    )
