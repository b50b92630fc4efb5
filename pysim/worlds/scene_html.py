"""Table of a scene for notebooks: its run, what drives and measures it, what touches, and its model's tree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pysim.markup import facts, listed, panel
from pysim.mechanism.model_html import model_facts, model_tree

if TYPE_CHECKING:
    from pysim.scene.spec import SceneSpec
    from pysim.worlds.loading import Scene

BLOCKS = {
    "signal": "signals",
    "sensor": "sensors",
    "controller": "controllers",
    "actuator": "actuators",
}


def scene_html(scene: Scene) -> str:
    """Return the HTML of a scene; names are escaped."""
    spec, run = scene.spec, scene.settings
    step = f"steps of {run.step:g} s" if math.isfinite(run.step) else "adaptive steps"
    pairs = [
        ("run", f"{run.duration:g} s by {run.integrator} in {step}, rows every {run.every:g} s")
    ]
    pairs += [(label, _blocks(spec, kind)) for kind, label in BLOCKS.items()]
    pairs += [
        ("events", listed([event.name for event in spec.events])),
        ("contact", _contact(spec)),
    ]
    pairs += [*model_facts(scene.model), ("file", str(spec.path) if spec.text else "")]
    return panel(spec.name or "scene", "pysim.Scene", facts(pairs), model_tree(scene.model))


def _blocks(spec: SceneSpec, kind: str) -> str:
    """Return names and types of the blocks of one kind; actuators include prescribed forces."""
    named = [f"{actuator.name} (force)" for actuator in spec.actuators if kind == "actuator"]
    named += [f"{block.name} ({block.type})" for block in spec.blocks if block.kind == kind]
    return listed(named)


def _contact(spec: SceneSpec) -> str:
    """Return what may touch: the bodies with collision shapes, the grounds, and the materials."""
    contacts = spec.model.contacts
    if contacts is None:
        return ""
    bodies = [body.name for body in spec.model.bodies if body.collisions]
    grounds = ["a ground"] if len(contacts.grounds) == 1 else []
    grounds = grounds or ([f"{len(contacts.grounds)} grounds"] if contacts.grounds else [])
    materials = f"; materials {listed(list(contacts.materials))}" if contacts.materials else ""
    return listed([*grounds, *bodies]) + materials
