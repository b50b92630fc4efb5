"""Mass properties as a robot or scene file writes them, on one line that can be pasted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.inertia import center_of_mass, central_inertia

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ENTRIES = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}


def rounded(value: float) -> float:
    """Return a number as it is written."""
    return float(written(value))


def written(value: float) -> str:
    """Return a number with the nine digits that keep a plate a plate."""
    return f"{value + 0.0:.9g}"  # −0 is 0


def urdf_inertia(I_C: Array) -> str:
    """Return the <inertia> of a URDF file for an inertia about the centre of mass (3, 3) [kg·m²]."""
    entries = " ".join(f'i{name}="{written(I_C[at])}"' for name, at in ENTRIES.items())
    return f"<inertia {entries}/>"


def urdf_inertial(theta: Array) -> str:
    """Return the <inertial> of a URDF file for θ (10,), in the link's own axes."""
    xyz = " ".join(map(written, center_of_mass(theta)))
    mass = f'<mass value="{written(theta[0])}"/>'
    inertia = urdf_inertia(central_inertia(theta))
    return f'<inertial><origin xyz="{xyz}" rpy="0 0 0"/>{mass}{inertia}</inertial>'


def toml_inertia(theta: Array) -> str:
    """Return the value of a body's key `inertia` for θ (10,): about the centre of mass, body axes."""
    I_C = central_inertia(theta)
    entries = (f"{name} = {written(I_C[at])}" for name, at in ENTRIES.items())
    return f"{{ {', '.join(entries)} }}"
