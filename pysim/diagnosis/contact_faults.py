"""Faults of the contacts of a finished run, judged from its rows: pairs that sink, seams, and bodies without rest.

A pair sinks that rests deeper than SINKS times the depth of its law, at a depth that stays, though nothing presses it.
At a seam, a pair of links takes more from the sliding of a body than its friction can, though the other link is nowhere
higher than the face along which the body slid. A tree of bodies does not rest that nothing drives and that touches
something all the time, stays where it is, and has speeds that neither have a mean nor decay, while all that it touches
is at rest or likewise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.contact.distances import distances
from pysim.diagnosis.contact_checks import smaller_half_size
from pysim.joints import find_joint
from pysim.trajectory.interpolation import rotation_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pysim.contact.pairs import PlacedShape
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ContactSpec
    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

SINKING_FACTOR = 5.0
NOTICEABLE = 0.01  # of the smaller half size of the shapes, below which a depth does not matter
RESTING_SHARE = 0.1  # share of the rows, at the end, in which a pair rests
LEAST_ROWS = 5  # of a run that is judged
SLIDING = 1e-2  # [m/s]
# cosine between a normal and the velocity, up to which a body slides along a face
SLIDING_COSINE = 0.3
CAUGHT_SHARE = 0.9  # share of the speed before, below which a body is caught
ROWS_BEFORE = 3  # rows before, in which the face is looked for
FLUSH = 5.0  # depths, by which a shape may be higher than a face that continues
SAME_FACE_COSINE = 0.9  # cosine between normals of one face
SAME_PLANE_COSINE = 0.999  # cosine between the normals of a plane and of a face that it continues
STEADY_DEPTH = 0.1  # of a depth, by which it changes at most where a pair rests
STEADY_FORCE = 0.5  # of a force, likewise
UNREST_SHARE = 1 / 3  # share of the rows, at the end, in which a body does not come to rest
PARTS_OF_UNREST = 4  # of them, whose speeds are compared
LASTING_RATIO = 0.5  # ratio of the slowest to the fastest part, from which on a motion lasts
TOUCHING_SHARE = 0.9  # share of them in which a body touches something
LEAST_SPEED = {"m/s": 2e-3, "rad/s": 0.05}  # of a body that does not rest
TO_AND_FRO = 0.3  # mean of a velocity over its root mean square, of what moves to and fro
SMALL_DISTANCE = 0.05  # [m] that it gets away


class Motion(NamedTuple):
    """Fastest coordinate of a tree."""

    speed: float  # root mean square
    coordinate: str
    unit: str
    lasts: bool  # whether it goes to and fro, gets no slower and stays where it is


def sunk_pair(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the pair that rests deepest, in depths of its law."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points) or not np.any(scene.model.gravity):
        return None
    rows, count = _rows_of(trajectory), len(trajectory)
    late = rows >= count - max(LEAST_ROWS, int(RESTING_SHARE * count))
    sunk = []
    for k in np.unique(points.pair[late]).tolist():
        of_pair = late & (points.pair == k)
        deepest, load = np.zeros(count), np.zeros((count, 3))
        np.maximum.at(deepest, rows[of_pair], points.penetration[of_pair])
        np.add.at(load, rows[of_pair], points.force[of_pair])
        end = slice(count - max(LEAST_ROWS, int(RESTING_SHARE * count)), count)
        deepest, carried = deepest[end], np.linalg.norm(load[end], axis=1)
        sink = max(shape.law.sink for shape in contacts.shapes.of_pair(k))
        depth, name = float(np.median(deepest)), contacts.pairs[k].name
        deep = max(
            SINKING_FACTOR * sink, NOTICEABLE * smaller_half_size(contacts.shapes.of_pair(k))
        )
        stays = np.ptp(deepest) < STEADY_DEPTH * depth and np.ptp(
            carried
        ) < STEADY_FORCE * np.median(carried)
        if deepest.min() > deep and stays and not _is_pressed(scene, name):
            force = float(np.linalg.norm(points.force[of_pair], axis=1).max())
            text = (
                f"contact {name}: rests {depth:.2g} m deep, {depth / sink:.3g} times the {sink:.2g} m of its law, "
                f"under what it carries; give the surfaces a stiffness of {force / sink:.2g} N/m, or another sink"
            )
            sunk.append((depth / sink, name, text))
    if not sunk:
        return None
    sunk.sort(reverse=True)
    return sunk[0][2] + count_of_more([name for _, name, _ in sunk])


def seam(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the first contact against a body's sliding on a face that continues.

    Of the impulse of a pair of links between two rows, a part p along the normal of the face allows friction of μ p
    against the sliding. What exceeds it is due to a normal against the sliding.
    """
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points) or len(trajectory) < LEAST_ROWS:
        return None
    body, at, normal = _sides(scene, trajectory)
    row = _rows_of(trajectory)[at]
    velocity, links = _velocities(trajectory), _links(scene)
    for r, pair, b, obstacle, impulse in _braking_impulses(scene, trajectory, velocity):
        v = velocity[r - 2, b] - velocity[r - 2, obstacle]
        face = _face_before(body, row, normal, b, r, v / np.linalg.norm(v))
        if face is None:
            continue
        n, p = normal[face].mean(axis=0), points.point[at[face]].mean(axis=0)
        n = n / np.linalg.norm(n)
        v = v - (v @ n) * n
        depth, floors = float(points.penetration[at[face]].max()), np.unique(points.pair[at[face]])
        touching = list(contacts.shapes.of_pair(pair))
        friction = max(shape.law.static_friction for shape in touching)
        excess = -float(impulse @ v) - friction * max(float(impulse @ n), 0.0) * np.linalg.norm(v)
        if excess < (1 - CAUGHT_SHARE) * scene.model.parameters[b, 0] * (v @ v):
            continue
        if pair in floors and len(touching) == 1:
            continue
        shapes = [shape for k in floors.tolist() for shape in contacts.shapes.of_pair(k)]
        beside = {x for k in floors.tolist() for x in links[k] if x != b}
        moves = max(
            (float(np.linalg.norm(velocity[r - 2, x] - velocity[r - 2, obstacle])) for x in beside),
            default=0.0,
        )
        if moves > SLIDING or depth > NOTICEABLE * smaller_half_size(shapes):
            continue
        if not _rises(scene, trajectory, r, pair, b, n, p, FLUSH * depth):
            names = [contacts.pairs[k].name for k in (pair, int(floors[0]))]
            return (
                f"contact {names[0]}: its normal stands against {scene.model.body_names[b]!r}, which slides on a "
                f"face that continues there ({names[1]}), at t = {trajectory.t[r]:.4g} s: it catches at a seam; "
                "make one shape of the faces that are flush"
            )
    return None


def _velocities(trajectory: Trajectory) -> Array:
    """Return the velocities (rows − 1, bodies + 1, 3) of origins to the next row [m/s], those of the world last."""
    v = np.diff(trajectory.poses[..., :3], axis=0) / np.diff(trajectory.t)[:, None, None]
    return np.concatenate([v, np.zeros((len(v), 1, 3))], axis=1)


def _braking_impulses(
    scene: Scene, trajectory: Trajectory, velocity: Array
) -> Iterator[tuple[int, int, int, int, Array]]:
    """Return row, pair, body, other body and impulse on the body, of impulses against a sliding that gets slower."""
    impulses = trajectory.contact_impulses
    some = np.flatnonzero(np.abs(impulses).max(axis=(0, 2), initial=0.0))
    links = np.array(_links(scene)).reshape(-1, 2)[some]
    braked = []
    for side, sign in ((0, -1.0), (1, 1.0)):
        b, other, J = links[:, side], links[:, 1 - side], sign * impulses[2:, some]
        v = velocity[:, b] - velocity[:, other]
        speed = np.linalg.norm(v, axis=2)
        after = np.concatenate([speed[2:], speed[-1:]])
        against = -np.einsum("rpi,rpi->rp", J, v[:-1])
        mask = (
            (b >= 0) & (speed[:-1] > SLIDING) & (after < CAUGHT_SHARE * speed[:-1]) & (against > 0)
        )
        braked += [(r + 2, k, side, J[r, k]) for r, k in np.argwhere(mask).tolist()]
    for r, k, side, J in sorted(braked, key=lambda one: one[:3]):
        yield r, int(some[k]), int(links[k, side]), int(links[k, 1 - side]), J


def unrest(scene: Scene, trajectory: Trajectory) -> str | None:
    """Describe the undriven tree of bodies that moves to and fro fastest on what it touches."""
    contacts, points = scene.contacts, trajectory.contacts
    if contacts is None or not len(points) or not np.any(scene.model.gravity):
        return None
    driven, model, count = _driven_trees(scene), scene.model, len(trajectory)
    if driven is None:
        return None
    begin = count - max(int(UNREST_SHARE * count), LEAST_ROWS)
    roots, rows = _trees(model), _rows_of(trajectory)
    trees = [{roots[b] for b in links if b >= 0} for links in _links(scene)]
    late = rows >= begin
    moving = []
    for group in _joined(trees[k] for k in np.unique(points.pair[late]).tolist() if trees[k]):
        bodies = {tree: [k for k, root in enumerate(roots) if root == tree] for tree in group}
        motions = {tree: _motion(model, trajectory, bodies[tree], begin) for tree in sorted(group)}
        if group & driven or any(motion and not motion.lasts for motion in motions.values()):
            continue
        for tree, motion in motions.items():
            own = late & np.isin(points.pair, [k for k, both in enumerate(trees) if tree in both])
            if motion and len(np.unique(rows[own])) >= TOUCHING_SHARE * (count - begin):
                moving.append(
                    (motion.speed, motion.coordinate, motion.unit, model.body_names[tree])
                )
    if not moving:
        return None
    moving.sort(reverse=True)
    speed, coordinate, unit, name = moving[0]
    text = (
        f"body {name!r} does not come to rest: {coordinate!r} goes to and fro at {speed:.2g} {unit} until the end, "
        "though nothing drives it and it touches something all the time; take shorter steps, or simpler shapes there"
    )
    return text + count_of_more([one[3] for one in moving])


def _motion(model: Model, trajectory: Trajectory, bodies: list[int], begin: int) -> Motion | None:
    """Return the motion of the fastest coordinate of a tree after row `begin`; None if the tree is at rest."""
    columns = [column for k in bodies for column in _columns(model, k)]
    if not columns:
        return None
    v = np.asarray(trajectory.v[begin:])[:, columns]
    places = np.asarray(trajectory.poses[begin:])[:, bodies, :3]
    rests = np.array([LEAST_SPEED[model.velocity_units[column]] for column in columns])
    parts = [np.sqrt((part**2).mean(axis=0)) / rests for part in np.array_split(v, PARTS_OF_UNREST)]
    speeds, means = np.sqrt((v**2).mean(axis=0)), np.abs(v.mean(axis=0))
    k, reach = int((speeds / rests).argmax()), float(np.abs(places - places[0]).max())
    lasting = [float(part[k]) for part in parts]
    if max(lasting) < 1.0:
        return None
    turns = np.count_nonzero(np.diff(np.signbit(v[:, k])))
    is_steady = min(lasting) >= max(1.0, LASTING_RATIO * max(lasting))
    stays = (
        means[k] <= TO_AND_FRO * speeds[k] and reach <= SMALL_DISTANCE and turns >= PARTS_OF_UNREST
    )
    name, unit = model.velocity_names[columns[k]], model.velocity_units[columns[k]]
    return Motion(float(speeds[k]), name, unit, bool(is_steady and stays))


def _joined(links: Iterable[set[int]]) -> list[set[int]]:
    """Return the groups of trees that touch each other, directly or by others."""
    groups: list[set[int]] = []
    for some in links:
        beside = [group for group in groups if group & some]
        groups = [group for group in groups if not group & some] + [some.union(*beside)]
    return sorted(groups, key=min)


def _face_before(
    body: NDArray[np.intp], row: NDArray[np.intp], normal: Array, b: int, k: int, along: Array
) -> NDArray[np.intp] | None:
    """Return the points of a body on the face along which it slid in one of the rows before k, of ascending rows."""
    for earlier in range(k - 1, max(k - 1 - ROWS_BEFORE, -1), -1):
        first, end = np.searchsorted(row, [earlier, earlier + 1])
        n = normal[first:end]
        is_along = (body[first:end] == b) & (np.abs(n @ along) < SLIDING_COSINE) & n.any(axis=1)
        if is_along.any():
            same = is_along & (n @ n[int(is_along.argmax())] > SAME_FACE_COSINE)
            points: NDArray[np.intp] = first + np.flatnonzero(same)
            return points
    return None


def _rises(
    scene: Scene,
    trajectory: Trajectory,
    row: int,
    pair: int,
    body: int,
    n: Array,
    on_face: Array,
    reach: float,
) -> bool:
    """Return whether shapes of a pair near a body between two rows are higher than a face, or a plane alone."""
    assert scene.contacts is not None
    moved = float(np.linalg.norm(np.diff(trajectory.poses[row - 1 : row + 1, body, :3], axis=0)))
    above = np.eye(4)
    above[:3, 2], above[:3, 3] = -n, on_face  # the half space above the face
    above[:3, 0] = np.linalg.svd(n[None])[2][1]
    above[:3, 1] = np.cross(above[:3, 2], above[:3, 0])
    continues = False
    for touching in scene.contacts.shapes.of_pair(pair):
        obstacle, moving = touching.moving, touching.opposite
        if moving is None:
            if touching.ground is None or touching.ground.field is not None:
                return True
            up = np.array(touching.ground.normal)
            if up @ n < SAME_PLANE_COSINE or touching.ground.offset - up @ on_face > reach:
                return True
            continue  # its one normal stands against nothing
        if obstacle.body == body:
            obstacle, moving = moving, obstacle
        if obstacle.shape.field is not None or moving.shape.field is not None:
            return True
        X = _pose(trajectory, row, obstacle)
        near = distances(moving.shape, _pose(trajectory, row, moving), obstacle.shape, X).distance
        height = -float(distances(None, above, obstacle.shape, X).distance)
        if near < moved + reach:
            continues = True
            if height > reach:
                return True
    return not continues


def _pose(trajectory: Trajectory, row: int, shape: PlacedShape) -> Array:
    """Return the pose (4, 4) of a shape in a row."""
    X = np.eye(4)
    if shape.body >= 0:
        place = np.asarray(trajectory.poses[row, shape.body])
        X[:3, :3], X[:3, 3] = rotation_matrices(place[3:]), place[:3]
    return X @ shape.pose


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


def count_of_more(names: list[str]) -> str:
    """Return how many more there are than the first one."""
    return f" ({len(names) - 1} more: {', '.join(names[1:4])})" if len(names) > 1 else ""
