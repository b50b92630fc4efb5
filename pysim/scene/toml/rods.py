"""Reader of rods: their tables become bodies, joints, loops and frames, as if the scene had them one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.attachment import Parts
from pysim.scene.rods.centre_line import CentreLine, catenary, curve_through, straight_line
from pysim.scene.rods.chain import Chain, points_on
from pysim.scene.rods.sections import SLENDERNESS, Material, Profile, Section
from pysim.scene.spec import (
    FrameSpec,
)
from pysim.scene.toml.records.references import AT, names_of_stations
from pysim.scene.toml.records.rod_table import SHAPES
from pysim.scene.toml.rod_parts import END, RodParts, RodStart
from pysim.scene.tree import WORLD
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.rod_table import Rod, RodSection
    from pysim.scene.toml.records.tables import Scene
    from pysim.scene.toml.source import Steps

OFF_PLANE = 1e-6  # of the length
SAME_LENGTH = 0.02  # share by which a start curve may be shorter or longer than the rod
_POISSON = 0.3
_LEAST_SPAN_RATIO = 0.05  # distance of the ends over the length, below which no catenary is a start


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
        before = len(self.problems.entries)
        line, ends = self._line(table, path), self._ends(table, path)
        section = self._section(table, line, path)
        self._check_bars(table, ends, path)
        if line is None or section is None or len(self.problems.entries) > before:
            return Parts()
        chain = Chain(line, section, table.bars, ends)
        if table.planar is not None and not self._is_planar(table, line, path):
            return Parts()
        self._chains[table.name] = chain
        start = self._start(table, chain, path)
        where = self.problems.source.where(path)
        parts = RodParts(table, chain, where)
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

    def _start(self, table: Rod, chain: Chain, path: Steps) -> RodStart | None:
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
        tangents = curve.tangents(np.array([0.0, curve.length]))
        return RodStart(first, chain.rotations_along(points_on(curve, chords), tangents))

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
