"""From a specification to a frozen model: weld what is fixed, order the tree, hand it to the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.builder import Builder
from pysim.errors import ModelError
from pysim.inertia import (
    has_positive_energy,
    is_physical,
    rotational_inertia,
    unphysical_reason,
)
from pysim.loops.assembly import assemble
from pysim.loops.idle_rows import without_idle_rows
from pysim.model import Model, State
from pysim.scene.stops import carried
from pysim.scene.tree import check_tree
from pysim.scene.written import nearest_written, urdf_inertial
from pysim.watch import watch_events

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.motion import Known
    from pysim.scene.possible import InertiaRule
    from pysim.scene.spec import ModelSpec, SceneSpec, Settings


@dataclass(frozen=True)
class Scene:
    """A compiled scene: what to simulate, from where, how."""

    model: Model
    state: State
    settings: Settings
    spec: SceneSpec
    actuation: _engine.Actuation
    events: _engine.Events | None = None  # those of spec.events, in their order

    def __repr__(self) -> str:
        run = self.settings
        how = f"{run.integrator} at {run.step:g} s for {run.duration:g} s"
        return f"<pysim.Scene {self.spec.name!r}: {self.model.nbodies} bodies, {how}>"

    def __reduce__(self) -> tuple[object, ...]:
        """What the engine keeps is pickled and copied as the arrays and words that it was made of."""
        drive = self.actuation
        arrays = (drive.offset, drive.amplitude, drive.frequency, drive.phase)
        return _restored, (self.model, self.state, self.settings, self.spec, arrays)


def compile_model(spec: ModelSpec, known: Known | None = None) -> Model:
    """Freeze a mechanism; what is `known` of its plugins is not found out again.

    Bodies joined by fixed joints become one; every body stays addressable as a frame. Joints keep the file's
    order, depth first, a parent before its children.

    Raises:
        ModelError: the joints make no tree, or some joint moves no inertia.
    """
    check_tree(spec)
    builder = Builder(spec, known)
    builder.add_children("world", builder.world, np.eye(4))
    builder.add_frames()
    _check_energy(spec, builder)
    model = builder.build()
    _check_inertia(model)
    return without_idle_rows(model)


def compile_scene(spec: SceneSpec, known: Known | None = None) -> Scene:
    """Freeze a scene: its model, start state, prescribed forces and events. Loops are closed.

    What is `known` of its plugins is not found out again.

    Raises:
        ModelError: no such mechanism, or no start near the given one in which every loop is closed.
    """
    model = compile_model(spec.model, known)
    state = start_state(model)
    if model.loop_names or model.coupling_names:
        closed = assemble(model, state.q, state.v, hold=spec.hold)
        state = State(closed.q, closed.v, closed.loop_q)
    events = watch_events(model, spec.events)
    return Scene(model, state, spec.settings, spec, _actuation(model, spec), events)


def _restored(
    model: Model,
    state: State,
    settings: Settings,
    spec: SceneSpec,
    actuation: tuple[NDArray[np.float64], ...],
) -> Scene:
    events = watch_events(model, spec.events)
    return Scene(model, state, settings, spec, _engine.Actuation(*actuation), events)


def start_state(model: Model) -> State:
    """Return the state the joints' `start` keys name; its loops may be open."""
    q, v = model.neutral(), np.zeros(model.nv)
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        if at_q >= 0:
            q[at_q : at_q + len(joint.start_q)] = joint.start_q
            v[at_v : at_v + len(joint.start_v)] = joint.start_v
    return State(q, v)


def _check_energy(spec: ModelSpec, builder: Builder) -> None:
    """Refuse a moving body that some twist gives a negative kinetic energy, by the link that brings it about."""
    theta = np.array([carrier.theta for carrier in builder.carriers]).reshape(-1, 10)
    at_fault = np.flatnonzero(~has_positive_energy(theta))
    if not len(at_fault):
        return
    carrier = builder.carriers[at_fault[0]]
    welded = [body for body in spec.bodies if builder.carries(carrier, body)]
    body = next((body for body in welded if not is_physical(body.theta)), welded[0])
    others = f" (with what is welded to it, as {carrier.name!r})" if len(welded) > 1 else ""
    reason = unphysical_reason(body.theta) or unphysical_reason(carrier.theta)
    problem = f"body {body.name!r}{others} can have a negative kinetic energy: {reason}"
    if body.theta[0] > 0:
        near = urdf_inertial(nearest_written(body.theta))
        problem += f'; the nearest is {near}; paste it, or load with inertia = "nearest"'
    raise ModelError(body.where, problem)


def _check_inertia(model: Model) -> None:
    """Refuse a tree that some velocity moves without inertia: M would be singular."""
    if model.nv == 0:
        return
    M = np.asarray(_engine.crba(model, model.random_configuration(np.random.default_rng(0))))
    size = np.sqrt(np.maximum(np.diag(M), 0.0))
    most = np.sqrt(np.maximum(_at_most(model), 0.0))
    share = np.divide(size, most, out=np.sign(size), where=most > 0)
    idle = int(np.argmin(share))
    if share[idle] > 1e-7:  # else that coordinate alone moves nothing
        scaled = M / np.outer(size, size)
        if _is_definite(scaled - 1e-12 * np.eye(model.nv)):
            return
        values, vectors = np.linalg.eigh(scaled)
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


def _is_definite(M: NDArray[np.float64]) -> bool:
    """Whether a symmetric matrix is positive definite, in a small part of the time that its eigenvalues take."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True


def _at_most(model: Model) -> NDArray[np.float64]:
    """What each velocity (nv,) could move, were nothing on its axis [kg or kg·m²]; 0 for one that is led."""
    theta = carried(model.spec.joints, model.spec.bodies)
    sizes = np.zeros(model.nv)
    for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
        own = theta[joint.child]
        turned = np.trace(rotational_inertia(own)) / 2
        for i in range(at, at + nv) if at >= 0 else ():
            sizes[i] = own[0] if model.velocity_units[i] == "m/s" else turned
    return sizes


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
    free_base: bool = False,
    mimic: bool = True,
    package_dirs: Iterable[str | PathLike[str]] = (),
    *,
    inertia: InertiaRule = "check",
    allow_code: bool = False,
) -> Model:
    """Read a mechanism from a `.urdf` or `.toml` file and freeze it.

    Args:
        path: the file, or `package://NAME/path`.
        free_base: give a URDF's root link a free joint named "root_joint" to the world.
        mimic: let mimic joints follow; otherwise each is a coordinate of its own.
        package_dirs: where `package://` is looked up first.
        inertia: "check" tells of a robot's link whose inertia no body has, and refuses a scene's; "strict" refuses
            both; "nearest" takes the closest body and logs it.
        allow_code: whether a scene may name programs to run, as files of joint plugins are.

    Raises:
        SceneError: the file cannot be read; the text says where, what and what to do.
        ModelError: what it says makes no mechanism.
    """
    from pysim.scene import read_model  # noqa: PLC0415, pydantic and lxml load when first used

    return compile_model(
        read_model(
            path,
            free_base=free_base,
            mimic=mimic,
            package_dirs=package_dirs,
            inertia=inertia,
            allow_code=allow_code,
        )
    )
