"""Included SDF models that are merged: their links, joints, frames and models become those of the including model.

The frame `_merged__NAME__model__` lies where the frame of the model would be, and takes its place wherever an element
was relative to it, attached to it or expressed in it, by name or by default [SDFormat 1.9, `//include/@merge`].
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pysim.scene.poses import relative_pose
from pysim.scene.sdf.frames import LAST_MODEL_FRAME, Scope, add_model, version_of
from pysim.scene.sdf.values import pose_reference, raw_pose, truth
from pysim.scene.urdf.xml import Element
from pysim.spatial.rotations import quaternion_from_rotation
from pysim.typing import Array

MODEL = "__model__"
_MERGED = {"link", "joint", "frame", "model", "gripper"}  # elements that move to the other model
_OF_MODEL = {"pose", "static", "self_collide", "allow_auto_disable", "enable_wind"}  # that stay


def merged_elements(model: Element) -> list[Element]:
    """Return the elements of an included model for the model that includes it.

    Its version and the frame that places it are among its attributes, as in other included models.
    """
    name = model.text("name")
    proxy = f"_merged__{name}__model__"
    version = version_of(model)
    expressed = version <= LAST_MODEL_FRAME
    children = [
        _moved(child, proxy, is_old=expressed)
        for child in model.children
        if child.tag not in _OF_MODEL
    ]
    return [_proxy(model, proxy, version), *children]


def _proxy(model: Element, name: str, version: tuple[int, int]) -> Element:
    """Return the frame in the place of the model's own."""
    X = raw_pose(model)
    placed = model.attributes.get("placement_frame")
    if placed:
        alone = replace(
            model,
            attributes={k: v for k, v in model.attributes.items() if k != "placement_frame"},
            children=[child for child in model.children if child.tag != "pose"],
        )
        top = Scope("", replace(model, tag="world", children=[alone]), version)
        add_model(top, alone, "model", "")
        X = X @ relative_pose(top.models["model"].pose(placed, model), np.eye(4))
    links = [child for tag in ("link", "model") for child in model.all(tag)]
    if not links:
        model.fail("has no link to merge; add one, or leave the <include> out")
    canonical = model.attributes.get("canonical_link") or links[0].text("name")
    pose = _pose(model, X, pose_reference(model) or MODEL)
    attributes = {"name": name, "attached_to": canonical}
    return Element("frame", attributes, model.where, model.owner, [pose])


def _pose(model: Element, X: Array, reference: str) -> Element:
    turn = quaternion_from_rotation(X[:3, :3])
    content = " ".join(repr(float(x)) for x in (*X[:3, 3], *turn))
    attributes = {"relative_to": reference, "rotation_format": "quat_xyzw"}
    return Element("pose", attributes, model.where, model.owner, content=content)


def _moved(child: Element, proxy: str, *, is_old: bool) -> Element:
    """Return an element of the model with the proxy in place of the model's frame."""
    if child.tag not in _MERGED:
        return child
    found = child if child.tag == "model" else _renamed(child, proxy)
    if child.tag == "frame" and found.attributes.get("attached_to", "") in ("", MODEL):
        found = replace(found, attributes={**found.attributes, "attached_to": proxy})
    if child.tag in ("link", "model"):
        found = _placed(found, proxy)
    if child.tag == "joint":
        children = [_axis(own, proxy, is_old=is_old) for own in found.children]
        found = replace(found, children=children)
    return found


def _renamed(element: Element, proxy: str) -> Element:
    """Return an element with the proxy wherever it or an element in it names the model's frame."""
    attributes = {
        key: proxy if value == MODEL and key != "name" else value
        for key, value in element.attributes.items()
    }
    content = element.content
    if element.tag in ("parent", "child") and content.strip() == MODEL:
        content = proxy
    children = [_renamed(child, proxy) for child in element.children]
    return replace(element, attributes=attributes, children=children, content=content)


def _placed(element: Element, proxy: str) -> Element:
    """Return a link or model whose pose is relative to the proxy by default."""
    own = element.child("pose")
    if own is None:
        pose = Element("pose", {"relative_to": proxy}, element.where, element.owner)
        return replace(element, children=[pose, *element.children])
    if pose_reference(element) not in ("", MODEL):
        return element
    placed = replace(own, attributes={**own.attributes, "relative_to": proxy})
    children = [placed if child is own else child for child in element.children]
    return replace(element, children=children)


def _axis(axis: Element, proxy: str, *, is_old: bool) -> Element:
    """Return an axis that is expressed in the proxy if it was in the model's frame by default."""
    if axis.tag not in ("axis", "axis2"):
        return axis
    if not (is_old or truth(axis, "use_parent_model_frame")):
        return axis
    xyz = axis.child("xyz")
    if xyz is None:
        xyz = Element("xyz", {}, axis.where, axis.owner, content="0 0 1")
    if not xyz.attributes.get("expressed_in"):
        xyz = replace(xyz, attributes={**xyz.attributes, "expressed_in": proxy})
    others = [child for child in axis.children if child.tag != "xyz"]
    return replace(axis, children=[xyz, *others])
