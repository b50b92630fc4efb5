"""Rods as chains of rigid bars: places and axes of the hinges, their stiffness, and the inertias of the bars.

n bars of equal length b = L/n are joined by hinges at s = 0, b, 2b, …, L with the stiffness EI/w. The deflection of a
rod is ∫ M m̄/EI ds, and hinges are a quadrature of it, so that w are its weights:

    w = b/3 (1, 4, 2, 4, …, 4, 1)   if an end is clamped (Simpson's rule, n even)
    w = b (1/2, 1, 1, …, 1, 1/2)    if none is

A hinge at an end exists if a moment may act there: at a clamped end, and at the free end of a rod whose other end is
clamped. The last hinge moves a body "end", which has a part of the last bar's mass and of its moments of inertia, so
that the rigid rod has its own.

The frame of a bar is that of the hinge at its beginning: x along the mean of the bars that meet there, y and z carried
along the line without a twist.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia.parameters import moved_by
from pysim.scene.poses import relative_pose
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.rods.centre_line import CentreLine
    from pysim.scene.rods.sections import Section

_END_INERTIA = 0.5  # share of the last bar's moments of inertia about its centre of mass, in the body of the end
_END_MASS = 0.25  # share of the same by which the mass of that body lowers what is left
_RINGS = 240  # along a rod that is drawn
_RINGS_OF_BAR = (2, 8)  # of a bar, at least and at most
_MOST_FITS = 50  # of the arcs to the chords of a line
_EQUAL_FACTORS = 1e-14  # difference of a line's chords over bars' lengths
_LEAST_FACTOR = 0.1  # where a line bends within a bar so that the chord is much shorter
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True)
class Chain:
    """Chain of bars of a rod, in the frame of its near end.

    Attributes:
        line: the centre line that is free of stress.
        section: along it.
        bars: their number n.
        ends: "clamped", "ball" or "free", at s = 0 and at s = L.
    """

    line: CentreLine
    section: Section
    bars: int
    ends: tuple[str, str]

    @cached_property
    def s(self) -> Array:
        """Arc lengths (n + 1,) of the hinges [m]."""
        return np.linspace(0.0, self.line.length, self.bars + 1)

    @property
    def has_end(self) -> bool:
        """Whether there is a hinge at s = L, with a body behind it."""
        return self.ends[1] == "clamped" or self.ends == ("clamped", "free")

    @cached_property
    def weights(self) -> Array:
        """Lengths w (n + 1,) of the rod for which the hinges stand [m]."""
        b = self.line.length / self.bars
        if "clamped" not in self.ends:
            return np.array([b / 2, *[b] * (self.bars - 1), b / 2])
        w = np.full(self.bars + 1, 2.0)
        w[1::2] = 4.0
        w[0] = w[-1] = 1.0
        return w * (b / 3)

    @cached_property
    def stiffness(self) -> Array:
        """Stiffness (n + 1, 3) of the hinges about x, y and z [N·m/rad]."""
        return np.asarray(self.section.stiffness(self.s) / self.weights[:, None])

    @cached_property
    def bar_frames(self) -> Array:
        """Frames (n, 4, 4) of the bars: origin at the hinge where a bar begins, x along the chord."""
        return frames_along(self.line.points(self.s), self._first_tangent)

    @cached_property
    def hinge_frames(self) -> Array:
        """Frames (n + 1, 4, 4) of the hinges, x along the mean of the bars there; at the ends along the line."""
        P = self.line.points(self.s)
        H = np.tile(np.eye(4), (self.bars + 1, 1, 1))
        H[:, :3, 3] = P
        if self.line.is_straight:
            return H
        bars = self.bar_frames
        H[0, :3, :3] = first_frame(self._first_tangent)
        for k in range(1, self.bars):
            before, after = bars[k - 1], bars[k]
            mean = before[:3, 0] + after[:3, 0]
            H[k, :3, :3] = turned(before[:3, :3], mean / np.linalg.norm(mean))
        H[-1, :3, :3] = turned(bars[-1][:3, :3], self.line.tangents(self.s[-1:])[0])
        return H

    @property
    def _first_tangent(self) -> Array:
        return np.asarray(self.line.tangents(np.zeros(1))[0])

    def station(self, s: float) -> tuple[int, Array]:
        """Return the bar at an arc length, n for the body of the end, and the pose (4, 4) of the rod's frame there."""
        k = min(int(s / self.line.length * self.bars * (1 + 1e-12)), self.bars - 1)
        if s >= self.line.length and self.has_end:
            return self.bars, np.eye(4)
        X = np.eye(4)
        X[:3, 3] = self.line.points(np.array([s]))[0]
        if not self.line.is_straight:
            X[:3, :3] = turned(self.bar_frames[k][:3, :3], self.line.tangents(np.array([s]))[0])
        return k, relative_pose(self.hinge_frames[k], X)

    def count_rings(self) -> int:
        """Return the number n of rings by which the rod is drawn, in equal steps with one at each hinge."""
        return 1 + self.bars * int(np.clip(_RINGS // self.bars, *_RINGS_OF_BAR))

    def rings(self) -> Array:
        """Return the points of the line at the rings (n, 3), and the y axes of the sections there."""
        s = np.linspace(0.0, self.line.length, self.count_rings())
        points, tangents = self.line.points(s), self.line.tangents(s)
        R = first_frame(self._first_tangent)
        y = np.empty_like(points)
        for k, tangent in enumerate(tangents):
            R = turned(R, tangent)
            y[k] = R[:, 1]
        return np.concatenate([points, y], axis=1)

    @cached_property
    def thetas(self) -> list[Array]:
        """θ (10,) of the bars, and of the end if there is one, in their frames."""
        s = self.s
        half = (s[1:] - s[:-1]) / 2
        along = s[:-1, None] + half[:, None] * (1 + _NODES)
        m, jx, j = (
            x.reshape(self.bars, len(_NODES), *x.shape[1:])
            for x in self.section.inertias(along.ravel())
        )
        ds = half[:, None] * _WEIGHTS
        chords = np.linalg.norm(np.diff(self.line.points(s), axis=0), axis=1)
        x = chords[:, None] * (1 + _NODES) / 2
        theta = np.zeros((self.bars, 10))
        theta[:, 0] = (m * ds).sum(axis=1)
        theta[:, 1] = (m * x * ds).sum(axis=1)
        theta[:, 4] = (jx * ds).sum(axis=1)
        section_inertia = (j * ds[..., None]).sum(axis=1)  # of the sections, about y and z
        theta[:, [6, 9]] = (m * x**2 * ds).sum(axis=1)[:, None] + section_inertia
        in_bars = [
            relative_pose(self.hinge_frames[k], self.bar_frames[k]) for k in range(self.bars)
        ]
        end = np.zeros(10)
        if self.has_end:
            mass, length = theta[-1, 0], chords[-1]
            center = theta[-1, 1] / mass
            central = theta[-1, 6] - section_inertia[-1, 0] - mass * center**2
            q = _END_MASS * central / (length - center) ** 2
            end[0] = q * mass / (mass + q)
            end[4] = _END_INERTIA * theta[-1, 4]
            end[[6, 9]] = _END_INERTIA * (central + section_inertia[-1])
            theta[-1] -= end
            theta[-1, 1] -= end[0] * length
            theta[-1, [6, 9]] -= end[0] * length**2
        if self.line.is_straight:
            found = list(theta)
        else:
            found = [
                moved_by(section_inertia, X)
                for section_inertia, X in zip(theta, in_bars, strict=True)
            ]
        return [*found, end] if self.has_end else found

    def rotations_along(self, points: Array, tangents: Array) -> Array:
        """Return the rotations (n, 3, 3) of the hinges' frames when they are at other points (n + 1, 3).

        Tangents (2, 3) are those at the beginning and at the end, along which the body of a held end is. That of a free
        end is as without stress beside the last bar: it is light, and a moment would shake it.
        """
        there = frames_along(points, tangents[0])[:, :3, :3]
        rotations = [
            R @ self.bar_frames[k][:3, :3].T @ self.hinge_frames[k][:3, :3]
            for k, R in enumerate(there)
        ]
        if self.has_end and self.ends[1] != "free":
            rotations.append(turned(there[-1], tangents[1]))
        return np.array(rotations)


def frames_along(points: Array, tangent: Array) -> Array:
    """Return the frames (n, 4, 4) of n bars between n + 1 points, carried along them from a first tangent."""
    chords = np.diff(points, axis=0)
    chords /= np.linalg.norm(chords, axis=1)[:, None]
    X = np.tile(np.eye(4), (len(chords), 1, 1))
    X[:, :3, 3] = points[:-1]
    if np.array_equal(chords, np.tile([1.0, 0.0, 0.0], (len(chords), 1))):
        return X
    R = first_frame(tangent)
    for k, chord in enumerate(chords):
        R = X[k, :3, :3] = turned(R, chord)
    return X


def first_frame(tangent: Array) -> Array:
    """Return the axes (3, 3) with x along a tangent that turn least from those of the rod's near end."""
    if tangent[0] < -1 + 1e-12:
        return np.diag([-1.0, -1.0, 1.0])
    return turned(np.eye(3), tangent)


def turned(R: Array, x: Array) -> Array:
    """Return the axes R (3, 3), turned about the normal of their x axis and a unit vector x until they coincide."""
    w, c = np.cross(R[:, 0], x), float(R[:, 0] @ x)
    W = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.asarray(R + (W + W @ W / (1 + c)) @ R)


def points_on(line: CentreLine, lengths: Array) -> Array:
    """Return points (n + 1, 3) from a line's begin to its end, whose chords have the ratios of bars' lengths (n,).

    Bars of these lengths along the chords are then the line's polygon, larger by the same factor everywhere: where the
    line is closed, they are.
    """
    arcs = lengths * (line.length / lengths.sum())
    for _ in range(_MOST_FITS):
        points = line.points(np.concatenate([[0.0], np.cumsum(arcs[:-1]), [line.length]]))
        factors = np.linalg.norm(np.diff(points, axis=0), axis=1) / lengths
        if np.ptp(factors) < _EQUAL_FACTORS:
            break
        arcs /= np.maximum(factors, _LEAST_FACTOR)
        arcs *= line.length / arcs.sum()
    return points
