"""Mass properties as text of a robot or scene file, on one line that can be pasted."""

from __future__ import annotations

import numpy as np

from pysim.inertia import center_of_mass, central_inertia, nearest_physical
from pysim.typing import Array

_MARGINS = (0.0, 1e-8, 1e-7, 1e-6)  # of the largest second moment; nine digits round by 5e-10
ENTRIES = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}


def rounded(value: float) -> float:
    """Return a number rounded to its printed digits."""
    return float(format_number(value))


def format_number(value: float) -> str:
    """Return a number with nine digits, which suffice for a plate to remain consistent."""
    return f"{value + 0.0:.9g}"  # −0 is 0


def nearest_printable(theta: Array) -> Array:
    """Return the consistent parameters nearest to θ (10,) whose printed principal moments are not negative.

    A rod has a moment of 0, which may become negative with nine digits; it is then given a small thickness.
    """
    for margin in _MARGINS:
        near = nearest_physical(theta, margin)
        if np.linalg.eigvalsh(np.vectorize(rounded)(clean_inertia(near)))[0] >= 0:
            break
    return near


def clean_inertia(theta: Array) -> Array:
    """Return the inertia about the centre of mass (3, 3) [kg·m²] of θ (10,), with rounding errors set to 0."""
    I_C = central_inertia(theta)
    rounding = 8 * np.finfo(float).eps * np.abs(theta[4:]).max()
    return np.where(np.abs(I_C) > rounding, I_C, 0.0)


def urdf_inertia(I_C: Array) -> str:
    """Return the <inertia> of a URDF file for an inertia about the centre of mass (3, 3) [kg·m²]."""
    entries = " ".join(f'i{name}="{format_number(I_C[at])}"' for name, at in ENTRIES.items())
    return f"<inertia {entries}/>"


def urdf_inertial(theta: Array) -> str:
    """Return the <inertial> of a URDF file for θ (10,), in the link's own axes."""
    xyz = " ".join(map(format_number, center_of_mass(theta)))
    mass = f'<mass value="{format_number(theta[0])}"/>'
    inertia = urdf_inertia(clean_inertia(theta))
    return f'<inertial><origin xyz="{xyz}" rpy="0 0 0"/>{mass}{inertia}</inertial>'


def toml_inertia(theta: Array) -> str:
    """Return the value of a body's key `inertia` for θ (10,): about the centre of mass, body axes."""
    I_C = clean_inertia(theta)
    entries = (f"{name} = {format_number(I_C[at])}" for name, at in ENTRIES.items())
    return f"{{ {', '.join(entries)} }}"
