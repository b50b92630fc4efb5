"""Examination of a mechanism for numbers that are valid and look wrong: inertias, units, massless and unused parts.

A body whose mass lies within R of its centre has principal moments of at most m R², so that its radius of gyration
√(I / m) is at most R. R is known from the body's shapes and joints; a radius several times as large is doubtful.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pysim.errors import PysimError
from pysim.inertia import center_of_mass, central_inertia, move_theta, unphysical_reason
from pysim.joints import find_joint
from pysim.scene.inertia_text import nearest_printable, toml_inertia, urdf_inertia
from pysim.scene.tree import WORLD, order_from_world
from pysim.shapes import primitive_volume
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pysim.scene.spec import BodySpec, JointSpec, ModelSpec
    from pysim.shapes import Shape

Severity = Literal["error", "warning", "note"]
LARGEST_GYRATION_RATIO = 4.0  # radius of gyration over the radius of the body
LEAST_GYRATION_RATIO = 1e-3
JOINT_DISTANCE_RATIO = 1000.0  # distance of a joint over the size of the body's shapes
CENTRE_DISTANCE_RATIO = 10.0  # distance of a centre of mass over the size of the body
DENSITIES = (5.0, 30_000.0)  # [kg/m³] of foam and gold
DUMMY = 1e-8  # [m³] of shapes that only mark a place
LARGEST_SIZE, SMALLEST_SIZE = 100.0, 5e-3  # [m] sizes of mechanisms
LARGEST_GRAVITY = 50.0  # [m/s²] gravity
MESH_RATIO = 4.0  # of principal moments, stated over those of the mesh


@dataclass(frozen=True)
class Finding:
    """A doubtful part of a model: how severe it is, its place, and the problem with its remedy."""

    severity: Severity
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def examine(spec: ModelSpec) -> list[Finding]:
    """Return what looks wrong in a mechanism, without reading its meshes."""
    return [
        *_sizes(spec),
        *_inertias(spec),
        *_joints(spec),
        *_massless(spec),
        *_unused(spec),
    ]


def examine_meshes(spec: ModelSpec) -> list[Finding]:
    """Return where the inertia of a body differs from that of its meshes with the same mass."""
    return [finding for body in spec.bodies for finding in _against_meshes(body)]


def _sizes(spec: ModelSpec) -> Iterator[Finding]:
    size = model_size(spec)
    if size > LARGEST_SIZE:
        text = f"the mechanism is {size:.3g} m large; if lengths are in millimetres, divide them by 1000"
        yield Finding("warning", spec.where, text)
    elif 0 < size < SMALLEST_SIZE:
        text = f"the mechanism is {size:.3g} m large; lengths are in metres, multiply them if they are not"
        yield Finding("warning", spec.where, text)
    strength = float(np.linalg.norm(spec.gravity))
    if strength > LARGEST_GRAVITY:
        text = f"gravity is {strength:.4g} [m/s²], {strength / 9.81:.3g} times that of the Earth; write [0, 0, -9.81]"
        yield Finding("warning", spec.where, text)


def model_size(spec: ModelSpec) -> float:
    """Return the diagonal [m] of the box around the joints at q = 0 and the primitive shapes."""
    hangs_on = {joint.child: joint for joint in spec.joints}
    poses: dict[str, Array] = {WORLD: np.eye(4)}
    points = []
    shapes = {body.name: body for body in spec.bodies}
    for name in order_from_world(spec.joints):
        joint = hangs_on[name]
        poses[name] = X = poses[joint.parent] @ joint.at
        points.append(X[:3, 3])
        for geometry in shapes[name].geometries if name in shapes else ():
            center, radius = X @ geometry.pose, shape_radius(geometry.shape)
            points += [center[:3, 3] - radius, center[:3, 3] + radius]
    if not points:
        return 0.0
    return float(np.linalg.norm(np.ptp(np.array(points), axis=0)))


def shape_radius(shape: Shape) -> float:
    """Return the radius [m] of the ball around a primitive; 0 for a mesh."""
    return 0.0 if shape.primitive is None else shape.primitive.ball_radius(shape.size)


def _inertias(spec: ModelSpec) -> Iterator[Finding]:
    anchors: dict[str, list[Array]] = defaultdict(lambda: [np.zeros(3)])
    for joint in spec.joints:
        anchors[joint.parent].append(joint.at[:3, 3])
    whole = model_size(spec)
    for body in spec.bodies:
        if not body.theta.any():
            continue
        reason = unphysical_reason(body.theta)
        if reason is not None:
            yield Finding("warning", body.where, _inconsistent(body, reason))
        elif body.theta[0] > 0:
            yield from _doubtful(body, anchors[body.name], whole)


def _inconsistent(body: BodySpec, reason: str) -> str:
    problem = f"the inertia of body {body.name!r} is not physically consistent: {reason}"
    if body.theta[0] <= 0:
        return f"{problem}; give it a mass [kg], or remove the inertia"
    near = nearest_printable(body.theta)
    is_urdf = ".urdf:" in body.where
    text = urdf_inertia(central_inertia(near)) if is_urdf else f"inertia = {toml_inertia(near)}"
    return f"{problem}; the nearest valid one is {text}"


def _doubtful(body: BodySpec, anchors: list[Array], mechanism_extent: float) -> Iterator[Finding]:
    """Compare mass properties with the extent of the body's shapes and joints."""
    theta, name = body.theta, body.name
    mass, com = float(theta[0]), center_of_mass(theta)
    gyration = float(np.sqrt(max(np.linalg.eigvalsh(central_inertia(theta)).max(), 0.0) / mass))
    primitives = [g for g in body.geometries if g.shape.kind != "mesh"]
    has_mesh = len(primitives) < len(body.geometries)
    own = [np.linalg.norm(g.pose[:3, 3]) + shape_radius(g.shape) for g in primitives]
    own += [np.linalg.norm(anchor) for anchor in anchors]
    distance, extent = float(np.linalg.norm(com)), max(float(max(own)), mechanism_extent)
    if (
        extent > 0
        and distance > CENTRE_DISTANCE_RATIO * extent
        and not (has_mesh and len(anchors) == 1)
    ):
        text = (
            f"the centre of mass of body {name!r} is {distance:.3g} m from its frame; give it in m"
        )
        yield Finding("warning", body.where, text)
        return
    reach = [np.linalg.norm(g.pose[:3, 3] - com) + shape_radius(g.shape) for g in primitives]
    reach += [np.linalg.norm(anchor - com) for anchor in anchors]
    radius = float(max(reach))
    known = radius if primitives and not has_mesh else max(radius, mechanism_extent / 2)
    is_known = bool(primitives) or len(anchors) > 1 or mechanism_extent > 0
    if is_known and known > 0 and gyration > LARGEST_GYRATION_RATIO * known:
        ratio = (gyration / known) ** 2
        text = (
            f"the inertia of body {name!r} ({mass:.4g} kg) has a radius of gyration of {gyration:.3g} m, but its "
            f"shapes and joints reach {known:.3g} m: it is {ratio:.2g} times too large, or in g·mm² or kg·mm²; give it "
            "in kg·m²"
        )
        yield Finding("warning", body.where, text)
    elif primitives and 0 < gyration < LEAST_GYRATION_RATIO * radius:
        text = (
            f"the inertia of body {name!r} ({mass:.4g} kg) has a radius of gyration of {gyration:.3g} m, but its "
            f"shapes and joints reach {radius:.3g} m; give the inertia in kg·m²"
        )
        yield Finding("warning", body.where, text)
    volumes = [
        sum(primitive_volume(g.shape) for g in primitives if g.role == role)
        for role in ("visual", "collision")
    ]
    volume = max(volumes)
    is_odd = volume > DUMMY and not DENSITIES[0] <= mass / volume <= DENSITIES[1]
    if is_odd and not has_mesh:
        text = f"body {name!r} has {mass:.4g} kg in {volume:.3g} m³, {mass / volume:.3g} kg/m³; check its mass"
        yield Finding("note", body.where, text)


def _joints(spec: ModelSpec) -> Iterator[Finding]:
    bodies = {body.name: body for body in spec.bodies}
    for joint in spec.joints:
        parent = bodies.get(joint.parent)
        shapes = [g for g in parent.geometries if g.shape.kind != "mesh"] if parent else []
        extent = max(
            (float(np.linalg.norm(g.pose[:3, 3])) + shape_radius(g.shape) for g in shapes),
            default=0,
        )
        distance = float(np.linalg.norm(joint.at[:3, 3]))
        if extent > 0 and distance > JOINT_DISTANCE_RATIO * extent:
            text = (
                f"joint {joint.name!r} is {distance:.3g} m from the frame of body {joint.parent!r}, whose shapes reach "
                f"{extent:.3g} m; give both in m"
            )
            yield Finding("warning", joint.where, text)
        for word, unit in (("effort", "N or N·m"), ("velocity", "m/s or rad/s")):
            if getattr(joint, f"{word}_limit") == 0 and find_joint(joint.type).nv:
                text = f"the {word} limit of joint {joint.name!r} is 0 [{unit}]; leave it out or give it"
                yield Finding("note", joint.where, text)


def _massless(spec: ModelSpec) -> Iterator[Finding]:
    """Report chains of massless bodies that joints move in a row."""
    massless = {body.name for body in spec.bodies if not body.theta.any()}
    hangs_on = {joint.child: joint for joint in spec.joints}
    for joint in spec.joints:
        chain = _chain(joint, massless, hangs_on)
        is_end = not any(
            other.parent == joint.child and other.child in massless and _moves(other)
            for other in spec.joints
        )
        if len(chain) > 1 and is_end:
            names = " → ".join(repr(name) for name in chain)
            text = f"the bodies {names} are massless, one moved by the other; use one joint for all"
            yield Finding("note", joint.where, text)


def _chain(joint: JointSpec, massless: set[str], hangs_on: Mapping[str, JointSpec]) -> list[str]:
    """Return the massless bodies that lead to the child of a joint, each moved by a joint."""
    chain: list[str] = []
    step: JointSpec | None = joint
    while step is not None and step.child in massless and _moves(step):
        chain.append(step.child)
        step = hangs_on.get(step.parent)
    return chain[::-1]


def _moves(joint: JointSpec) -> bool:
    return find_joint(joint.type).nv > 0


def _unused(spec: ModelSpec) -> Iterator[Finding]:
    """Report bodies that have no effect, and materials that nothing has."""
    used = {joint.parent for joint in spec.joints} | {frame.body for frame in spec.frames}
    used |= {name for loop in spec.loops for name in (loop.a, loop.b)}
    used |= {body for force in spec.forces for body in force.bodies}
    hangs_on = {joint.child: joint for joint in spec.joints}
    for body in spec.bodies:
        is_empty = not (body.theta.any() or body.geometries or body.name in used)
        joint = hangs_on.get(body.name)
        if is_empty and ".urdf:" not in body.where and joint is not None and not _moves(joint):
            text = f"body {body.name!r} has no mass and no shape, and carries nothing; remove it, or write a [[frame]]"
            yield Finding("note", body.where, text)
    if spec.contacts is not None:
        worn = {own.material for body in spec.bodies for own in body.collisions}
        worn |= {ground.material for ground in spec.contacts.grounds}
        for name, surface in spec.contacts.materials.items():
            if name not in worn and surface.where:
                yield Finding("note", surface.where, f"material {name!r} is not used; remove it")


def _against_meshes(body: BodySpec) -> Iterator[Finding]:
    from pysim.meshes import mesh_theta  # noqa: PLC0415, trimesh loads only where meshes are read

    roles = [g for g in body.geometries if g.shape.mesh is not None and g.mass_source is None]
    meshes = [g for g in roles if g.role == "visual"] or roles
    if not meshes or body.theta[0] <= 0 or unphysical_reason(body.theta) is not None:
        return
    total, opened = np.zeros(10), []
    for geometry in meshes:
        mesh, scale = geometry.shape.mesh, geometry.shape.scale
        assert mesh is not None
        try:
            theta = mesh_theta(mesh, scale, 1.0)
        except PysimError:
            try:
                theta = mesh_theta(mesh, scale, 1.0, convex=True)
            except PysimError:  # a flat one, which says nothing of the mass
                continue
            opened.append(mesh.name)
        total = total + move_theta(theta, geometry.pose)
    if opened:
        files = ", ".join(map(repr, opened))
        verb, hulls = "enclose", "their convex hulls are"
        if len(opened) == 1:
            verb, hulls = "encloses", "its convex hull is"
        text = f"{files} of body {body.name!r} {verb} no volume; {hulls} compared"
        yield Finding("note", body.where, text)
    if total[0] <= 0:
        return
    solid = total * (body.theta[0] / total[0])
    stated, own = (np.linalg.eigvalsh(central_inertia(theta)) for theta in (body.theta, solid))
    ratio = stated[-1] / own[-1] if own[-1] > 0 else 1.0
    if not 1 / MESH_RATIO <= ratio <= MESH_RATIO:
        text = (
            f"the largest moment of inertia of body {body.name!r} is {stated[-1]:.3g} kg·m², {ratio:.3g} times "
            f"{own[-1]:.3g} kg·m² of its meshes with the same mass; check its unit, or the scale of the mesh"
        )
        yield Finding("warning", body.where, text)
    apart = float(np.linalg.norm(center_of_mass(body.theta) - center_of_mass(solid)))
    reach = 3 * float(np.sqrt(own[-1] / body.theta[0]))
    if apart > reach:
        text = f"the centre of mass of body {body.name!r} is {apart:.3g} m from that of its meshes; check com"
        yield Finding("warning", body.where, text)
