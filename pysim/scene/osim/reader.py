"""Reader of OpenSim's models (.osim), of version 4 and before.

Bodies, frames, joints, constraints and markers are read. The up direction of the file, y, and its gravity are kept. The
range of a coordinate is no stop in OpenSim and none here. What is not read is reported with its name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.import_omissions import Omissions
from pysim.scene.massless_joints import fix_massless_joints
from pysim.scene.osim.bodies import read_bodies
from pysim.scene.osim.constraints import ConstraintReader, dependents_of
from pysim.scene.osim.forces import ForceReader, coordinates_of_forces
from pysim.scene.osim.frames import GROUND, Frames
from pysim.scene.osim.geometry import GeometryReader
from pysim.scene.osim.gravity import stated_gravity
from pysim.scene.osim.joints import Coordinate, JointItem, TreeBuilder, joint_items
from pysim.scene.osim.markers import read_markers
from pysim.scene.osim.paths import PathReader
from pysim.scene.osim.values import numbers
from pysim.scene.osim.wraps import surfaces_of
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.scene.stop_defaults import with_stops
from pysim.scene.tree import WORLD, check_connections
from pysim.scene.urdf.joints import plain_joint
from pysim.scene.urdf.xml import read_xml

if TYPE_CHECKING:
    from os import PathLike

    from pysim.scene.importer import ImportOptions
    from pysim.scene.spec import JointSpec
    from pysim.scene.urdf.xml import Element

GRAVITY = (0.0, -9.80665, 0.0)  # [m/s²]
EARLIEST_VERSION = 10900  # version of the format


def read_osim(path: str | PathLike[str], options: ImportOptions) -> ModelSpec:
    """Return the mechanism of an OpenSim file.

    Raises:
        SceneError: the file cannot be read; the text says `file:line:column`, what, and what to do.
        ModelError: bodies and joints do not form a mechanism.
    """
    path = Path(path)
    omissions = Omissions(strict=options.strict)
    model = _model_in(path)
    frames = Frames(model)
    items = joint_items(model, frames)
    bodies = read_bodies(model, options.inertia)
    named = dependents_of(model) | coordinates_of_forces(model)
    tree = TreeBuilder(named, {body.name for body in bodies})
    _check_children(items, model)
    for item in items:
        tree.add(item)
    joints = [*tree.joints, *_free_joints(bodies, items)]
    coordinates = _by_name(items)
    constraints = ConstraintReader(frames, coordinates, omissions, options.mimic)
    constraints.read(model)
    surfaces = surfaces_of(model, frames)
    paths = PathReader(frames, constraints, items, surfaces, omissions)
    forces = ForceReader(frames, paths, omissions)
    forces.read(model)
    bodies = [*bodies, *tree.bodies]
    shapes = GeometryReader(path.parent, options, frames, omissions).read(model)
    bodies = [replace(body, geometries=shapes.get(body.name, ())) for body in bodies]
    if shapes.get(WORLD):  # on a body of their own, which is fixed to the world
        bodies.append(BodySpec(GROUND, np.zeros(10), shapes[WORLD], model.where))
        joints.append(plain_joint(GROUND, "fixed", WORLD, GROUND, np.eye(4), model.where))
    taken = {body.name for body in bodies}
    spec = ModelSpec(
        name=model.attributes.get("name", "").strip() or path.stem,
        gravity=np.array(numbers(model, "gravity", 3, GRAVITY)),
        bodies=tuple(bodies),
        joints=constraints.with_followers(tuple(joints)),
        frames=tuple(read_markers(model, frames, taken)),
        where=str(path),
        loops=tuple(constraints.loops),
        couplings=tuple(constraints.couplings),
        forces=tuple(forces.forces),
        blocks=tuple(forces.blocks),
        self_collision=True,
    )
    check_connections(spec)
    if options.fix_massless:
        spec = fix_massless_joints(spec, omissions)
    return replace(spec, joints=with_stops(spec.joints, spec.bodies), omitted=omissions.warn())


def gravity_of(path: Path) -> tuple[float, ...]:
    """Return the gravity of a file [m/s²]."""
    return stated_gravity(path) or numbers(_model_in(path), "gravity", 3, GRAVITY)


def _model_in(path: Path) -> Element:
    document = read_xml(path)
    if document.tag != "OpenSimDocument":
        problem = f"the root element of a model is <OpenSimDocument>, got <{document.tag}>"
        document.fail(f"{problem}; name the file of a model")
    version = document.attributes.get("Version", "").strip()
    if not version.isdecimal() or int(version) < EARLIEST_VERSION:
        problem = f"the version {version!r} of <OpenSimDocument> is not read"
        document.fail(f"{problem}; save the model with OpenSim 4")
    return document.required("Model")


def _check_children(items: list[JointItem], model: Element) -> None:
    """Reject a body that two joints move."""
    movers: dict[str, JointItem] = {}
    for item in items:
        if item.child in movers:
            other = movers[item.child].name
            problem = f"joints {other!r} and {item.name!r} both move {item.child!r}"
            item.element.fail(f"{problem}; close the loop by a constraint in place of one")
        movers[item.child] = item
    if not items and model.child("BodySet") is None:
        model.fail("needs a <BodySet> with a <Body>")


def _free_joints(bodies: list[BodySpec], items: list[JointItem]) -> list[JointSpec]:
    """Return free joints of the bodies that no joint moves, as OpenSim adds them."""
    moved = {item.child for item in items}
    return [
        plain_joint(f"{body.name}/free", "free", WORLD, body.name, np.eye(4), body.where)
        for body in bodies
        if body.name not in moved
    ]


def _by_name(items: list[JointItem]) -> dict[str, Coordinate]:
    """Return the coordinates of all joints by name.

    Raises:
        SceneError: two have one name.
    """
    found: dict[str, Coordinate] = {}
    for item in items:
        for coordinate in item.coordinates:
            if coordinate.name in found:
                element = coordinate.element or item.element
                element.fail(f"second coordinate {coordinate.name!r}; rename one")
            found[coordinate.name] = coordinate
    return found
