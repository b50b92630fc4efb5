"""Reader of models and worlds in the Simulation Description Format (SDFormat), versions 1.4 to 1.12.

Links, frames, joints, nested and included models are read, with poses relative to any frame and axes expressed in any
frame. Joints that close loops become loops. A model moves freely unless a joint connects it to the world or it is
static, as in Gazebo. Planes and heightmaps of static links are grounds. Sensors, lights and plugins are listed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import JointError, SceneError
from pysim.scene.import_omissions import Omissions
from pysim.scene.massless_joints import fix_massless_joints
from pysim.scene.materials import Materials, with_contacts
from pysim.scene.mimic import leading
from pysim.scene.poses import relative_pose
from pysim.scene.sdf.frames import WORLD, WORLD_LINK, Scope, add_model, body_label, version_of
from pysim.scene.sdf.gearboxes import coupling_of
from pysim.scene.sdf.heightmaps import HeightmapReader
from pysim.scene.sdf.includes import expand_includes
from pysim.scene.sdf.joints import JointItem, axis_in, ends_of, loop_of, tree_joints
from pysim.scene.sdf.links import LinkReader
from pysim.scene.sdf.self_collision import pairs_without_contact
from pysim.scene.sdf.surfaces import DEFAULT, grounds_of
from pysim.scene.sdf.values import number, numbers
from pysim.scene.spec import (
    BodySpec,
    CouplingSpec,
    FileStep,
    FrameSpec,
    JointSpec,
    LoopSpec,
    ModelSpec,
)
from pysim.scene.stop_defaults import with_stops
from pysim.scene.tree import check_connections
from pysim.scene.urdf.joints import plain_joint
from pysim.scene.urdf.srdf import Srdf
from pysim.scene.urdf.xml import read_xml
from pysim.spatial.rotations import quaternion_from_rotation
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from pysim.scene.importer import ImportOptions
    from pysim.scene.spec import GroundSpec
    from pysim.scene.urdf.xml import Element
    from pysim.shapes import Geometry

GRAVITY = (0.0, 0.0, -9.81)  # [m/s²]


def read_sdf(path: str | PathLike[str], options: ImportOptions) -> ModelSpec:
    """Return the mechanism of an SDF file.

    Bodies of several models have names "MODEL::LINK"; those of a single one have the names of its links.

    Raises:
        SceneError: the file cannot be read; the text says `file:line:column`, what, and what to do.
        ModelError: links and joints do not form a mechanism.
    """
    try:
        return _read(path, options)
    except RecursionError:
        problem = "poses of nested models are relative to each other over too many models"
        raise SceneError(str(path), f"{problem}; make them relative to the world") from None


def _read(path: str | PathLike[str], options: ImportOptions) -> ModelSpec:
    path = Path(path)
    omissions = Omissions(strict=options.strict)
    sdf = read_xml(path)
    if sdf.tag != "sdf":
        sdf.fail(f"the root element of an SDF file is <sdf>, got <{sdf.tag}>")
    sdf = expand_includes(sdf, options, omissions, (path.resolve(),))
    top = _top_scope(sdf, omissions)
    scopes = list(_scopes(top))
    links = LinkReader(options, omissions)
    materials = Materials(path.stem)
    heightmaps = HeightmapReader(options.package_dirs, materials, omissions)
    builder = _Builder(links, heightmaps, materials, omissions)
    for scope in scopes:
        builder.add_links(scope)
    if not builder.bodies:
        sdf.fail("needs a <link> in a <model>")
    for scope in scopes:
        builder.add_joints(scope)
    builder.add_gearboxes()
    builder.add_roots()
    excluded = pairs_without_contact(
        scopes, builder.bodies, builder.joints, builder.joined, options.self_collision
    )
    states = None if options.srdf is None else Srdf(options.srdf, omissions)
    if states is not None:
        excluded = (*excluded, *states.excluded(builder.bodies))
    grounds = tuple(builder.grounds)
    bodies, contacts = with_contacts(
        builder.bodies.values(), builder.material_of, materials, grounds, excluded
    )
    spec = ModelSpec(
        name=next(iter(top.models), path.stem),
        gravity=_gravity(top),
        bodies=bodies,
        joints=tuple(builder.joints),
        frames=tuple(frame for scope in scopes for frame in _frames(scope)),
        where=sdf.where,
        loops=tuple(builder.loops),
        couplings=tuple(builder.couplings),
        contacts=contacts,
        self_collision=True,
        steps=_steps(top, path.name),
    )
    check_connections(spec)
    spec = _with_mimics(spec, follow=options.mimic)
    if options.fix_massless:
        spec = fix_massless_joints(spec, omissions)
    keyframes = states.keyframes(spec) if states is not None else ()
    stopped = with_stops(spec.joints, bodies)
    return replace(spec, joints=stopped, keyframes=keyframes, omitted=omissions.warn())


def _top_scope(sdf: Element, omissions: Omissions) -> Scope:
    """Return the world, or a scope that stands for one, with its models."""
    version = version_of(sdf)
    worlds = sdf.all("world")
    if len(worlds) > 1:
        worlds[1].fail("second <world>; keep one")
    holder = worlds[0] if worlds else replace(sdf, tag="world")
    models = holder.all("model")
    if not models:
        holder.fail("needs a <model>")
    top = Scope("", holder, version)
    _list_others(holder, omissions)
    for model in models:
        name = model.text("name")
        prefix = name if len(models) > 1 else ""
        add_model(top, model, name, prefix)
    for scope in _scopes(top):
        _list_others(scope.element, omissions)
    return top


def _scopes(scope: Scope) -> Iterator[Scope]:
    for inner in scope.models.values():
        yield inner
        yield from _scopes(inner)


_READ = {"link", "joint", "frame", "model", "pose", "static", "gravity", "world"}
_SETTINGS = {
    "self_collide",
    "allow_auto_disable",
    "enable_wind",
    "physics",
    "scene",
    "gui",
    "audio",
}


def _list_others(holder: Element, omissions: Omissions) -> None:
    """Report what a model or world contains besides links, joints, frames and models."""
    for child in holder.children:
        if child.tag in _READ or child.tag in _SETTINGS:
            continue
        name = child.attributes.get("name")
        item = f"<{child.tag}>" + (f" {name!r}" if name else "")
        if child.tag in {"gripper", "joint_state", "wind"}:
            omissions.add("extensions", item, child.where, "is left out")
        else:
            omissions.note("extensions", item, child.where, "is not read")


class _Builder:
    """Builder of the mechanism: bodies, joints of the tree, loops and couplings."""

    def __init__(
        self,
        links: LinkReader,
        heightmaps: HeightmapReader,
        materials: Materials,
        omissions: Omissions,
    ) -> None:
        self.links, self.heightmaps = links, heightmaps
        self.materials, self.omissions = materials, omissions
        self.grounds: list[GroundSpec] = []
        self.bodies: dict[str, BodySpec] = {}
        self.placed: dict[str, tuple[Array, str, bool]] = {}  # pose in the world, place, static
        self.joints: list[JointSpec] = []
        self.loops: list[LoopSpec] = []
        self.couplings: list[CouplingSpec] = []
        self.gearboxes: list[JointItem] = []
        self.hinges: dict[tuple[str, str], tuple[str, Array]] = {}  # name and axis in the world
        self.parents: dict[str, str] = {}
        self.joined: set[frozenset[str]] = set()  # bodies that a joint connects

    def add_links(self, scope: Scope) -> None:
        """Add the links of a model; one called "world" is renamed."""
        for name, element in scope.links.items():
            label = body_label(scope, name)
            fixed = scope.is_static or name == WORLD
            theta = np.zeros(10) if fixed else self.links.theta(element)
            geometries = self.links.geometries(element, grounds=fixed)
            self.bodies[label] = BodySpec(label, theta, geometries, element.where)
            X = scope.pose(name, element)
            self.placed[label] = (X, element.where, fixed)
            if fixed:
                self.grounds += grounds_of(element, X, self.materials, self.omissions)
                self.grounds += self.heightmaps.grounds(element, X)

    def material_of(self, _: BodySpec, geometry: Geometry) -> str:
        """Return the name of the material of a shape that collides."""
        surface = self.links.surfaces.get(id(geometry))
        return DEFAULT if surface is None else self.materials.name(surface)

    def add_joints(self, scope: Scope) -> None:
        """Add the joints of a model: to the tree if their child has no joint yet, else as loops."""
        for name, element in scope.joints.items():
            item = ends_of(name, element, scope)
            item = replace(item, parent=self._label(item.parent), child=self._label(item.child))
            self.joined.add(frozenset((item.parent, item.child)))
            if item.child == WORLD:
                element.fail("has the world as its child; swap parent and child")
            if element.attributes.get("type") == "gearbox":
                self.gearboxes.append(item)
            else:
                self._add(item)

    def add_gearboxes(self) -> None:
        """Add the couplings of gearboxes."""
        for item in self.gearboxes:
            coupling = coupling_of(item, self.hinges)
            if isinstance(coupling, str):
                reason = f"is left out: {coupling}"
                what, where = f"joint {item.name!r}", item.element.where
                self.omissions.add("gearboxes", what, where, reason)
            else:
                self.couplings.append(coupling)

    def _label(self, name: str) -> str:
        """Return the name of a body; a link called "world" is one of its own."""
        return WORLD_LINK if name == WORLD and WORLD_LINK in self.bodies else name

    def _add(self, item: JointItem) -> None:
        both_fixed = all(end == WORLD or self.placed[end][2] for end in (item.parent, item.child))
        if both_fixed:
            return
        if (
            item.child in self.parents
            or self.placed[item.child][2]
            or self._carries(item.child, item.parent)
        ):
            self.loops.append(loop_of(item))
            return
        axis = item.element.child("axis")
        if item.kind in {"revolute", "continuous"} and axis is not None:
            direction = np.array(axis_in(item, axis, np.eye(4)))
            self.hinges[item.parent, item.child] = (item.name, direction)
        between, joints = tree_joints(item)
        self.bodies |= {body.name: body for body in between}
        self.joints += joints
        self.parents[item.child] = item.parent

    def _carries(self, body: str, other: str) -> bool:
        """Return whether a body carries another in the tree."""
        while other in self.parents:
            if other == body:
                return True
            other = self.parents[other]
        return other == body

    def add_roots(self) -> None:
        """Join the links without a joint to the world: fixed if static, else free where they are."""
        for name, (X, where, fixed) in self.placed.items():
            if name in self.parents:
                continue
            if fixed:
                self.joints.append(plain_joint(f"{name}/fixed", "fixed", WORLD, name, X, where))
                continue
            joint = plain_joint(f"{name}/free", "free", WORLD, name, np.eye(4), where)
            start = np.concatenate([X[:3, 3], quaternion_from_rotation(X[:3, :3])])
            self.joints.append(replace(joint, start_q=start))


def _frames(scope: Scope) -> list[FrameSpec]:
    found = []
    for name, element in scope.frames.items():
        body, owner, link = scope.body(name, element)
        X = scope.pose(name, element)
        if owner is not None:
            X = relative_pose(owner.pose(link, element), X)
            body = body_label(owner, link)
        found.append(FrameSpec(scope.label(name), body, X, element.where))
    return found


def _gravity(top: Scope) -> Array:
    element = top.element.child("gravity")
    return np.array(GRAVITY if element is None else numbers(element, 3))


def _steps(top: Scope, file: str) -> tuple[FileStep, ...]:
    """Return the time step of the world's physics, of the profile that is the default, if it states one."""
    profiles = top.element.all("physics")
    chosen = [one for one in profiles if one.attributes.get("default") in ("1", "true")]
    found = []
    for profile in (chosen or profiles)[:1]:
        step = number(profile, "max_step_size", np.inf)
        if step <= 0:
            profile.required("max_step_size").fail(
                f"<max_step_size> must be positive [s], got {step:g}"
            )
        found += [FileStep(step, file)] if np.isfinite(step) else []
    return tuple(found)


def _with_mimics(spec: ModelSpec, *, follow: bool) -> ModelSpec:
    """Return the mechanism with each follower led by the head of its chain, or with none."""
    by_name = {joint.name: joint for joint in spec.joints}
    joints = []
    for joint in spec.joints:
        try:
            mimic = leading(joint, by_name) if follow else None
        except JointError as error:
            raise type(error)(joint.where, f"joint {joint.name!r}: {error.problem}") from None
        joints.append(replace(joint, mimic=mimic))
    return replace(spec, joints=tuple(joints))
