"""Names in a scene: each given once, each that is used given, every body on one joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import did_you_mean
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pysim.scene.source import Steps
    from pysim.scene.spec import BodySpec, JointSpec
    from pysim.scene.tables import Scene
    from pysim.scene.wording import Problems

FREE = 'type = "free" with parent = "world" lets it fly'


def check_names(
    scene: Scene, problems: Problems, bodies: Sequence[BodySpec], joints: Sequence[JointSpec]
) -> None:
    """Note what is wrong with the names of a scene; `bodies` and `joints` hold those of its models too."""
    _refuse_repeated("body or frame", scene, ("body", "frame"), [b.name for b in bodies], problems)
    _refuse_repeated("joint", scene, ("joint",), [j.name for j in joints], problems)
    known = {body.name for body in bodies}
    for k, joint in enumerate(scene.joint):
        path: Steps = ("joint", k)
        _know(joint.parent, {WORLD, *known}, "body", (*path, "parent"), problems)
        if joint.child == WORLD:
            problems.add((*path, "child"), "the world cannot be moved; swap parent and child")
        else:
            _know(joint.child, known, "body", (*path, "child"), problems)
        if joint.mimic is not None:
            names = {j.name for j in joints}
            _know(joint.mimic.joint, names, "joint", (*path, "mimic", "joint"), problems)
    for k, model in enumerate(scene.model):
        _know(model.parent, {WORLD, *known}, "body", ("model", k, "parent"), problems)
    for k, frame in enumerate(scene.frame):
        _know(frame.body, {WORLD, *known}, "body", ("frame", k, "body"), problems)
    _check_children(scene, problems, joints)


def _know(name: str, known: Collection[str], what: str, path: Steps, problems: Problems) -> None:
    if name not in known:
        problems.add(path, f"unknown {what} {name!r}{did_you_mean(name, sorted(known))}")


def _refuse_repeated(
    what: str, scene: Scene, arrays: Iterable[str], names: Iterable[str], problems: Problems
) -> None:
    """Refuse a name that was given before in the arrays, or that a model brings."""
    own: dict[str, Steps] = {}
    for array in arrays:
        for k, table in enumerate(getattr(scene, array)):
            path: Steps = (array, k, "name")
            if table.name == WORLD and array != "joint":
                problems.add(path, "'world' is the name of the world; choose another")
            elif table.name in own:
                first = problems.source.where(own[table.name])
                problem = f"{what} {table.name!r} is there already, at {first}; rename one"
                problems.add(path, problem)
            else:
                own[table.name] = path
    brought: set[str] = set()
    for name in list(names)[len(getattr(scene, next(iter(arrays)))) :]:
        if name in brought or name in own:
            at = own.get(name, ("model",))
            problem = f"{what} {name!r} is brought by a model already; give the model a name"
            problems.add(at, problem)
        brought.add(name)


def _check_children(scene: Scene, problems: Problems, joints: Sequence[JointSpec]) -> None:
    """Refuse a body that hangs on two joints or on none."""
    hangs_on: dict[str, str] = {}
    own = {joint.name: k for k, joint in enumerate(scene.joint)}
    for joint in joints:
        other = hangs_on.setdefault(joint.child, joint.name)
        if other == joint.name:
            continue
        k = own.get(joint.name, own.get(other))
        if k is not None:
            problem = (
                f"body {joint.child!r} hangs on joint {other!r} already; a body has one parent in a "
                "tree, remove one joint"
            )
            problems.add(("joint", k, "child"), problem)
    known = {joint.child for joint in scene.joint} | set(hangs_on)
    for k, body in enumerate(scene.body):
        if body.name not in known:
            problem = f"body {body.name!r} hangs on no joint; give it one whose child is "
            problems.add(("body", k), f"{problem}{body.name!r}; {FREE}")
