"""Faults of the contacts of a finished run, judged from its rows: pairs that sink, seams, and bodies without rest.

A pair sinks that rests deeper than SINKS times the depth of its law, though nothing presses it. At a seam, a normal
stands against the sliding of a body at points that lie in the plane of the face along which it slid. A tree of bodies
does not rest that nothing drives and that touches something all the time, stays where it is, and has speeds that
neither have a mean nor decay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.contact.covered_faces import POINT
from pysim.contact.distances import distances
from pysim.diagnosis.contact_checks import smaller_half_size
from pysim.joints import find_joint
from pysim.trajectory.interpolation import rotation_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.mechanism.model import Model
    from pysim.scene.spec import ContactSpec
    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

SINKS = 5.0
NOTICEABLE = 0.01  # of the smaller half size of the shapes, below which a depth does not matter
END = 0.1  # share of the rows, at the end, in which a pair rests
LEAST_ROWS = 5  # of a run that is judged
SLIDING = 1e-2  # [m/s]
AGAINST = 0.5  # cosine between a normal and the way back, from which on it stands against it
ALONG = 0.3  # the same up to which a body slides along a face
TURNED = 0.9  # cosine between normals, below which they are those of two faces
SLOWED = 0.9  # share of the speed before, below which a body is caught
BEFORE = 3  # rows before, in which the face is looked for
FLUSH = 5.0  # depths, within which a point lies in the plane of a face
LATE = 1 / 3  # share of the rows, at the end, in which a body does not come to rest
PARTS = 4  # of them, whose speeds are compared
DECAYS = 0.5  # ratio of the slowest to the fastest part, from which on a motion lasts
TOUCHES = 0.9  # share of them in which a body touches something
MOVES = {"m/s": 2e-3, "rad/s": 0.05}  # of a body that does not rest
TO_AND_FRO = 0.3  # mean of a velocity over its root mean square, of what moves to and fro
SMALL = 0.05  # [m] that it gets away


def sunk_pair(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the pair that rests deepest, in depths of its law."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points) or not np.any(scene.model.gravity):
        return None
    rows, count = _rows_of(trajectory), len(trajectory)
    late = rows >= count - max(LEAST_ROWS, int(END * count))
    found = []
    for k in np.unique(points.pair[late]).tolist():
        own = late & (points.pair == k)
        deepest = np.zeros(count)
        np.maximum.at(deepest, rows[own], points.penetration[own])
        deepest = deepest[count - max(LEAST_ROWS, int(END * count)) :]
        sink = max(shape.law.sink for shape in contacts.shapes.of_pair(k))
        depth, name = float(np.median(deepest)), contacts.pairs[k].name
        deep = max(SINKS * sink, NOTICEABLE * smaller_half_size(contacts.shapes.of_pair(k)))
        if deepest.min() > deep and not _is_pressed(scene, name):
            force = float(np.linalg.norm(points.force[own], axis=1).max())
            text = (
                f"contact {name}: rests {depth:.2g} m deep, {depth / sink:.3g} times the {sink:.2g} m of its law, "
                f"under what it carries; give the surfaces a stiffness of {force / sink:.2g} N/m, or another sink"
            )
            found.append((depth / sink, name, text))
    if not found:
        return None
    found.sort(reverse=True)
    return found[0][2] + others([name for _, name, _ in found])


def seam(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the first contact against a body's sliding on a face that continues."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points) or not scene.model.nbodies:
        return None
    body, at, normal = _sides(scene, trajectory)
    row, place = _rows_of(trajectory)[at], trajectory.poses[..., :3]
    span = np.diff(trajectory.t)
    v = np.diff(place, axis=0) / span[:, None, None]  # (rows − 1, bodies, 3) to the next row
    before = v[np.maximum(row - 2, 0), body]
    speed = np.linalg.norm(before, axis=1)
    along = np.einsum("ij,ij->i", normal, before)
    slower = np.linalg.norm(v[np.minimum(row, len(v) - 1), body], axis=1) < SLOWED * speed
    held = (row > 1) & (speed > SLIDING) & (along < -AGAINST * speed) & slower
    for k in np.flatnonzero(held).tolist():
        own = body == body[k]
        face = _face_before(own, row, normal, int(row[k]), before[k] / speed[k])
        if face is None:
            continue
        n, p = normal[face].mean(axis=0), points.point[at[face]].mean(axis=0)
        now = own & (row == row[k])
        stands = now & (normal @ n < TURNED)
        depth = points.penetration[at[now | face]].max()
        off = np.abs((points.point[at[stands]] - p) @ n)
        rises = [
            _rises(scene, trajectory, int(at[x]), int(body[k]), n, p, FLUSH * depth)
            for x in np.flatnonzero(stands)
        ]
        if stands.any() and (off < FLUSH * depth).all() and not any(rises):
            names = [contacts.pairs[points.pair[at[x]]].name for x in (k, np.flatnonzero(face)[0])]
            return (
                f"contact {names[0]}: its normal stands against {scene.model.body_names[body[k]]!r}, which slides on a "
                f"face that continues there ({names[1]}), at t = {trajectory.t[row[k]]:.4g} s: it catches at a seam; "
                "make one shape of the faces that are flush"
            )
    return None


def unrest(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the undriven tree of bodies that moves to and fro fastest on what it touches."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points) or not np.any(scene.model.gravity):
        return None
    driven, model, count = _driven_trees(scene), scene.model, len(trajectory)
    if driven is None:
        return None
    begin = count - max(int(LATE * count), LEAST_ROWS)
    roots, rows = _trees(model), _rows_of(trajectory)
    trees = [{roots[b] for b in links if b >= 0} for links in _links(scene)]
    late = rows >= begin
    found = []
    for tree in sorted({root for k in np.unique(points.pair[late]).tolist() for root in trees[k]}):
        pairs = [k for k, both in enumerate(trees) if tree in both]
        own = late & np.isin(points.pair, pairs)
        beside = {root for k in np.unique(points.pair[own]).tolist() for root in trees[k]}
        if beside & driven or len(np.unique(rows[own])) < TOUCHES * (count - begin):
            continue
        bodies = [k for k, root in enumerate(roots) if root == tree]
        unresting = _unresting_speed(model, trajectory, bodies, begin)
        if unresting is not None:
            found.append((*unresting, model.body_names[tree]))
    if not found:
        return None
    found.sort(reverse=True)
    speed, coordinate, unit, name = found[0]
    text = (
        f"body {name!r} does not come to rest: {coordinate!r} goes to and fro at {speed:.2g} {unit} until the end, "
        "though nothing drives it and it touches something all the time; take shorter steps, or simpler shapes there"
    )
    return text + others([one[3] for one in found])


def _unresting_speed(
    model: Model, trajectory: Trajectory, bodies: list[int], begin: int
) -> tuple[float, str, str] | None:
    """Return speed, name and unit of the fastest coordinate of a tree that moves to and fro and gets no slower."""
    columns = [column for k in bodies for column in _columns(model, k)]
    v = np.asarray(trajectory.v[begin:])[:, columns]
    places = np.asarray(trajectory.poses[begin:])[:, bodies, :3]
    if not columns:
        return None
    rests = np.array([MOVES[model.velocity_units[column]] for column in columns])
    parts = [np.sqrt((part**2).mean(axis=0)) / rests for part in np.array_split(v, PARTS)]
    speeds, means = np.sqrt((v**2).mean(axis=0)), np.abs(v.mean(axis=0))
    k, reach = int((speeds / rests).argmax()), float(np.abs(places - places[0]).max())
    lasting = [float(part[k]) for part in parts]
    is_steady = min(lasting) >= max(1.0, DECAYS * max(lasting))
    if not is_steady or means[k] > TO_AND_FRO * speeds[k] or reach > SMALL:
        return None
    return float(speeds[k]), model.velocity_names[columns[k]], model.velocity_units[columns[k]]


def _face_before(
    own: NDArray[np.bool_], row: NDArray[np.intp], normal: Array, k: int, along: Array
) -> NDArray[np.bool_] | None:
    """Return the points of a body on the face along which it slid in one of the rows before."""
    for earlier in range(k - 1, max(k - 1 - BEFORE, -1), -1):
        is_along: NDArray[np.bool_] = np.abs(normal @ along) < ALONG
        face: NDArray[np.bool_] = own & (row == earlier) & is_along
        if face.any():
            return face
    return None


def _rises(
    scene: Scene,
    trajectory: Trajectory,
    point: int,
    body: int,
    n: Array,
    on_face: Array,
    reach: float,
) -> bool:
    """Return whether a shape that a point of a body touches is higher than a face: a riser, or a wall."""
    assert scene.contacts is not None
    points, row = trajectory.contacts, int(_rows_of(trajectory)[point])
    pairs = scene.contacts.shapes.of_pair(int(points.pair[point]))
    shapes = [
        s for pair in pairs for s in (pair.own, pair.other) if s is not None and s.body != body
    ]
    above, touching = np.eye(4), np.eye(4)
    above[:3, 2], above[:3, 3] = -n, on_face  # the half space above the face
    above[:3, 0] = np.linalg.svd(n[None])[2][1]
    above[:3, 1] = np.cross(above[:3, 2], above[:3, 0])
    touching[:3, 3] = points.point[point]
    for shape in shapes:
        if shape.shape.field is not None:
            continue
        X = np.eye(4)
        if shape.body >= 0:
            place = np.asarray(trajectory.poses[row, shape.body])
            X[:3, :3], X[:3, 3] = rotation_matrices(place[3:]), place[:3]
        X = X @ shape.pose
        height = -float(distances(None, above, shape.shape, X).distance)
        if height > reach and distances(shape.shape, X, POINT, touching).distance < reach:
            return True
    return False


def _sides(
    scene: Scene, trajectory: Trajectory
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Return body, number of the point and normal towards the body, for every moving body of every point."""
    points = trajectory.contacts
    ends = np.array(_links(scene))[points.pair]  # (points, 2)
    which, side = np.nonzero(ends >= 0)
    normal = points.normal[which] * np.where(side == 1, 1.0, -1.0)[:, None]
    return ends[which, side], which, normal


def _links(scene: Scene) -> list[tuple[int, int]]:
    """Return the moving bodies of every pair, −1 for what does not move."""
    assert scene.contacts is not None
    found = []
    for pair in scene.contacts.pairs:
        first, second = (_body(scene.model, link) for link in pair.name.split(", "))
        found.append((first, second))
    return found


def _body(model: Model, link: str) -> int:
    """Return the number of the moving body of a link, −1 for what does not move."""
    return int(model.frames[link][0]) if link in model.frames else -1


def _trees(model: Model) -> list[int]:
    """Return the root of every moving body, the number of a body."""
    roots: list[int] = []
    for k, parent in enumerate(model.parents):
        roots.append(k if parent < 0 else roots[parent])
    return roots


def _columns(model: Model, body: int) -> list[int]:
    """Return the columns of v of the joint that moves a body."""
    joint = model.joints[body]
    at = model.v_offsets[body]
    return [] if at < 0 else list(range(at, at + len(find_joint(joint.type).v_units)))


def _rows_of(trajectory: Trajectory) -> NDArray[np.intp]:
    """Return the row of every contact point."""
    return np.repeat(np.arange(len(trajectory)), np.diff(trajectory.contacts.offsets))


def _driven_trees(scene: Scene) -> set[int] | None:
    """Return the roots of the trees on which drives act; None if something drives all of them."""
    model, spec = scene.model, scene.spec
    if spec.model.has_motions or model.loop_names or model.coupling_names:
        return None
    if any(any(pair.surface_velocity) for pair in _pairs(scene)):
        return None
    roots, bodies = _trees(model), dict(zip(model.joint_names, range(model.nbodies), strict=False))
    driven: set[int] = set()
    names = [
        name for block in spec.blocks if block.kind == "actuator" for name in block.coordinates
    ]
    names += [drive.joint for drive in spec.actuators]
    for name in names:
        joint = name if name in bodies else name.rpartition(".")[0]
        driven |= {roots[bodies[joint]]} if joint in bodies else set(roots)
    places = [
        part.body for block in spec.blocks if block.kind == "actuator" for part in block.points
    ]
    places += [body for force in spec.model.forces for body in force.bodies]
    places += [name for force in spec.model.forces for name in force.coordinates]
    for place in places:
        at = bodies.get(place, bodies.get(place.rpartition(".")[0], _body(model, place)))
        driven |= {roots[at]} if at >= 0 else set()
    return driven


def _pairs(scene: Scene) -> tuple[ContactSpec, ...]:
    """Return the pairs that the scene changes."""
    found = scene.spec.model.contacts
    return () if found is None else found.pairs


def _is_pressed(scene: Scene, name: str) -> bool:
    """Return whether a drive acts on a link of a pair, which may press it deeper than a weight."""
    driven, model = _driven_trees(scene), scene.model
    if driven is None:
        return True
    roots = _trees(model)
    bodies = [_body(model, link) for link in name.split(", ")]
    return any(body >= 0 and roots[body] in driven for body in bodies)


def others(names: list[str]) -> str:
    """Return how many more there are than the first one."""
    return f" ({len(names) - 1} more: {', '.join(names[1:4])})" if len(names) > 1 else ""
