"""What becomes of an inertia that no body has: told, refused, or replaced by the nearest one.

A robot's file may hold one where the moving body it is part of still has a positive inertia, as real robots do: it is
told. `strict` refuses every one, `nearest` takes the closest body instead and logs it.
"""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Literal

from pysim.errors import PysimWarning
from pysim.inertia import nearest_physical, unphysical_reason
from pysim.scene.inertia_text import clean_inertia, nearest_printable, urdf_inertia

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pysim.scene.urdf.xml import Element

    Array = NDArray[np.float64]

InertiaPolicy = Literal["check", "strict", "nearest"]
INERTIA_POLICIES: tuple[InertiaPolicy, ...] = ("check", "strict", "nearest")
log = logging.getLogger("pysim")


def apply_inertia_policy(theta: Array, inertial: Element, owner: str, rule: InertiaPolicy) -> Array:
    """Return the θ (10,) to take for an <inertial>'s, about its own centre of mass and axes.

    Raises:
        SceneError: no body has it, and the rule is strict.
    """
    reason = unphysical_reason(theta)
    if reason is None:
        return theta
    told = f"no body has this inertia: {reason}"
    if theta[0] == 0:
        remedy = "give the link a mass [kg], or remove the inertia"
    else:
        text = urdf_inertia(clean_inertia(nearest_printable(theta)))
        if rule == "nearest":
            log.warning("%s: %s: %s; taken instead: %s", inertial.where, owner, told, text)
            return nearest_physical(theta)
        remedy = f'the nearest is {text}; paste it, or load with inertia = "nearest"'
    if rule == "strict":
        inertial.fail(f"{told}; {remedy}")
    text = f"{inertial.where}: {owner}: {told}; {remedy}"
    warnings.warn(text, PysimWarning, stacklevel=2)
    return theta
