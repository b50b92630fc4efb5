"""Description of what acts between bodies, for pictures, as JSON in the trajectory's header.

One entry for each joint, loop, force, actuator along a path, moving body, rod and ground:

    {"role": "force", "name": "strut", "type": "spring", "points": [[body, [x, y, z]], …], "stiffness": 800.0, …}

`points` lists bodies (-1: the world) with a point [m] in their frames, from one end to the other. If some of them are
obstacles, conditional or moving points, `parts` has an entry for each: null for a plain point, else its `kind`, and the
`radius`, `side`, `length` and `pose` in the body, or the `coordinate` and the `ends` of its range. The `moves` of a
point are displacements along an `axis` in the body by a function of a `coordinate`, of x = ratio · coordinate + offset
with a `line` [ratio, offset]. Joints and loops
have `frames` instead, two bodies with a pose (4, 4) [m] each, and an `axis` in the first one; a hinge within a rod has
its name as `rod`. A force between two frames has
the `frame` on its second body in whose axes its wrench is recorded. The other keys are numbers of
the specification: the stiffness, the damping and the natural length of a force, `normal` and `offset` of a ground,
`theta` (10,) of a moving body. A rod's are in frame A of its beginning, without stress: `line`, points of its centre
line in equal steps with the y axis of the section, and the `sides` of the section there; `bones`, its bodies with the
pose (4, 4) [m] of that frame in each, before them the body on which a clamped beginning is (`begins`), the last one
that of its end (`ends`); and the `stiffness` of the hinges between these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.scene.spec import BlockSpec, JointSpec, LoopSpec, PathPart, RodSpec

WORLD = "world"
PARAMETERS = {
    "stiffness": ("stiffness",),
    "damping": ("damping",),
    "length": ("length", "rest_length"),
}
Entry = dict[str, Any]


def connections_of(model: Model, blocks: Sequence[BlockSpec] = ()) -> list[Entry]:
    """Describe the joints, loops, forces and grounds of a model, and the actuators among `blocks`."""
    placed = _Placed(model)
    spec = model.spec
    within = {bar: rod.name for rod in spec.rods for bar in rod.bars[1:]}
    entries = [
        placed.joint(joint) | ({"rod": within[joint.child]} if joint.child in within else {})
        for joint in spec.joints
        if joint.type != "fixed"
    ]
    entries += [placed.loop(loop) for loop in spec.loops if not loop.position]
    for force in spec.forces:
        entry: Entry = {"role": "force", "name": force.name, "type": force.type}
        if force.path:
            entry |= placed.path(force.path)
        elif force.coordinates:
            entry["coordinates"] = list(force.coordinates)
        else:
            ends = [(force.a, force.at_a[:3, 3]), (force.b, force.at_b[:3, 3])]
            entry["points"] = placed.points(ends)
            entry["frame"] = placed.frame(force.b, force.at_b)
        for key, names in PARAMETERS.items():
            for name in names:
                value: Any = force.parameters.get(name)
                if isinstance(value, int | float):
                    entry[key] = float(value)
        entries.append(entry)
    for block in blocks:
        if block.kind == "actuator" and block.points:
            path = placed.path(block.points)
            entries.append({"role": "actuator", "name": block.name, "type": block.type} | path)
    entries += [placed.rod(rod, spec.joints) for rod in spec.rods if rod.shape is not None]
    for k, body in enumerate(model.bodies):
        entries.append(
            {"role": "body", "name": body.name, "body": k, "theta": _list_numbers(body.theta)}
        )
    for ground in spec.grounds:
        if ground.field is not None:
            continue  # drawn as a mesh of the world
        entries.append(
            {"role": "ground", "name": "ground", "type": "plane", "normal": list(ground.normal)}
            | {"offset": ground.offset}
        )
    return entries


def is_imported(model: Model) -> bool:
    """Return whether a body of a model comes from a file of another program, such as a URDF."""
    return any(".toml" not in body.where for body in model.spec.bodies if body.where)


class _Placed:
    """Links by name: the moving body that carries them, and their pose in it."""

    def __init__(self, model: Model) -> None:
        self._frames = model.frames
        self._mimics = {joint.name: joint.mimic for joint in model.spec.joints}

    def joint(self, joint: JointSpec) -> Entry:
        """Describe a joint."""
        entry = self._frames_entry(
            "joint", joint, (joint.parent, joint.at), (joint.child, np.eye(4))
        )
        entry["axis"] = _list_numbers(joint.axis)
        for key in ("stiffness", "damping", "rest"):
            if np.any(getattr(joint, key)):
                entry[key] = _list_numbers(getattr(joint, key))
        return entry

    def loop(self, loop: LoopSpec) -> Entry:
        """Describe a loop."""
        entry = self._frames_entry("loop", loop, (loop.a, loop.at_a), (loop.b, loop.at_b))
        return entry | {
            "axis": _list_numbers(loop.axis),
            "length": loop.length,
            "radius": loop.radius,
        }

    def rod(self, rod: RodSpec, joints: Sequence[JointSpec]) -> Entry:
        """Describe a rod by the bodies that carry it."""
        shape = rod.shape
        assert shape is not None
        is_clamped = rod.ends[0] == "clamped"
        hinges = {joint.child: joint for joint in joints if joint.child in rod.bars}
        bones = [
            self.frame(bar, np.linalg.inv(H)) for bar, H in zip(rod.bars, shape.frames, strict=True)
        ]
        first = hinges[rod.bars[0]]
        if is_clamped:
            bones.insert(0, self.frame(first.parent, first.at @ np.linalg.inv(shape.frames[0])))
        stiffness = [_of_ball(hinges[bar]) for bar in rod.bars[0 if is_clamped else 1 :]]
        return {
            "role": "rod",
            "name": rod.name,
            "bones": bones,
            "begins": int(is_clamped),
            "ends": int(rod.has_end),
            "line": np.round(shape.line, 9).tolist(),
            "sides": _list_numbers(shape.sides),
            "round": shape.is_round,
            "color": list(shape.color),
            "stiffness": stiffness,
        }

    def points(self, ends: Any) -> list[Any]:  # noqa: ANN401, pairs of a link and a point
        """Return bodies with a point in their frames, of links with a point in theirs."""
        found = []
        for link, point in ends:
            body, pose = self._place(link)
            found.append([body, _list_numbers(pose[:3, :3] @ point + pose[:3, 3])])
        return found

    def frame(self, link: str, at: Array) -> list[Any]:
        """Return the body that carries a link, and the pose (4, 4) in it of a frame on the link."""
        body, pose = self._place(link)
        return [body, (pose @ at).tolist()]

    def path(self, parts: Sequence[PathPart]) -> Entry:
        """Describe the points of a path, and its obstacles and conditional points if it has any."""
        entry: Entry = {"points": self.points([(part.body, part.point) for part in parts])}
        if any(part.kind != "point" or part.moves for part in parts):
            entry["parts"] = [self._part(part) for part in parts]
        if any(part.multiplicity != 1 for part in parts):
            entry["strands"] = [part.multiplicity for part in parts]
        return entry

    def _part(self, part: PathPart) -> Entry | None:
        moves: Entry = {"moves": self._moves(part)} if part.moves else {}
        if part.kind == "point":
            return {"kind": part.kind} | moves if moves else None
        if part.kind == "conditional":
            ends = [x if np.isfinite(x) else None for x in (part.above, part.below)]
            return {"kind": part.kind, "coordinate": part.coordinate, "ends": ends} | moves
        pose = (self._place(part.body)[1] @ part.at).tolist()
        size: Entry = {"radius": part.radius}
        if part.kind == "ellipsoid":
            size = {"semi_axes": list(part.semi_axes)}
        elif part.kind == "torus":
            size["tube"] = part.tube
        elif np.isfinite(part.length):
            size["length"] = part.length
        inside = {"inside": True} if part.inside else {}
        return {"kind": part.kind, "pose": pose, "side": list(part.side)} | size | inside

    def _moves(self, part: PathPart) -> list[Entry]:
        R = self._place(part.body)[1][:3, :3] @ part.at[:3, :3]
        found = []
        for move in part.moves:
            mimic = self._mimics.get(move.coordinate)
            name = move.coordinate if mimic is None else mimic.joint
            line = {} if mimic is None else {"line": [mimic.ratio, mimic.offset]}
            axis = _list_numbers(R @ move.axis)
            found.append(
                {"coordinate": name, "axis": axis, **line, "function": dict(move.function)}
            )
        return found

    def _frames_entry(
        self, role: str, of: JointSpec | LoopSpec, first: tuple[str, Array], last: tuple[str, Array]
    ) -> Entry:
        frames = [self.frame(*first), self.frame(*last)]
        return {"role": role, "name": of.name, "type": of.type, "frames": frames}

    def _place(self, link: str) -> tuple[int, Array]:
        return (-1, np.eye(4)) if link == WORLD else self._frames[link]


def _of_ball(joint: JointSpec) -> list[float]:
    """Return the stiffness about x, y and z [N·m/rad] of a hinge."""
    K = np.broadcast_to(np.asarray(joint.stiffness, float), len(np.atleast_1d(joint.stiffness)))
    return _list_numbers(K if len(K) == 3 else K[0] * np.abs(joint.axis))


def _list_numbers(values: ArrayLike) -> list[float]:
    numbers: list[float] = np.asarray(values, float).tolist()
    return numbers
