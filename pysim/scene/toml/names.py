"""Checks of names in a scene: defined once, and every body the child of one joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.joints import find_joint
from pysim.scene.toml.contacts import DEFAULT
from pysim.scene.toml.records.references import FIXED
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pysim.scene.attachment import Parts
    from pysim.scene.spec import JointSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.tables import Scene
    from pysim.scene.toml.source import Steps


def check_names(
    scene: Scene,
    problems: Problems,
    taken: Sequence[Parts],
    rods: Sequence[Parts],
    joints: Sequence[JointSpec],
) -> None:
    """Report wrong names of a scene.

    Args:
        scene: the tables.
        problems: receives the errors.
        taken: the bodies and joints of each of its models.
        rods: those of each of its rods.
        joints: all joints, including those of the models.
    """
    placed = _places_by_name(scene, ("body", "frame"), problems)
    driven = _places_by_name(scene, ("joint",), problems)
    _places_by_name(scene, ("rod",), problems)
    elements: dict[str, str] = {}
    places: list[Steps] = [("model", k) for k in range(len(taken))]
    places += [("rod", k) for k in range(len(rods))]
    for at, parts in zip(places, (*taken, *rods), strict=True):
        _refuse_brought(at, "element", [block.name for block in parts.blocks], elements, problems)
        _refuse_brought(at, "body", [body.name for body in parts.bodies], placed, problems)
        _refuse_brought(at, "joint", [joint.name for joint in parts.joints], driven, problems)
    bodies = {body.name for body in scene.body}
    for parts in (*taken, *rods):
        bodies |= {body.name for body in parts.bodies}
    for k, joint in enumerate(scene.joint):
        if joint.child == WORLD:
            problem = "the world cannot be moved; swap parent and child"
            problems.add(("joint", k, "child"), problem)
    if all(joint.child in bodies for joint in scene.joint):
        _check_children(scene, problems, joints)


def names_by_kind(
    scene: Scene, joints: Sequence[JointSpec], parts: Parts
) -> dict[str, Collection[str]]:
    """Return the names of a scene's parts by kind, for `check_references`.

    Args:
        scene: the tables.
        joints: those of the tables whose type is known.
        parts: what the scene takes from its models.
    """
    all_joints = {joint.name: joint.type for joint in scene.joint}
    all_joints |= {joint.name: joint.type for joint in parts.joints}
    fixed = {name for name, kind in all_joints.items() if kind == "fixed"}
    brought = {} if parts.contacts is None else parts.contacts.materials
    return {
        "world": {WORLD},
        "body": {body.name for body in scene.body} | {body.name for body in parts.bodies},
        "frame": {frame.name for frame in scene.frame} | {frame.name for frame in parts.frames},
        "joint": all_joints.keys() - fixed,
        FIXED: fixed,
        "coordinate": {
            f"{joint.name}.{name}"
            for joint in (*joints, *parts.joints)
            if len(names := find_joint(joint.type).v_names) > 1
            for name in names
        },
        "rod": {table.name for table in scene.rod},
        "material": {DEFAULT, *scene.materials, *brought},
    }


def _places_by_name(scene: Scene, arrays: Iterable[str], problems: Problems) -> dict[str, str]:
    """Return the place of each name, and reject the second of two."""
    names: dict[str, str] = {}
    for array in arrays:
        for k, table in enumerate(getattr(scene, array)):
            path: Steps = (array, k, "name")
            if table.name == WORLD and array != "joint":
                problems.add(path, "'world' is the name of the world; choose another")
            elif table.name in names:
                problem = f"{table.name!r} is taken by {names[table.name]}; rename one"
                problems.add(path, problem)
            else:
                names[table.name] = problems.source.where(path)
    return names


def _refuse_brought(
    at: Steps, what: str, names: Sequence[str], given: dict[str, str], problems: Problems
) -> None:
    """Reject a model or rod whose names are taken, once."""
    twice = next((name for name in names if name in given), None)
    if twice is not None:
        remedy = "give the model a name" if at[0] == "model" else "rename the rod"
        problems.add(at, f"its {what} {twice!r} is taken by {given[twice]}; {remedy}")
    given.update(dict.fromkeys(names, f"{at[0]}[{at[1]}]"))


def _check_children(scene: Scene, problems: Problems, joints: Sequence[JointSpec]) -> None:
    """Reject a body that is the child of two joints or of none."""
    own = {joint.name: k for k, joint in enumerate(scene.joint)}
    hangs_on: dict[str, str] = {}
    for joint in joints:
        other = hangs_on.setdefault(joint.child, joint.name)
        k = own.get(joint.name, own.get(other))
        if other != joint.name and k is not None:
            problem = (
                f"body {joint.child!r} is the child of joint {other!r} already; a body has one parent in a "
                "tree, remove one joint"
            )
            problems.add(("joint", k, "child"), problem)
    hanging = {joint.child for joint in scene.joint} | set(hangs_on)
    for k, body in enumerate(scene.body):
        if body.name not in hanging:
            problem = (
                f"body {body.name!r} is the child of no joint; give it a joint with child = "
                f'"{body.name}", of type = "free" if it moves freely'
            )
            problems.add(("body", k), problem)
