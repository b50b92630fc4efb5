"""Reader of rods: their tables become bodies, joints, loops and frames, as if the scene had them one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.joints import find_joint
from pysim.scene.attachment import Parts
from pysim.scene.poses import relative_pose
from pysim.scene.rods.centre_line import CentreLine, catenary, curve_through, straight_line
from pysim.scene.rods.chain import Chain, points_along
from pysim.scene.rods.sections import SLENDERNESS, Material, Profile, Section
from pysim.scene.spec import (
    BodySpec,
    CollisionSpec,
    ContactsSpec,
    FrameSpec,
    JointSpec,
    LoopSpec,
    RodShape,
    RodSpec,
    with_fields,
)
from pysim.scene.toml.records.references import AT, names_of_stations
from pysim.scene.toml.records.rod_table import SHAPES
from pysim.scene.tree import WORLD
from pysim.scene.urdf.joints import plain_joint
from pysim.shapes import Geometry, Shape
from pysim.spatial import quaternion_from_rotation
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.rod_table import Rod, RodSection
    from pysim.scene.toml.records.tables import Scene
    from pysim.scene.toml.source import Steps

COLOR = (0.42, 0.46, 0.52, 1.0)
EQUILIBRIUM = "equilibrium"  # of `start`
END = "end"  # name of the body behind the last hinge
OFF_PLANE = 1e-6  # of the length
SAME_LENGTH = 0.02  # share by which a start curve may be shorter or longer than the rod
NEIGHBOUR_DIAMETERS = 1.5  # diameters along the rod within which bars do not touch each other
_POISSON = 0.3
_LEAST_SPAN_RATIO = 0.05  # distance of the ends over the length, below which no catenary is a start
# by whether the far end is clamped, and slides
_LOOPS = {
    (True, False): "weld",
    (False, False): "ball",
    (True, True): "prismatic",
    (False, True): "point_on_line",
}
_AXES = {"y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_TURN_Z_TO_X = np.array(
    [[0.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)


@dataclass
class RodReader:
    """Reader of rod tables, which reports to `problems`."""

    problems: Problems
    gravity: Array  # (3,) [m/s²] in the world
    _chains: dict[str, Chain] = field(default_factory=dict)  # by name

    def read(self, scene: Scene) -> tuple[Parts, ...]:
        """Return the parts of each rod of a scene, with frames at the lengths that its tables name."""
        found = [self._rod(table, ("rod", k)) for k, table in enumerate(scene.rod)]
        frames = self._stations(scene)
        return tuple(
            parts._replace(frames=tuple(frames.get(table.name, ())))
            for parts, table in zip(found, scene.rod, strict=True)
        )

    def _stations(self, scene: Scene) -> dict[str, list[FrameSpec]]:
        """Return the frames at lengths of rods that the tables of a scene name, by rod."""
        names = {table.name for table in scene.rod}
        known: dict[str, FrameSpec] = {}
        stations: dict[str, list[FrameSpec]] = {}
        for path, name in names_of_stations(scene):
            rod, _, text = name.rpartition(AT)
            if rod not in names:
                self.problems.add_unknown(path, "rod", rod, names)
                continue
            chain = self._chains.get(rod)
            if chain is None or name in known:
                continue
            s, length = float(text), chain.line.length
            if not -1e-9 * length <= s <= (1 + 1e-9) * length:
                problem = f"s = {s:g} [m] is not on rod {rod!r}, whose length is {length:.6g} [m]"
                self.problems.add(path, f"{problem}; take 0 to {length:.6g}")
                continue
            k, X = chain.station(s)
            body = f"{rod}/{END if k == chain.bars else k}"
            known[name] = FrameSpec(name, body, X, self.problems.source.where(path))
            stations.setdefault(rod, []).append(known[name])
        return stations

    def _rod(self, table: Rod, path: Steps) -> Parts:
        before = len(self.problems.found)
        line, ends = self._line(table, path), self._ends(table, path)
        section = self._section(table, line, path)
        self._check_bars(table, ends, path)
        if line is None or section is None or len(self.problems.found) > before:
            return Parts()
        chain = Chain(line, section, table.bars, ends)
        if table.planar is not None and not self._is_planar(table, line, path):
            return Parts()
        self._chains[table.name] = chain
        start = self._start(table, chain, path)
        where = self.problems.source.where(path)
        parts = _Parts(table, chain, where)
        return Parts(
            bodies=parts.bodies(),
            joints=parts.joints(start),
            loops=parts.loops(),
            contacts=parts.contacts(),
            equilibrium=parts.in_equilibrium(),
            rods=(parts.rod(),),
        )

    def _line(self, table: Rod, path: Steps) -> CentreLine | None:
        if table.length is not None and table.path is not None:
            problem = "has length and path, which has a length; give one of the two"
            self.problems.add((*path, "path"), problem)
            return None
        if table.path is not None:
            return self._curve(table.path, (*path, "path"))
        if table.length is None:
            problem = f"rod {table.name!r} has no length; give length [m], or path for a curved rod"
            self.problems.add(path, problem)
            return None
        return straight_line(table.length)

    def _curve(self, points: Sequence[Sequence[float]], path: Steps) -> CentreLine | None:
        for k, (before, after) in enumerate(pairwise(points)):
            if math.dist(before, after) == 0:
                self.problems.add((*path, k + 1), "is the point before it; leave one of them out")
                return None
        if len(points) > 2:
            steps = np.diff(np.array(points, float), axis=0)
            steps /= np.linalg.norm(steps, axis=1)[:, None]
            back = np.flatnonzero((steps[1:] * steps[:-1]).sum(axis=1) < -1 + 1e-9)
            if len(back):
                problem = "is where the curve turns back; a rod cannot turn on the spot"
                self.problems.add(
                    (*path, int(back[0]) + 1), f"{problem}, give points around the bend"
                )
                return None
        return curve_through(points)

    def _ends(self, table: Rod, path: Steps) -> tuple[str, str]:
        for name in ("at_b", "slide") if table.b is None else ():
            if name in table.model_fields_set:
                problem = f"has no effect without b; give b, or leave {name} out"
                self.problems.add((*path, name), problem, of_key=True)
        if table.ends is None:
            return ("clamped", "free" if table.b is None else "clamped")
        near, far = table.ends
        at = (*path, "ends")
        if far != "free" and table.b is None:
            problem = f"the far end is {far!r}, and nothing holds it"
            self.problems.add(at, f'{problem}; give b, such as b = "world", or write "free"')
        if far == "free" and table.b is not None:
            problem = f"the far end is free, and b is {table.b!r}"
            self.problems.add(at, f'{problem}; write "clamped" or "ball", or leave b out')
        if near == "free" and table.a != "world":
            problem = f"the beginning is free, and a is {table.a!r}"
            self.problems.add(at, f"{problem}; a free end starts in the world, leave a out")
        return near, far

    def _section(self, table: Rod, line: CentreLine | None, path: Steps) -> Section | None:
        section, material = table.section, table.material
        at = (*path, "section")
        given = [
            name for name in ("EI", "GJ", "mass_per_length") if getattr(section, name) is not None
        ]
        needed = ["EI", "mass_per_length"] if table.planar else ["EI", "GJ", "mass_per_length"]
        lacking = [name for name in needed if name not in given]
        if material is None and lacking:
            what = " and ".join(lacking)
            remedy = f"give material = {{ young, density }}, or {what}"
            if not section.shape:
                remedy = f"give {what}, or a shape ({', '.join(SHAPES)}) and a material"
            self.problems.add(at, f"the section of rod {table.name!r} has no {what}; {remedy}")
            return None
        if material is not None and not section.shape:
            problem = "needs the shape of the section; give circle, tube or rectangle, or leave material out"
            self.problems.add((*path, "material"), problem, of_key=True)
            return None
        if material is not None and not lacking:
            problem = (
                "has no effect, as section has EI, GJ and mass_per_length; leave one of them out"
            )
            self.problems.add((*path, "material"), problem, of_key=True)
        if line is None:
            return None
        self._check_stations(section, line.length, at)
        rows = (
            getattr(section, section.shape) if section.shape else [[0.0, line.length / SLENDERNESS]]
        )
        return Section(
            section.shape,
            Profile.of(rows),
            _material(table),
            *(
                None if rows is None else _profile(name, rows)
                for name in ("EI", "GJ", "mass_per_length", "inertia_per_length")
                for rows in [getattr(section, name)]
            ),
        )

    def _check_stations(self, section: RodSection, length: float, path: Steps) -> None:
        """Report rows along the rod that are beyond its ends."""
        for name in type(section).model_fields:
            for k, row in enumerate(getattr(section, name) or ()):
                if not 0 <= row[0] <= length * (1 + 1e-9):
                    problem = (
                        f"s = {row[0]:g} [m] is not on the rod, whose length is {length:.6g} [m]"
                    )
                    self.problems.add((*path, name, k), f"{problem}; take 0 to {length:.6g}")

    def _check_bars(self, table: Rod, ends: tuple[str, str], path: Steps) -> None:
        if table.bars % 2 and "clamped" in ends:
            problem = f"must be even, as an end is clamped and its hinges have Simpson's weights, got {table.bars}"
            self.problems.add((*path, "bars"), f"{problem}; take {table.bars + 1}")
        if table.surface is not None and not table.collision:
            problem = "acts on bars that collide; add collision = true, or remove it"
            self.problems.add((*path, "surface"), problem, of_key=True)

    def _is_planar(self, table: Rod, line: CentreLine, path: Steps) -> bool:
        """Return whether a rod that bends about one axis lies in the plane normal to it, and report if it does not."""
        for name in ("path", "start"):
            points = getattr(table, name)
            if not isinstance(points, list):
                continue
            off = np.ptp(np.array(points, float)[:, 1 if table.planar == "y" else 2])
            if off > OFF_PLANE * line.length:
                problem = f"leaves the plane in which the rod bends about {table.planar}, by {off:.3g} [m]"
                self.problems.add((*path, name), f"{problem}; correct the points, or remove planar")
                return False
        return True

    def _start(self, table: Rod, chain: Chain, path: Steps) -> _Start | None:
        """Return the bars at the start, None for the shape without stress."""
        at = (*path, "start")
        curve = (
            self._curve(table.start, at)
            if isinstance(table.start, list)
            else self._sagging(table, chain, path)
        )
        if curve is None:
            return None
        length = chain.line.length
        if abs(curve.length - length) > SAME_LENGTH * length:
            problem = (
                f"is a curve of {curve.length:.6g} [m], and rod {table.name!r} has {length:.6g} [m]"
            )
            self.problems.add(at, f"{problem}; make them equal to {SAME_LENGTH:.0%}")
            return None
        first = curve.points(np.zeros(1))[0]
        begins = chain.line.points(np.zeros(1))[0]
        if chain.ends[0] != "free" and math.dist(first, begins) > OFF_PLANE * length:
            problem = f"begins at {_point(first)}, and the rod is held at {_point(begins)} [m]"
            self.problems.add((*at, 0), f"{problem}; begin there")
            return None
        chords = np.linalg.norm(np.diff(chain.line.points(chain.s), axis=0), axis=1)
        points = points_along(curve, chords)
        return _Start(first, chain.rotations_along(points, curve.tangents(np.zeros(1))[0]))

    def _sagging(self, table: Rod, chain: Chain, path: Steps) -> CentreLine | None:
        """Return a catenary between ends in the world whose distance is not the rod's; None for others."""
        if table.a != WORLD or table.b != WORLD or table.slide:
            return None
        A = table.at_a.matrix
        held = chain.line.points(np.array([0.0, chain.line.length]))
        near, far = held[0], (np.linalg.inv(A) @ table.at_b.matrix)[:3, 3]
        length, span = chain.line.length, math.dist(near, far)
        if math.dist(held[1], far) < 1e-9 * length:
            return None
        if span > length:
            problem = f"holds an end {span:.6g} [m] from the other one, and rod {table.name!r} has {length:.6g} [m]"
            self.problems.add(
                (*path, "at_b"), f"{problem}; move the ends together, or make it longer"
            )
            return None
        if span < _LEAST_SPAN_RATIO * length:
            return None
        return catenary(near, far, length, A[:3, :3].T @ self.gravity)


def _point(point: Sequence[float] | Array) -> str:
    return f"({', '.join(f'{x:.6g}' for x in point)})"


def _material(table: Rod) -> Material | None:
    own = table.material
    if own is None:
        return None
    poisson = _POISSON if own.poisson is None else own.poisson
    shear = own.young / (2 + 2 * poisson) if own.shear is None else own.shear
    return Material(own.young, shear, own.density)


def _profile(name: str, rows: list[list[float]]) -> Profile:
    """Return the profile of rows; one number of EI is that about both axes."""
    if name == "EI" and len(rows[0]) == 2:
        rows = [[s, EI, EI] for s, EI in rows]
    return Profile.of(rows)


@dataclass(frozen=True)
class _Start:
    """Bars at the start: where the rod begins (3,), and the axes (n, 3, 3) of their frames, in frame A."""

    begin: Array
    rotations: Array


@dataclass(frozen=True)
class _Parts:
    """Bodies, joints and loops of a rod."""

    table: Rod
    chain: Chain
    where: str

    def _name(self, k: int) -> str:
        return f"{self.table.name}/{END if k == self.chain.bars else k}"

    def bodies(self) -> tuple[BodySpec, ...]:
        """Return the bars, and the body of the end."""
        return tuple(
            BodySpec(self._name(k), theta, *self._shapes(k))
            for k, theta in enumerate(self.chain.thetas)
        )

    def _shapes(self, k: int) -> tuple[tuple[Geometry, ...], str, tuple[CollisionSpec, ...]]:
        """Return what is drawn, the place of the table, and what collides, of a bar."""
        chain = self.chain
        if k == chain.bars:
            return (), self.where, ()
        y, z = chain.section.outline((chain.s[k : k + 1] + chain.s[k + 1 : k + 2]) / 2)[0].tolist()
        X = relative_pose(chain.hinge_frames[k], chain.bar_frames[k])
        ends = chain.line.points(chain.s[k : k + 2])
        length = float(np.linalg.norm(ends[1] - ends[0]))
        X[:3, 3] += X[:3, 0] * (length / 2)
        if chain.section.shape == "rectangle":
            shape = Shape("box", (length, y, z))
        else:
            shape, X = Shape("capsule", (y / 2, length)), X @ _TURN_Z_TO_X
        drawn = (Geometry(shape, X, self.table.color or COLOR, is_bar=True),)
        if not self.table.collision:
            return drawn, self.where, ()
        material = self.table.surface or "default"
        return drawn, self.where, (CollisionSpec(shape, X, material, where=self.where),)

    def joints(self, start: _Start | None) -> tuple[JointSpec, ...]:
        """Return the hinges, and the joint of the rod's beginning."""
        chain, H = self.chain, self.chain.hinge_frames
        at = [self.table.at_a.matrix @ H[0]]
        at += [relative_pose(H[k - 1], H[k]) for k in range(1, chain.bars + chain.has_end)]
        return tuple(self._joint(k, X, start) for k, X in enumerate(at))

    def _joint(self, k: int, at: Array, start: _Start | None) -> JointSpec:
        table, chain = self.table, self.chain
        kind = "ball" if table.planar is None else "revolute"
        if k == 0 and chain.ends[0] == "free":
            kind = "free"
        parent = table.a if k == 0 else self._name(k - 1)
        joint = plain_joint(self._name(k), kind, parent, self._name(k), at, self.where)
        if kind == "revolute":
            assert table.planar is not None
            joint = with_fields(joint, axis=_AXES[table.planar])
        if k > 0 or chain.ends[0] == "clamped":
            K = chain.stiffness[k]
            if kind == "revolute":
                K = K[[1 if table.planar == "y" else 2]]
            joint = with_fields(joint, stiffness=K, damping=table.damping * K)
        if start is None or k == chain.bars:
            return joint
        before = np.eye(3) if k == 0 else start.rotations[k - 1]
        H0 = chain.hinge_frames[0]
        R = (before @ (at[:3, :3] if k else H0[:3, :3])).T @ start.rotations[k]
        moved = start.begin - H0[:3, 3]
        q = _start_q(joint, R, H0[:3, :3].T @ moved)
        return with_fields(joint, start_q=q, given_start=frozenset({"q"}))

    def rod(self) -> RodSpec:
        """Return the rod by the names of its bars."""
        chain, table = self.chain, self.table
        names = tuple(self._name(k) for k in range(chain.bars + chain.has_end))
        begin = 0 if chain.ends[0] == "clamped" else 1
        K = chain.section.stiffness(chain.s)
        GJ, EIy, EIz = K[0].tolist()
        is_uniform = bool((K[0] == K).all())
        return RodSpec(
            table.name,
            names,
            self.where,
            hinges=names[begin:],
            weights=tuple(chain.weights[begin : len(names)].tolist()),
            axis={None: -1, "y": 1, "z": 2}[table.planar],
            EI=(EIy, EIz) if is_uniform else None,
            GJ=GJ if is_uniform else None,
            damping=table.damping,
            length=chain.line.length,
            has_path=table.path is not None,
            ends=chain.ends,
            has_end=chain.has_end,
            shape=RodShape(
                chain.hinge_frames[: len(names)],
                chain.rings(),
                chain.section.outline(np.linspace(0, chain.line.length, chain.count_rings())),
                chain.section.shape != "rectangle",
                table.color or COLOR,
            ),
            has_section=bool(chain.section.shape),
        )

    def in_equilibrium(self) -> tuple[str, ...]:
        """Return the joints that start in equilibrium, if the rod does."""
        if self.table.start != EQUILIBRIUM:
            return ()
        return self.rod().bars

    def loops(self) -> tuple[LoopSpec, ...]:
        """Return the loop that holds the far end, if it is held."""
        table, chain = self.table, self.chain
        if table.b is None:
            return ()
        k, X = chain.station(chain.line.length)
        is_clamped = chain.ends[1] == "clamped"
        kind = _LOOPS[is_clamped, table.slide]
        axis = (1.0, 0.0, 0.0) if table.slide else (0.0, 0.0, 1.0)
        B = table.at_b.matrix
        return (LoopSpec(table.name, kind, table.b, self._name(k), B, X, axis, where=self.where),)

    def contacts(self) -> ContactsSpec | None:
        """Return the pairs of bars that do not touch each other, as they are next to one another."""
        if not self.table.collision:
            return None
        chain, table = self.chain, self.table
        thick = float(chain.section.outline(chain.s).max())
        apart = 2 + int(NEIGHBOUR_DIAMETERS * thick / chain.s[1])  # bars from which on they touch
        names = [self._name(k) for k in range(chain.bars)]
        near = [
            (names[i], names[j])
            for i in range(chain.bars)
            for j in range(i + 1, min(i + apart, chain.bars))
        ]
        near += [
            (table.a, name)
            for name in names[: apart - 1]
            if table.a != "world" and chain.ends[0] != "free"
        ]
        near += [(table.b, name) for name in names[1 - apart :] if table.b not in (None, "world")]
        return ContactsSpec({}, (), (), tuple(near))


def _start_q(joint: JointSpec, R: Array, moved: Array) -> Array:
    """Return the coordinates of a hinge whose rotation is R (3, 3), and of a free joint moved (3,) [m]."""
    quaternion = quaternion_from_rotation(R)
    if joint.type == "revolute":
        axis = 1 if joint.axis[1] else 2
        return np.array([2 * math.atan2(quaternion[axis], quaternion[3])])
    q = np.array(find_joint(joint.type).neutral)
    q[-4:] = quaternion
    if joint.type == "free":
        q[:3] = moved
    return q
