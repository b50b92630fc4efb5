"""`Model`, the immutable mechanism that is the first argument of every algorithm.

The file is long because the class is public: all that users read of a mechanism, with units and shapes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np

from pysim import _engine
from pysim._engine import Shape
from pysim.errors import JointError, ModelError
from pysim.habits import AttributesByHabit
from pysim.inertia import theta_to_packed
from pysim.joints import find_joint
from pysim.joints.callback import CallbackJoint
from pysim.mechanism.joint_description import moves_in_pieces, runs_as
from pysim.plugins.fields import build
from pysim.plugins.files import check_run_here, plugin_files
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from pysim._engine import (
        CouplingDescription,
        ElementDescription,
        JointDescription,
        LoopDescription,
        SignalsDescription,
    )
    from pysim.joints import JointType
    from pysim.scene.spec import JointSpec, ModelSpec
    from pysim.shapes import Geometry


@dataclass(frozen=True)
class Body:
    """Moving body: its parameters θ (10,) about its frame's origin, and its geometries."""

    name: str
    theta: Array
    geometries: tuple[Geometry, ...] = ()


@dataclass(frozen=True)
class Connections:
    """Loops, couplings and forces between bodies, beside the joints of the tree."""

    loops: Sequence[LoopDescription] = ()
    couplings: Sequence[CouplingDescription] = ()
    elements: Sequence[ElementDescription] = ()  # forces of plugins
    # names of those that are not forces of their stored energy alone
    nonconservative: Sequence[str] = ()
    unstored: Sequence[str] = ()  # names of those that act at rest without a stored energy
    signals: SignalsDescription | None = None  # of a scene: they act in its runs alone


@dataclass(frozen=True)
class State:
    """Configuration q (nq,) and velocity v (nv,), and the coordinates of joints that close loops (loop_nq,)."""

    q: Array
    v: Array
    loop_q: Array = field(default_factory=lambda: np.zeros(0))


class Model(AttributesByHabit, _engine.Model):
    """Immutable mechanism. Body k moves with joint k; a parent comes before its children.

    Models are made by `pysim.load_model` and `pysim.simulation.compile_model`; the `with_` methods return changed
    copies.
    """

    def __init__(
        self,
        descriptions: Sequence[JointDescription],
        gravity: ArrayLike,
        *,
        spec: ModelSpec,
        joints: tuple[JointSpec, ...],
        bodies: tuple[Body, ...],
        world_geometries: tuple[Geometry, ...],
        frames: Mapping[str, tuple[int, Array]],
        connections: Connections | None = None,
        callbacks: Mapping[str, CallbackJoint] | None = None,
        like: Model | None = None,  # a model with these frames and types of joints
    ) -> None:
        self._descriptions = tuple(descriptions)
        self.connections = connections = connections or Connections()
        inertias = theta_to_packed(np.array([body.theta for body in bodies]).reshape(-1, 10))
        super().__init__(
            self._descriptions,
            inertias,
            gravity,
            connections.loops,
            connections.couplings,
            elements=connections.elements,
            signals=connections.signals,
        )
        known = frozenset() if like is None else like._part_ids  # noqa: SLF001
        _make_read_only(_parts(spec, joints, bodies), known)
        self.spec = spec
        self.joints = joints
        self.bodies = bodies
        self.world_geometries = world_geometries
        self.frames = dict(frames)
        self.callback_time = [0.0]  # [s] spent in callback joints so far
        if like is None:
            for _, pose in frames.values():
                pose.flags.writeable = False
            self._types = tuple(find_joint(joint.type) for joint in joints)
            self._plugins = dict(callbacks or {})
            self._callbacks = self._called(descriptions)
        else:
            self._types, self._plugins = like._types, like._plugins  # noqa: SLF001
            self._callbacks = like._callbacks  # noqa: SLF001
        self._frozen = True

    def _called(
        self, descriptions: Sequence[JointDescription]
    ) -> tuple[tuple[CallbackJoint, str, int, int], ...]:
        """Return the joints that Python computes, with their names and places in q and v."""
        return tuple(
            (self._plugins[d.name], d.name, at_q, at_v)
            for d, at_q, at_v in zip(descriptions, self.q_offsets, self.v_offsets, strict=True)
            if d.motion.shape is Shape.callback
        )

    @property
    def name(self) -> str:
        """Name of the model in its file."""
        return self.spec.name

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the moving joints, in the order of bodies."""
        return tuple(joint.name for joint in self.joints)

    @property
    def callback_joints(self) -> tuple[str, ...]:
        """Names of the joints that Python computes."""
        return tuple(name for _, name, _, _ in self._callbacks)

    @cached_property
    def joint_motions(self) -> tuple[str, ...]:
        """Names of the built-in shapes or lengths of the programs by which the engine runs the joints."""
        return tuple(runs_as(description.motion) for description in self._descriptions)

    @cached_property
    def joints_in_pieces(self) -> tuple[bool, ...]:
        """Whether the motion of each joint is piecewise."""
        return tuple(moves_in_pieces(description.motion) for description in self._descriptions)

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the moving bodies; bodies that are welded to them are frames."""
        return tuple(body.name for body in self.bodies)

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of every body of the file, including welded ones, and of every frame."""
        return tuple(self.frames)

    @cached_property
    def joint_nq(self) -> tuple[int, ...]:
        """Length of each joint's coordinates in q; 0 if it follows another joint."""
        return tuple(
            t.nq if at >= 0 else 0 for t, at in zip(self._types, self.q_offsets, strict=True)
        )

    @cached_property
    def joint_nv(self) -> tuple[int, ...]:
        """Length of each joint's velocities in v; 0 if it follows another joint."""
        return tuple(
            t.nv if at >= 0 else 0 for t, at in zip(self._types, self.v_offsets, strict=True)
        )

    @cached_property
    def loop_names(self) -> tuple[str, ...]:
        """Names of the loops, in the order of their rows."""
        return tuple(loop.name for loop in self.spec.loops)

    @cached_property
    def coupling_names(self) -> tuple[str, ...]:
        """Names of the couplings. Each has one row, after those of the loops."""
        return tuple(coupling.name for coupling in self.spec.couplings)

    @cached_property
    def force_names(self) -> tuple[str, ...]:
        """Names of the forces between bodies, along paths and on coordinates."""
        return tuple(force.name for force in self.spec.forces)

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """Name of the loop or coupling of every row of the constraints (rows)."""
        of_loops = (
            (name,) * rows for name, rows in zip(self.loop_names, self.loop_rows, strict=True)
        )
        return (*chain.from_iterable(of_loops), *self.coupling_names)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Name of every number of q (nq)."""
        return self._names("q_names", self.joint_nq)

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Name of every number of v (nv)."""
        return self._names("v_names", self.joint_nv)

    @cached_property
    def tree_velocity_names(self) -> tuple[str, ...]:
        """Name of every velocity of the tree, those of joints that follow others among them."""
        return self._names("v_names", tuple(kind.nv for kind in self._types))

    @cached_property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of every number of q (nq)."""
        return self._units("q_units", self.joint_nq)

    @cached_property
    def velocity_units(self) -> tuple[str, ...]:
        """Unit of every number of v (nv)."""
        return self._units("v_units", self.joint_nv)

    @property
    def total_mass(self) -> float:
        """Mass of all moving bodies [kg]."""
        return float(sum(body.theta[0] for body in self.bodies))

    @property
    def gravity(self) -> Array:
        """Gravity in the world (3,) [m/s²]; read-only; `with_gravity` returns a copy with another."""
        gravity = super().gravity
        gravity.flags.writeable = False
        return gravity

    @property
    def parameters(self) -> Array:
        """θ of every moving body (nbodies, 10), about the body frames' origins [kg, kg·m, kg·m²]."""
        return np.array([body.theta for body in self.bodies]).reshape(-1, 10)

    @property
    def placements(self) -> Array:
        """Joint frames in their parent bodies (nbodies, 4, 4) [m], in which design derivatives express η and ε.

        For a plugin that runs as a built-in shape this is the shape's frame.
        """
        return np.array([d.placement for d in self._descriptions]).reshape(-1, 4, 4)

    @property
    def armature(self) -> Array:
        """Rotor inertia on every velocity coordinate (nv,) [kg or kg·m²]."""
        return self._by_velocity(lambda joint: joint.armature)

    @property
    def limits(self) -> Array:
        """Lower and upper limits (2, nv) of the coordinates, in the order of v; ∓inf without one [m or rad].

        >>> lower, upper = model.limits
        >>> lower.tolist()
        [-inf, -inf]
        """
        bounds = (lambda joint: joint.lower), (lambda joint: joint.upper)
        return np.array([self._by_velocity(bound) for bound in bounds])

    @property
    def velocity_limits(self) -> Array:
        """Speeds (nv,) at which actuators drive a joint no further; inf without one [m/s or rad/s]."""
        return self._by_velocity(lambda joint: _limit(joint, joint.velocity_limit))

    @property
    def effort_limits(self) -> Array:
        """Bounds (nv,) of the sum of actuator forces on a joint; inf without one [N or N·m]."""
        return self._by_velocity(lambda joint: _limit(joint, joint.effort_limit))

    def _by_velocity(self, value: Callable[[JointSpec], ArrayLike]) -> Array:
        """Return a number of the joints for every entry of v (nv,)."""
        found = np.zeros(self.nv)
        for joint, at, nv in zip(self.joints, self.v_offsets, self.joint_nv, strict=True):
            if at >= 0:
                found[at : at + nv] = value(joint)
        return found

    def _names(self, kind: str, counts: tuple[int, ...]) -> tuple[str, ...]:
        names: list[str] = []
        for joint, joint_type, n in zip(self.joints, self._types, counts, strict=True):
            own = getattr(joint_type, kind)
            names += [joint.name] if n == 1 else [f"{joint.name}.{x}" for x in own[:n]]
        return tuple(names)

    def _units(self, kind: str, counts: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(
            unit
            for joint_type, n in zip(self._types, counts, strict=True)
            for unit in getattr(joint_type, kind)[:n]
        )

    def random_configuration(self, rng: np.random.Generator | int) -> Array:
        """Draw a configuration (nq,) with a random generator, or with a generator of this seed.

        Rotations are uniform on SO(3). A coordinate is uniform between its limits, or on ±π rad or ±1 m without limits;
        with a single limit outside that range, it lies up to 2π rad or 2 m within the limit.
        """
        rng = np.random.default_rng(rng)
        q = self.neutral()
        for joint, joint_type, at in zip(self.joints, self._types, self.q_offsets, strict=True):
            if at >= 0:
                q[at : at + joint_type.nq] = _random_coordinates(joint, joint_type, rng)
        return q

    def quaternions(self) -> Iterator[tuple[str, int]]:
        """Yield the joints with quaternions, and the place of each in q."""
        for joint, joint_type, at in zip(self.joints, self._types, self.q_offsets, strict=True):
            for own in joint_type.quaternions if at >= 0 else ():
                yield joint.name, at + own

    def callback_rows(self, q: Array, v: Array | None) -> Array:
        """Return the numbers of the callback joints for n states (n, callback_numbers); called by the engine.

        Raises:
            JointError: the author's code raises or returns a wrong shape; the error names the line and the joint.
        """
        start = perf_counter()
        rows = []
        for joint, name, at_q, at_v in self._callbacks:
            own_q = np.asarray(q, float)[:, at_q : at_q + joint.coordinates.nq]
            own_v = (
                None if v is None else np.asarray(v, float)[:, at_v : at_v + joint.coordinates.nv]
            )
            try:
                rows.append(joint.numbers(own_q, own_v))
            except JointError as error:
                problem = f"{error.problem} (joint {name!r})"
                raise JointError(error.where, problem) from error
        self.callback_time[0] += perf_counter() - start
        return np.concatenate(rows, axis=1)

    def integrate(
        self, q: ArrayLike, dv: ArrayLike, threads: int = 1, *, out: Array | None = None
    ) -> Array:
        """Return q ⊕ dv (…, nq): q moved along the tangent vector dv (…, nv) of the child frames.

        Real coordinates are added; a ball joint becomes R exp(dv×), a free joint X exp([dv]).

        Raises:
            ValueError: an argument has a wrong shape or dtype, a NaN, or a quaternion that is not unit.

        >>> model.integrate([0.1, 0.2], [1.0, 0.0]).tolist()
        [1.1, 0.2]
        """
        return _engine.integrate(self, q, dv, threads=threads, out=out)

    def difference(
        self, q0: ArrayLike, q1: ArrayLike, threads: int = 1, *, out: Array | None = None
    ) -> Array:
        """Return the shortest dv (…, nv) with q0 ⊕ dv = q1, the inverse of `integrate`."""
        return _engine.difference(self, q0, q1, threads=threads, out=out)

    def with_parameters(self, theta: ArrayLike) -> Model:
        """Return a copy whose bodies have the parameters θ (nbodies, 10) [kg, kg·m, kg·m²]."""
        values = _finite(theta, "theta", (self.nbodies, 10))
        bodies = tuple(
            Body(body.name, row.copy(), body.geometries)
            for body, row in zip(self.bodies, values, strict=True)
        )
        return self.replaced(bodies=bodies)

    def with_gravity(self, g: ArrayLike) -> Model:
        """Return a copy in another uniform gravity g (3,) [m/s²].

        >>> model.with_gravity([0, 0, -1.62]).gravity.tolist()
        [0.0, 0.0, -1.62]
        """
        return self.replaced(gravity=_finite(g, "gravity", (3,)))

    def with_armature(self, a: ArrayLike) -> Model:
        """Return a copy with the rotor inertias a (nv,) [kg or kg·m²]; those of followers are unchanged."""
        values = _finite(a, "armature", (self.nv,))
        if (values < 0).any():
            raise ModelError("armature", f"must not be negative [kg or kg·m²], got {values.min()}")
        joints, descriptions = [], []
        for joint, d, at, nv in zip(
            self.joints, self._descriptions, self.v_offsets, self.joint_nv, strict=True
        ):
            own = values[at : at + nv] if at >= 0 else joint.armature
            joints.append(replace(joint, armature=own.copy()))
            descriptions.append(d.replaced(armature=own))
        return self.replaced(joints=tuple(joints), descriptions=descriptions)

    def locked(self, joints: Mapping[str, ArrayLike]) -> Model:
        """Return a model without the freedoms of some joints, which are welded at these coordinates.

        Bodies that were moved by them remain as frames. Joints that follow a locked one are welded with it; couplings
        keep their other terms; forces, actuators and keyframes of locked joints are left out.

        Args:
            joints: coordinates by name of a joint: a number, or (nq of the joint,) [m or rad].

        Raises:
            UnknownNameError: there is no such joint, or it does not move.
            ModelError: the coordinates do not suit the joint, or a coupling or force would keep a part alone.

        >>> model.locked({"elbow": 0.3}).joint_names
        ('shoulder',)
        """
        locked = import_module("pysim.worlds.locked_joints").locked  # a layer above
        return cast("Model", locked(self, joints))

    def with_connections(self, connections: Connections) -> Model:
        """Return a copy with other loops, couplings and forces."""
        return self.replaced(connections=connections)

    def replaced(
        self,
        *,
        spec: ModelSpec | None = None,
        connections: Connections | None = None,
        gravity: Array | None = None,
        bodies: tuple[Body, ...] | None = None,
        joints: tuple[JointSpec, ...] | None = None,
        descriptions: Sequence[JointDescription] | None = None,
    ) -> Model:
        """Return a copy with other parts, which must belong together."""
        return Model(
            self._descriptions if descriptions is None else descriptions,
            self.gravity if gravity is None else gravity,
            spec=self.spec if spec is None else spec,
            joints=self.joints if joints is None else joints,
            bodies=self.bodies if bodies is None else bodies,
            world_geometries=self.world_geometries,
            frames=self.frames,
            connections=self.connections if connections is None else connections,
            callbacks=self._plugins,
            like=self,
        )

    @cached_property
    def _part_ids(self) -> frozenset[int]:
        return frozenset(map(id, _parts(self.spec, self.joints, self.bodies)))

    def __setattr__(self, name: str, value: object) -> None:
        if "_frozen" in self.__dict__:
            raise AttributeError(
                f"a model is frozen, {name!r} cannot be set; use its with_ methods"
            )
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by parts; plugins are looked up by name when the model is unpickled, without their code."""
        types = {joint.type for joint in self.joints} | {loop.type for loop in self.spec.loops}
        functions = {c.function for c in self.spec.couplings if c.function is not None}
        used = [("joint type", name) for name in types]
        used += [("force type", force.type) for force in self.spec.forces]
        files = plugin_files([*used, *(("relation", name) for name in functions)])
        parts = (files, self._descriptions, self.gravity, self.spec, self.joints, self.bodies)
        return _restored, (*parts, self.world_geometries, self.frames, self.connections)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: object) -> Model:
        return self

    def __repr__(self) -> str:
        return f"<pysim.Model {self.name!r}: {self.nbodies} bodies, nq {self.nq}, nv {self.nv}>"

    def _repr_html_(self) -> str:
        """Return the tree of bodies and joints, for notebooks."""
        from pysim.mechanism.model_html import model_html  # noqa: PLC0415, the table needs us

        return model_html(self)


def _restored(
    files: Mapping[tuple[str, str], str],
    descriptions: Sequence[JointDescription],
    gravity: Array,
    spec: ModelSpec,
    joints: tuple[JointSpec, ...],
    bodies: tuple[Body, ...],
    world_geometries: tuple[Geometry, ...],
    frames: Mapping[str, tuple[int, Array]],
    connections: Connections,
) -> Model:
    check_run_here(files, f"pickled model {spec.name!r}")
    callbacks = {
        joint.name: _plugin_of(joint)
        for d, joint in zip(descriptions, joints, strict=True)
        if d.motion.shape is Shape.callback
    }
    return Model(
        descriptions,
        gravity,
        spec=spec,
        joints=joints,
        bodies=bodies,
        world_geometries=world_geometries,
        frames=frames,
        connections=connections,
        callbacks=callbacks,
    )


def _limit(joint: JointSpec, limit: float | None) -> float:
    """Return a limit of a joint's actuators, inf if there is none or it is not enforced."""
    return limit if limit and joint.enforce_limits else math.inf


def _plugin_of(joint: JointSpec) -> CallbackJoint:
    """Return a joint's plugin, made from its keys."""
    kind = find_joint(joint.type).plugin
    assert kind is not None
    plugin = build(kind, joint.parameters, joint.where)
    assert isinstance(plugin, CallbackJoint)
    return plugin


def _random_coordinates(joint: JointSpec, joint_type: JointType, rng: np.random.Generator) -> Array:
    span = [np.pi if unit == "rad" else 1.0 for unit in joint_type.q_units]
    q = np.array([rng.uniform(-most, most) for most in span])
    for at, at_v in zip(*joint_type.real_coordinates, strict=True):
        lower, upper, reach = joint.lower[at_v], joint.upper[at_v], q[at] + span[at]  # from 0
        if math.isfinite(lower) and math.isfinite(upper):
            q[at] = rng.uniform(lower, upper)
        elif q[at] < lower:
            q[at] = lower + reach
        elif q[at] > upper:
            q[at] = upper - reach
    for at in joint_type.quaternions:
        quaternion = rng.standard_normal(4)
        q[at : at + 4] = quaternion / np.linalg.norm(quaternion)
    return q


def _parts(
    spec: ModelSpec, joints: tuple[JointSpec, ...], bodies: tuple[Body, ...]
) -> Iterator[object]:
    """Yield the specifications and bodies of a model, which hold arrays."""
    yield spec
    each = spec.bodies, spec.joints, spec.loops, spec.forces, spec.frames
    yield from chain(*each, joints, bodies)
    for body in spec.bodies:
        yield from body.geometries
    for compiled in bodies:
        yield from compiled.geometries


def _make_read_only(parts: Iterable[object], known: Container[int]) -> None:
    """Make the arrays of parts read-only, because the engine holds their values; not of parts with a known `id`."""
    for part in {id(part): part for part in parts if id(part) not in known}.values():
        for value in vars(part).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


def _finite(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        raise ModelError(name, f"must be numbers of shape {shape}, got {values!r}") from None
    if array.shape != shape:
        raise ModelError(name, f"must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(name, "must be finite, got nan or inf")
    return array
