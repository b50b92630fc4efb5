"""Sections of rods: bending and torsional stiffness, mass and moments of inertia per length, along the rod.

    EIy = E ∫ z² dA     EIz = E ∫ y² dA     GJ = G J     m = ρ A     jy = ρ ∫ z² dA     jz = ρ ∫ y² dA

x is along the rod, y and z are axes of the section; EIy bends the rod in its x–z plane. J of a rectangle with sides
a ≥ b is Saint-Venant's [Timoshenko and Goodier, Theory of Elasticity, section 109]:

    J = a b³/3 (1 − 192 b/(π⁵ a) Σ tanh((2k + 1) π a/2b) / (2k + 1)⁵)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

# length over the diameter of a rod that is drawn without a shape of its section
SLENDERNESS = 200.0
_ODD_NUMBERS = 2 * np.arange(20) + 1
_SUM_OF_POWERS = 31 / 32 * 1.0369277551433699  # Σ (2k + 1)⁻⁵


@dataclass(frozen=True)
class Profile:
    """Numbers along a rod: linear between stations, constant beyond them.

    Attributes:
        s: stations (n,) [m].
        values: numbers there (n, count).
    """

    s: Array
    values: Array

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> Profile:
        """Return the profile of rows [s, value, …]."""
        numbers = np.array(rows, float)
        return cls(numbers[:, 0], numbers[:, 1:])

    def at(self, s: Array) -> Array:
        """Return the numbers at lengths s (k,), (k, count)."""
        columns = [np.interp(s, self.s, column) for column in self.values.T]
        return np.stack(columns, axis=-1)


@dataclass(frozen=True)
class Material:
    """Elastic material: moduli of Young and of shear [Pa], density [kg/m³]."""

    young: float
    shear: float
    density: float


@dataclass(frozen=True)
class Section:
    """Section along a rod. Numbers left out follow from the shape and the material.

    Attributes:
        shape: "circle", "tube" or "rectangle"; "" if its numbers are given.
        sizes: diameters, or sides along y and z [m].
        material: of the shape.
        EI: EIy and EIz [N·m²].
        GJ: torsional stiffness [N·m²].
        mass: mass per length [kg/m].
        inertia: jy and jz [kg·m].
    """

    shape: str
    sizes: Profile
    material: Material | None = None
    EI: Profile | None = None
    GJ: Profile | None = None
    mass: Profile | None = None
    inertia: Profile | None = None

    def stiffness(self, s: Array) -> Array:
        """Return GJ, EIy and EIz (k, 3) [N·m²] at lengths s (k,)."""
        _, moments, torsion = self._geometry(s)
        K = np.zeros((len(s), 3))
        if self.material is not None:
            K[:, 0] = self.material.shear * torsion
            K[:, 1:] = self.material.young * moments
        if self.GJ is not None:
            K[:, 0] = self.GJ.at(s)[:, 0]
        if self.EI is not None:
            K[:, 1:] = self.EI.at(s)
        return K

    def inertias(self, s: Array) -> tuple[Array, Array, Array]:
        """Return m (k,) [kg/m], and the moments of inertia per length (k,) about x, and (k, 2) about y and z [kg·m].

        Without a shape and moments of inertia, those about y and z are 0, and that about x is of the drawn circle.
        """
        area, moments, _ = self._geometry(s)
        if self.mass is not None:
            m = self.mass.at(s)[:, 0]
        else:
            assert self.material is not None
            m = self.material.density * area
        if self.inertia is not None:
            j = self.inertia.at(s)
            return m, j.sum(axis=1), j
        j = moments * (m / area)[:, None]
        return m, j.sum(axis=1), j if self.shape else np.zeros_like(j)

    def outline(self, s: Array) -> Array:
        """Return the sides along y and z (k, 2) [m], or twice the outer diameter."""
        sizes = self.sizes.at(s)
        return sizes if self.shape == "rectangle" else sizes[:, [0, 0]]

    def _geometry(self, s: Array) -> tuple[Array, Array, Array]:
        """Return A (k,), Iy and Iz (k, 2) and J (k,)."""
        sizes = self.sizes.at(s)
        if self.shape == "rectangle":
            y, z = sizes.T
            return y * z, np.stack([y * z**3, z * y**3], -1) / 12, _torsion_of_rectangle(y, z)
        outer, inner = sizes[:, 0], sizes[:, 1] if self.shape == "tube" else 0.0
        moment = np.pi * (outer**4 - inner**4) / 64
        return np.pi * (outer**2 - inner**2) / 4, np.stack([moment, moment], -1), 2 * moment


def _torsion_of_rectangle(y: Array, z: Array) -> Array:
    """Return J (k,); the sum converges fast as that of 1 − tanh."""
    a, b = np.maximum(y, z), np.minimum(y, z)
    x = np.outer(a / b, _ODD_NUMBERS * np.pi / 2)
    total = _SUM_OF_POWERS - ((1 - np.tanh(x)) / _ODD_NUMBERS**5).sum(axis=1)
    J: Array = a * b**3 / 3 * (1 - 192 * b / (np.pi**5 * a) * total)
    return J
