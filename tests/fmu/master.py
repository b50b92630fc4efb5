"""Masters of FMUs in tests: one instance in FMPy."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pysim
from pysim.errors import PysimWarning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.fmu.variables import Variable

fmpy = pytest.importorskip("fmpy", reason="needs fmpy, of the extra test")

ROOT = Path(__file__).parents[2]


class Master:
    """An instance of an FMU in FMPy."""

    def __init__(
        self,
        path: Path,
        folder: Path,
        starts: Mapping[str, float | Sequence[float]] | None = None,
        token: str | None = None,
    ) -> None:
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        self.description = fmpy.read_model_description(str(path))  # which validates it
        self.is_second = self.description.fmiVersion == "2.0"
        kind = FMU2Slave if self.is_second else FMU3Slave
        self.fmu: Any = kind(
            guid=token or self.description.guid or self.description.instantiationToken,
            unzipDirectory=fmpy.extract(str(path), str(folder)),
            modelIdentifier=self.description.coSimulation.modelIdentifier,
            instanceName="one",
        )
        self.variables = {own.name: own for own in self.description.modelVariables}
        self.fmu.instantiate()
        self.set(**(starts or {}))
        if self.is_second:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def set(self, **values: float | Sequence[float]) -> None:
        for name, value in values.items():
            reference = [self.variables[name].valueReference]
            numbers = [value] if isinstance(value, float) else list(value)
            (self.fmu.setReal if self.is_second else self.fmu.setFloat64)(reference, numbers)

    def get(self, *starts: str) -> list[float]:
        own = [x for name, x in self.variables.items() if name.startswith(starts)]
        references = [x.valueReference for x in own]
        if self.is_second:
            return list(self.fmu.getReal(references))
        numbers = sum(int(x.dimensions[0].start) if x.dimensions else 1 for x in own)
        return list(self.fmu.getFloat64(references, nValues=numbers))

    def step(self, t: float, length: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=length)


def scene_of(name: str, changes: Mapping[str, object] | None = None) -> pysim.Scene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.load_scene(ROOT / f"scenes/{name}.toml", changes)


def paths_of(parameters: Sequence[Variable]) -> list[str]:
    """Paths of parameters, without the ends of the names of FMI 2's numbers."""
    ends = (".x", ".y", ".z", ".xx", ".yy", ".zz", ".xy", ".yz", ".xz")
    names = [own.name for own in parameters]
    cut = [name.partition("[")[0] if name.endswith("]") else name for name in names]
    return list(dict.fromkeys(n.rpartition(".")[0] if n.endswith(ends) else n for n in cut))
