"""Report of the parts of an MJCF model that pysim does not read: fluids, plugins, motion capture, cameras, lights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel


def reject_deformable(model: MujocoModel) -> None:
    """Reject a model with deformable bodies.

    Raises:
        SceneError: there is one.
    """
    if model.m.nflex:
        where = model.location("flexes", 0)
        name = model.name("FLEX", 0)
        problem = f"flex {name!r} is a deformable body; pysim simulates rigid bodies, remove it"
        raise SceneError(where, problem)


def report_unsupported(model: MujocoModel, omissions: Omissions) -> None:
    """Record every part of the model that the specification does not hold."""
    m = model.m
    _of_forces(model, omissions)
    _listed(model, omissions, "cameras", "CAMERA", range(m.ncam), "cameras")
    _listed(model, omissions, "lights", "LIGHT", range(m.nlight), "lights")
    _listed(model, omissions, "skins", "SKIN", range(m.nskin), "skins")


def _of_forces(model: MujocoModel, omissions: Omissions) -> None:
    """Report what exerts forces: fluids, motion capture, engine plugins."""
    m, where = model.m, str(model.path)
    for k in map(int, np.flatnonzero(m.body_mocapid >= 0)):
        place = model.location("bodies", k)
        reason = "is fixed: motion capture moves no bodies in pysim"
        omissions.add("mocap bodies", f"body {model.bodies[k]!r}", place, reason)
    if m.opt.density or m.opt.viscosity:
        fluid = f"density {m.opt.density:g} kg/m³, viscosity {m.opt.viscosity:g} Pa·s"
        omissions.add(
            "media", f"the medium ({fluid})", where, "is left out: fluid forces are not read"
        )
    if m.nplugin:
        names = ", ".join(model.label("PLUGIN", k) for k in range(m.nplugin))
        omissions.add("plugins", f"plugins {names}", where, "are left out: they are code of MuJoCo")


def _listed(
    model: MujocoModel,
    omissions: Omissions,
    kind: str,
    object_type: str,
    indices: Iterable[int],
    elements: str,
) -> None:
    for k in indices:
        place = model.location(elements, k)
        item = f"{kind.removesuffix('s')} {model.label(object_type, k)}"
        omissions.note(kind, item, place, "is not read")
