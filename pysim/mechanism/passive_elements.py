"""Elements outside a scene's signal graph: forces of the model, joints with passive forces, prescribed forces.

Sensors measure their power, and the energy ledger integrates it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import Passive
from pysim.elements.force import depends_on_signals
from pysim.elements.graph_types import CoordinatePlace, GraphBlock
from pysim.elements.library.actuators import Prescribed
from pysim.elements.powers import JointCoordinate, MeasuredElements, PassiveJoint
from pysim.joints import find_joint
from pysim.mechanism.builder import passive_forces_of
from pysim.plugins.fields import build

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pysim.mechanism.model import Model
    from pysim.scene.spec import ActuatorSpec, ForceSpec, JointSpec, SceneSpec


class PassiveElements:
    """Elements outside the signal graph of a scene, each under a name that no other has.

    Args:
        model: the mechanism.
        spec: the scene.
        bounded: prescribed forces that are part of the graph.
        names: names of the graph's blocks and of forces.
        contacts: pairs of links that may touch, each with whether a surface moves, so that it injects energy.
        impulses: whether the scheme computes stops and dry friction itself, as convex steps do.

    Attributes:
        forces: forces that depend on positions and velocities alone.
        contacts: names of these pairs.
        motions: names of prescribed motions, and of their rows.
    """

    def __init__(
        self,
        model: Model,
        spec: SceneSpec,
        bounded: Collection[ActuatorSpec],
        names: Collection[str],
        contacts: Sequence[tuple[str, bool]] | None = None,
        *,
        impulses: bool = False,
    ) -> None:
        self._model, self._spec = model, spec
        self._names = set(names)
        self.forces: tuple[ForceSpec, ...] = tuple(
            force
            for force in spec.model.forces
            if not (force.is_released or depends_on_signals(force.type, force.parameters))
        )
        self._dissipates = set(model.connections.nonconservative)
        self._drives = {
            self._unique(drive.name, "actuator"): drive
            for drive in spec.actuators
            if drive not in bounded
        }
        self._joints = {
            self._unique(joint.name, "joint"): (joint, k)
            for k, joint in enumerate(model.joints)
            if _has_force(joint)
        }
        self._impulsive = impulses
        self._injects = {self._unique(name, "contact"): moves for name, moves in contacts or ()}
        self.contacts = tuple(self._injects)
        self.motions = {
            self._unique(next(iter(coupling.terms)), "motion"): coupling.name
            for coupling in model.spec.couplings
            if coupling.signal is not None
        }
        self.motions |= {
            self._unique(loop.name.removeprefix("motion of "), "motion"): loop.name
            for loop in model.spec.loops
            if loop.position
        }

    def _unique(self, name: str, kind: str) -> str:
        """Return a name that is not taken, and take it."""
        found, count = name, 1
        while found in self._names or found in TOTALS:
            found = f"{name} ({kind})" if count == 1 else f"{name} ({kind} {count})"
            count += 1
        self._names.add(found)
        return found

    def chosen(self, *, ledger: bool) -> list[str]:
        """Return the elements that sensors measure, and with a ledger those that exchange energy."""
        wanted = {block.element for block in self._spec.blocks}
        if ledger:
            wanted |= {*self._dissipates, *self._drives}
            wanted |= set(self._dissipating_joints())
        return [name for name in self._all_names() if name in wanted]

    def _dissipating_joints(self) -> list[str]:
        """Return the joints that exchange energy that they do not store; stops in convex steps do."""
        return [
            name
            for name, (joint, _) in self._joints.items()
            if dissipates(joint) or (self._impulsive and _has_stop(joint))
        ]

    def joint_places(self, places: Mapping[str, int]) -> dict[int, int]:
        """Return the places of the work of joints by the number of the joint, given `places` by name."""
        return {k: places[name] for name, (_, k) in self._joints.items() if name in places}

    def _all_names(self) -> tuple[str, ...]:
        return (*(force.name for force in self.forces), *self._drives, *self._joints)

    def measured(
        self,
        chosen: Collection[str],
        forces: Sequence[GraphBlock],
        acting: Mapping[str, bool] | None,
    ) -> MeasuredElements:
        """Return the chosen elements.

        Args:
            chosen: their names.
            forces: blocks of the forces among them.
            acting: actuators and forces of the graph, and whether they inject energy; None without a ledger.
        """
        drives = {name: drive for name, drive in self._drives.items() if name in chosen}
        joints = {name: joint for name, joint in self._joints.items() if name in chosen}
        entries: dict[str, bool] | None = None
        if acting is not None:
            entries = {force.name: False for force in forces if force.name in self._dissipates}
            entries |= acting
            entries |= dict.fromkeys(drives, True)
            entries |= {name: False for name in self._dissipating_joints() if name in joints}
            entries |= self._injects | dict.fromkeys(self.motions, True)
        return MeasuredElements(
            tuple(forces),
            tuple(self._drive(name, drive) for name, drive in drives.items()),
            tuple(self._joint(name, *joint) for name, joint in joints.items()),
            entries,
            self._all_names(),
            (*self.contacts, *self.motions),
        )

    def _drive(self, name: str, drive: ActuatorSpec) -> GraphBlock:
        at = self._model.joint_names.index(drive.joint)
        v = self._model.v_offsets[at] + drive.coordinate
        place = CoordinatePlace(name, -1, v, "", self._model.velocity_units[v])
        plugin = Prescribed(drive.offset, drive.amplitude, drive.frequency, drive.phase)
        return GraphBlock("actuator", name, plugin, coordinates=(place,), where=drive.where)

    def _joint(self, name: str, joint: JointSpec, at: int) -> PassiveJoint:
        kind, model = find_joint(joint.type), self._model
        first_q, first_v = model.q_offsets[at], model.v_offsets[at]
        ratio, offset = 1.0, 0.0
        leader = joint
        while first_v < 0 and leader.mimic is not None:
            offset += ratio * leader.mimic.offset
            ratio *= leader.mimic.ratio
            index = model.joint_names.index(leader.mimic.joint)
            leader = model.joints[index]
            first_q, first_v = model.q_offsets[index], model.v_offsets[index]
        plain = dict(
            zip(
                *(k.tolist() for k in map(np.asarray, reversed(kind.real_coordinates))), strict=True
            )
        )
        coordinates = [
            JointCoordinate(
                first_q + plain[k] if k in plain else -1,
                first_v + k,
                passive if k in plain else passive.replaced(stiffness=0.0),
                float(joint.rest[plain[k]]) if k in plain else 0.0,
                ratio,
                offset,
                self._impulsive,
                k,
                plain.get(k, 0),
            )
            for k, passive in enumerate(passive_forces_of(joint))
        ]
        turned = [k for k in range(kind.nv) if k not in plain]
        plugin: Any = None
        if kind.has_force and kind.plugin is not None:
            plugin = build(kind.plugin, joint.parameters, joint.where)
        return PassiveJoint(
            name,
            tuple(coordinates),
            first_q,
            plugin,
            bool(joint.stiffness[turned].any()),
            joint.name,
            numbers_of_forces(joint),
        )


def numbers_of_forces(joint: JointSpec) -> tuple[float, ...]:
    """Return the numbers of the passive forces of a joint: of each field those of all coordinates, then the rest."""
    passive = passive_forces_of(joint)
    numbers = [getattr(own, name) for name in Passive.fields for own in passive]
    return (*numbers, *joint.rest.tolist())


TOTALS = ("dissipated", "injected")  # names of the sums beside those of elements


def _has_force(joint: JointSpec) -> bool:
    return bool(joint.stiffness.any()) or _has_stop(joint) or dissipates(joint)


def _has_stop(joint: JointSpec) -> bool:
    return bool(np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any())


def dissipates(joint: JointSpec) -> bool:
    """Return whether a joint exchanges energy that it does not store."""
    stops = np.isfinite(joint.lower) | np.isfinite(joint.upper)
    return bool(
        joint.damping.any()
        or joint.friction.any()
        or joint.stop_damping[stops].any()
        or find_joint(joint.type).has_force
    )
