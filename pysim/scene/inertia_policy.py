"""Treatment of physically inconsistent inertias: warn, reject, or replace with the nearest consistent one.

Files of real robots contain such inertias in links whose moving body as a whole has a valid inertia, so by default
there is a warning only. `strict` rejects every one; `nearest` replaces it and logs that.
"""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Literal

from pysim.errors import PysimWarning
from pysim.inertia import nearest_physical, unphysical_reason
from pysim.scene.inertia_text import clean_inertia, nearest_printable, urdf_inertia
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.urdf.xml import Element

InertiaPolicy = Literal["check", "strict", "nearest"]
INERTIA_POLICIES: tuple[InertiaPolicy, ...] = ("check", "strict", "nearest")
log = logging.getLogger("pysim")


def apply_inertia_policy(theta: Array, inertial: Element, owner: str, rule: InertiaPolicy) -> Array:
    """Return the θ (10,) to use for that of an <inertial>, about its own centre of mass and axes.

    Raises:
        SceneError: θ is physically inconsistent, and the policy is strict.
    """
    reason = unphysical_reason(theta)
    if reason is None:
        return theta
    problem = f"the inertia is not physically consistent: {reason}"
    if theta[0] == 0:
        remedy = "give the link a mass [kg], or remove the inertia"
    else:
        text = urdf_inertia(clean_inertia(nearest_printable(theta)))
        if rule == "nearest":
            log.info("%s: %s: %s; taken instead: %s", inertial.where, owner, problem, text)
            return nearest_physical(theta)
        remedy = f'the nearest valid one is {text}; paste it, or load with inertia = "nearest"'
    if rule == "strict":
        inertial.fail(f"{problem}; {remedy}")
    text = f"{inertial.where}: {owner}: {problem}; {remedy}"
    warnings.warn(text, PysimWarning, stacklevel=2)
    return theta
