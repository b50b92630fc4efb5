"""Reader of signals, sensors, controllers and actuators of plugins."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import find_block
from pysim.elements.units import misspelt_unit, spelled_unit
from pysim.errors import PysimError
from pysim.joints import find_joint
from pysim.scene.spec import BlockSpec
from pysim.scene.toml.coordinates import place_of
from pysim.scene.toml.paths import check_parts, read_part
from pysim.scene.toml.plausibility import warn_of_gains
from pysim.scene.toml.plugin_keys import built_plugin, find_file, values_of
from pysim.scene.toml.records.references import AT, is_station
from pysim.scene.toml.units import si_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.scene.spec import ModelSpec, PathPart, RodSectionSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.block_tables import Controller, Sensor, Signal
    from pysim.scene.toml.records.tables import Actuator, Scene
    from pysim.scene.toml.source import Steps


UNIT = "unit"  # field of plugins of pysim for the unit of the output


@dataclass
class BlockReader:
    """Reader of the tables of a scene's signal graph, which reports to `problems`."""

    problems: Problems
    model: ModelSpec
    package_dirs: tuple[Path, ...] = ()  # in which the scene may name files of data
    _names: dict[str, str] = field(default_factory=dict)  # places of the names
    _built: list[tuple[str, object, Steps]] = field(default_factory=list)  # plugins, names, places

    def read(self, scene: Scene, attached: Sequence[BlockSpec] = ()) -> tuple[BlockSpec, ...]:
        """Return the specifications, in the order signals, sensors, controllers, actuators.

        Args:
            scene: the tables.
            attached: blocks of other files, whose names are taken.
        """
        self._names |= {force.name: force.where for force in self.model.forces}
        self._names |= {block.name: block.where for block in attached}
        specs = [
            *(self._signal(table, ("signal", k)) for k, table in enumerate(scene.signal)),
            *(self._sensor(table, ("sensor", k)) for k, table in enumerate(scene.sensor)),
            *(
                self._controller(table, ("controller", k))
                for k, table in enumerate(scene.controller)
            ),
            *(
                self._actuator(table, ("actuator", k))
                for k, table in enumerate(scene.actuator)
                if table.type is not None
            ),
        ]
        blocks = tuple(block for block in specs if block is not None)
        readers = _Readers(blocks)
        for name, built, path in self._built:
            if not readers.act_across(name):
                warn_of_gains(built, path, self.problems)
        return blocks

    def _signal(self, table: Signal, path: Steps) -> BlockSpec | None:
        problem = misspelt_unit(table.unit)
        if problem:
            self.problems.add((*path, "unit"), problem)
        scale, unit = si_unit(table.unit) or (1.0, table.unit)
        if scale != 1 and table.type == "input":
            problem = f"an input is in SI units, got {table.unit!r}"
            self.problems.add(
                (*path, "unit"), f'{problem}; give numbers in {unit}, unit = "{unit}"'
            )
        return self._block("signal", table, path, unit=spelled_unit(unit), scale=scale)

    def _sensor(self, table: Sensor, path: Steps) -> BlockSpec | None:
        first = {name: tuple(values) for name, values in table.start.items()}
        points = self._path(table, path)
        return self._block(
            "sensor", table, path, points=points, first=first, section=self._section(table)
        )

    def _section(self, table: Sensor) -> RodSectionSpec | None:
        """Return the section of a rod that a sensor's frame is at, None for those of other frames."""
        if table.frame is None or not is_station(table.frame):
            return None
        name, _, s = table.frame.rpartition(AT)
        rods = {rod.name: rod for rod in self.model.rods}
        return rods[name].section(float(s)) if name in rods else None

    def _controller(self, table: Controller, path: Steps) -> BlockSpec | None:
        return self._block("controller", table, path)

    def _actuator(self, table: Actuator, path: Steps) -> BlockSpec | None:
        commands = [table.command] if isinstance(table.command, str) else table.command or []
        coordinates = tuple(table.coordinates)
        if table.joint is not None:
            joint = next(joint for joint in self.model.joints if joint.name == table.joint)
            kind = find_joint(joint.type)
            if joint.mimic is not None:
                problem = f"joint {joint.name!r} follows {joint.mimic.joint!r}; drive that joint"
                self.problems.add((*path, "joint"), problem)
            elif kind.nv == 0:
                problem = f"joint {joint.name!r} is fixed; name one that moves"
                self.problems.add((*path, "joint"), problem)
            else:
                at = place_of(table.coordinate, kind.v_names, kind.name, path, self.problems)
                if at is not None:
                    name = joint.name if kind.nv == 1 else f"{joint.name}.{kind.v_names[at]}"
                    coordinates = (name,)
        return self._block(
            "actuator",
            table,
            path,
            joint=None,
            inputs=tuple(commands),
            coordinates=coordinates,
            points=self._path(table, path),
        )

    def _block(self, kind: str, table: Any, path: Steps, **fields: Any) -> BlockSpec | None:  # noqa: ANN401, a table, its fields
        name = table.name or "".join(fields.get("coordinates", ())) or kind
        where = self.problems.source.where(path)
        try:
            find_block(kind, table.type)
        except PysimError as error:
            self.problems.add((*path, "type"), error.problem)
            return None
        if name in self._names:
            problem = f"{name!r} is taken by {self._names[name]}; rename one"
            self.problems.add((*path, "name") if table.name else path, problem)
        self._names[name] = where
        fields |= {"name": name, "parameters": self._parameters(kind, table, path), "where": where}
        return BlockSpec(kind, **{**table.spec_fields(BlockSpec), **fields})

    def _parameters(self, kind: str, table: Any, path: Steps) -> Mapping[str, Any]:  # noqa: ANN401
        """Return the plugin's keys with their types checked."""
        plugin: Any = find_block(kind, table.type)
        given = dict(table.parameters)
        if isinstance(given.get(UNIT), str) and plugin.__module__.startswith("pysim."):
            problem = misspelt_unit(given[UNIT])
            if problem:
                self.problems.add((*path, UNIT), problem)
        if not find_file(given, path, self.problems, self.package_dirs):
            return {}  # the plugin's checks might read it
        built = built_plugin(plugin, given, path, self.problems)
        if built is None:
            return {}
        self._built.append((table.name or "", built, path))
        return values_of(built)

    def _path(self, table: Sensor | Actuator, path: Steps) -> tuple[PathPart, ...]:
        check_parts(table.path, path, self.problems)
        if "multiplicity" in table.model_fields_set and not table.path:
            problem = "belongs to a path, and there is none; give its points, or remove it"
            self.problems.add((*path, "multiplicity"), problem, of_key=True)
        return tuple(
            read_part(point, point.body, np.eye(4), table.multiplicity) for point in table.path
        )


class _Readers:
    """Blocks by name, and those that read each of them."""

    def __init__(self, blocks: Sequence[BlockSpec]) -> None:
        self._blocks = {block.name: block for block in reversed(blocks)}  # the first of a name
        self._readers: dict[str, dict[int, BlockSpec]] = {}  # by the name that is read
        for k, block in enumerate(blocks):
            for signal in block.inputs:
                base = signal.partition("[")[0]
                for owner in (base, base.rpartition(".")[0]):
                    self._readers.setdefault(owner, {})[k] = block

    def act_across(self, name: str) -> bool:
        """Return whether a controller drives other joints than it measures, or through a negative gear."""
        own = self._blocks.get(name)
        if own is None or own.kind != "controller":
            return False
        readers = self._readers.get(name, {}).values()
        driven = [block for block in readers if block.kind == "actuator"]
        if any(block.points or np.min(block.parameters.get("gear", 1.0)) < 0 for block in driven):
            return True  # a positive force makes a path shorter
        bases = [signal.partition("[")[0] for signal in own.inputs]
        read = {owner for base in bases for owner in (base, base.rpartition(".")[0])}
        measured = {
            at for name in read & self._blocks.keys() for at in self._blocks[name].coordinates
        }
        coordinates = {at for block in driven for at in block.coordinates}
        return bool(coordinates and measured) and not coordinates & measured
