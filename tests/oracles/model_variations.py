"""Variations of a mechanism: models of one structure with different numbers, for batches of models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.spec import CouplingSpec, ForceSpec, JointSpec, LoopSpec, ModelSpec

PASSIVE = [
    "damping",
    "stiffness",
    "friction",
    "friction_width",
    "lower",
    "upper",
    "stop_stiffness",
    "stop_damping",
]


class Variation:
    """Random changes of every number of a mechanism by a factor within `size`; zeros remain zero, so planes stay."""

    def __init__(self, rng: np.random.Generator, size: float = 0.02) -> None:
        self.rng, self.size = rng, size

    def about(self, x: Any) -> Any:
        return np.asarray(x, float) * (1 + self.size * self.rng.uniform(-1, 1, np.shape(x)))

    def number(self, x: float) -> float:
        return float(self.about(x))

    def pose(self, X: Any) -> Any:
        moved = np.array(X, float)
        moved[:3, 3] = self.about(moved[:3, 3])
        return moved

    def keys(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        is_number = {key: isinstance(value, float) for key, value in parameters.items()}
        return {k: self.number(x) if is_number[k] else x for k, x in parameters.items()}

    def joint(self, joint: JointSpec) -> JointSpec:
        changes: dict[str, Any] = {name: self.about(getattr(joint, name)) for name in PASSIVE}
        if joint.rest.size == joint.damping.size:  # no quaternion
            changes["rest"] = self.about(joint.rest)
        if joint.mimic is not None:
            ratio, offset = self.number(joint.mimic.ratio), self.number(joint.mimic.offset)
            changes["mimic"] = replace(joint.mimic, ratio=ratio, offset=offset)
        armature, parameters = self.about(joint.armature), self.keys(joint.parameters)
        at = self.pose(joint.at)
        return replace(joint, at=at, armature=armature, parameters=parameters, **changes)

    def loop(self, loop: LoopSpec) -> LoopSpec:
        at_a, at_b, length = self.pose(loop.at_a), self.pose(loop.at_b), self.number(loop.length)
        return replace(
            loop,
            at_a=at_a,
            at_b=at_b,
            length=length,
            radius=self.number(loop.radius),
            parameters=self.keys(loop.parameters),
        )

    def coupling(self, coupling: CouplingSpec) -> CouplingSpec:
        terms = {name: self.number(ratio) for name, ratio in coupling.terms.items()}
        return replace(coupling, terms=terms, offset=self.number(coupling.offset))

    def spring(self, spring: ForceSpec) -> ForceSpec:
        path = tuple(replace(end, at=self.pose(end.at)) for end in spring.path)
        return replace(spring, path=path, parameters=self.keys(spring.parameters))

    def model(self, spec: ModelSpec) -> ModelSpec:
        return replace(
            spec,
            gravity=self.about(spec.gravity),
            bodies=tuple(replace(b, theta=b.theta * self.about(1.0)) for b in spec.bodies),
            joints=tuple(map(self.joint, spec.joints)),
            loops=tuple(map(self.loop, spec.loops)),
            couplings=tuple(map(self.coupling, spec.couplings)),
            forces=tuple(self.spring(f) if f.type == "spring" else f for f in spec.forces),
        )
