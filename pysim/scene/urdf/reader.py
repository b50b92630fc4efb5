"""Reader of robots in the Unified Robot Description Format (URDF).

It reads links with mass properties, shapes and colours, and joints with limits, damping, friction and mimic. It rejects
faults that change the motion, such as misspelt URDF names. It warns of what it leaves out, such as a missing mesh, and
lists the reductions of transmissions and extensions of other programs. The contents of meshes are read when first used.
A revolute joint without a range is continuous.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.import_omissions import Omissions
from pysim.scene.massless_joints import fix_massless_joints, has_mass
from pysim.scene.spec import ModelSpec
from pysim.scene.stop_defaults import with_stops
from pysim.scene.tree import WORLD, check_connections
from pysim.scene.urdf.extensions import list_extensions
from pysim.scene.urdf.joints import plain_joint, read_joint, resolve_mimics
from pysim.scene.urdf.links import Links
from pysim.scene.urdf.names import check_spelling
from pysim.scene.urdf.srdf import Srdf
from pysim.scene.urdf.surfaces import read_contacts
from pysim.scene.urdf.transmissions import read_transmissions
from pysim.scene.urdf.xacro import expand_xacro, is_xacro
from pysim.scene.urdf.xml import read_xml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import BodySpec, JointSpec
    from pysim.scene.urdf.xml import Element

GRAVITY = (0.0, 0.0, -9.81)  # [m/s²]
ROOT_FIXED, ROOT_FREE = "root_fixed", "root_joint"
WORLD_LINK = "world_link"


def read_urdf(
    path: str | PathLike[str],
    *,
    free_base: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
    mimic: bool = True,
    inertia: InertiaPolicy = "check",
    strict: bool = False,
    fix_massless: bool = True,
    allow_code: bool = False,
    srdf: Path | None = None,
) -> ModelSpec:
    """Return the mechanism of a URDF file, in gravity (0, 0, −9.81) m/s².

    The root link is welded to the world by a joint "root_fixed", or free on "root_joint". A link called "world"
    is the world itself if it is the root, welded and empty; otherwise it becomes the body "world_link".

    Args:
        path: the file.
        free_base: whether the root link floats.
        package_dirs: folders where `package://` is looked up first.
        mimic: let mimic joints follow; otherwise each is a coordinate of its own.
        inertia: how to treat a physically inconsistent inertia: "check" warns of it, "strict" rejects it, "nearest"
            replaces it.
        strict: reject what would be left out: missing meshes, broken shapes, repeated elements, massless joints.
        fix_massless: fix joints that move no mass; otherwise they are left to the check of the model.
        srdf: SRDF file whose states of groups become keyframes, and whose disabled pairs do not touch.
        allow_code: expand a file written in xacro, whose expressions are Python.

    Raises:
        SceneError: the file cannot be read; the text says `file:line:column`, what, and what to do.
        ModelError: links and joints do not form a tree.
    """
    path = Path(path)
    omissions = Omissions(strict=strict)
    robot = read_xml(path)
    if robot.tag != "robot":
        robot.fail(
            f"the root element of a URDF file is <robot>, got <{robot.tag}>; save another format with its own suffix"
        )
    if is_xacro(robot):
        robot = expand_xacro(path, robot, package_dirs, allow_code=allow_code)
    check_spelling(robot)
    links = Links(robot, path.parent, package_dirs, inertia, omissions)
    bodies = [links.read(element) for element in robot.all("link")]
    elements = robot.all("joint")
    joints = [read_joint(element, omissions, mimic=mimic) for element in elements]
    if not bodies:
        macros = any(child.tag == "xacro:macro" for child in robot.children)
        robot.fail(
            "defines macros of xacro and no <link>; load the file that uses them"
            if macros
            else "<robot> needs a <link>; add one"
        )
    bodies, joints = _rooted(bodies, joints, free_base=free_base)
    spec = ModelSpec(
        name=robot.attributes.get("name") or path.stem,
        gravity=np.array(GRAVITY),
        bodies=tuple(bodies),
        joints=tuple(joints),
        where=robot.where,
    )
    check_connections(spec)
    joints = list(resolve_mimics(joints, _by_name(elements, robot)))
    joints = read_transmissions(robot, joints, omissions)
    spec = replace(spec, joints=tuple(joints))
    if fix_massless and (has_mass(spec) or not _masses(robot)):
        spec = fix_massless_joints(spec, omissions)
    list_extensions(robot, omissions)
    states = None if srdf is None else Srdf(srdf, omissions)
    excluded = states.excluded(body.name for body in spec.bodies) if states is not None else ()
    placed, contacts = read_contacts(robot, path.stem, spec.bodies, excluded, omissions)
    return replace(
        spec,
        bodies=placed,
        joints=with_stops(spec.joints, bodies),
        keyframes=states.keyframes(spec) if states is not None else (),
        contacts=contacts,
        self_collision=None if srdf is None else True,
        omitted=omissions.warn(),
    )


def _masses(robot: Element) -> bool:
    """Return whether a link has mass properties, be they 0: without any, the file is a drawing."""
    inertials = (inertial for link in robot.all("link") for inertial in link.all("inertial"))
    return any(inertial.all("mass") and inertial.all("inertia") for inertial in inertials)


def _by_name(elements: list[Element], robot: Element) -> dict[str, Element]:
    roots = dict.fromkeys((ROOT_FIXED, ROOT_FREE), robot)
    return roots | {element.attributes["name"]: element for element in elements}


def _rooted(
    bodies: list[BodySpec], joints: list[JointSpec], *, free_base: bool
) -> tuple[list[BodySpec], list[JointSpec]]:
    """Join the first link without a joint to the world."""
    carried = {joint.child for joint in joints}
    root = next((body for body in bodies if body.name not in carried), None)
    if root is None:
        return bodies, joints  # a cycle, which the check of the tree reports
    if root.name == WORLD:
        if not (free_base or root.theta.any() or root.geometries):
            return [body for body in bodies if body is not root], joints
        renamed = replace(root, name=WORLD_LINK)
        bodies = [renamed if body is root else body for body in bodies]
        joints = [replace(j, parent=WORLD_LINK) if j.parent == WORLD else j for j in joints]
        root = renamed
    name, kind = (ROOT_FREE, "free") if free_base else (ROOT_FIXED, "fixed")
    base = plain_joint(name, kind, WORLD, root.name, np.eye(4), root.where)
    return bodies, [base, *joints]
