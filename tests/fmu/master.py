"""Masters of FMUs in tests: one instance in FMPy, for co-simulation or model exchange."""

from __future__ import annotations

import ctypes
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
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
        return self._get([x for name, x in self.variables.items() if name.startswith(starts)])

    def only(self, name: str) -> list[float]:
        return self._get([self.variables[name]])

    def _get(self, own: list[Any]) -> list[float]:
        references = [x.valueReference for x in own]
        if self.is_second:
            return list(self.fmu.getReal(references))
        numbers = sum(map(_size, own))
        return list(self.fmu.getFloat64(references, nValues=numbers))

    def step(self, t: float, length: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=length)


class Equation:
    """An instance of an FMU for model exchange in FMPy: rates, event indicators and slopes."""

    def __init__(self, path: Path, folder: Path) -> None:
        from fmpy.fmi2 import FMU2Model
        from fmpy.fmi3 import FMU3Model

        self.description: Any = fmpy.read_model_description(str(path))
        self.is_second = self.description.fmiVersion == "2.0"
        kind = FMU2Model if self.is_second else FMU3Model
        self.fmu: Any = kind(
            guid=self.description.guid or self.description.instantiationToken,
            unzipDirectory=fmpy.extract(str(path), str(folder)),
            modelIdentifier=self.description.modelExchange.modelIdentifier,
            instanceName="one",
        )
        self.rates_of = [own.variable for own in self.description.derivatives]
        self.count, self.gaps = len(self.rates_of), self.description.numberOfEventIndicators
        with zipfile.ZipFile(path) as archive:  # FMPy does not read the name of FMI 3
            text = archive.read("modelDescription.xml").decode()
        flag = "providesDirectionalDerivative" + "s" * (not self.is_second)
        self.has_slopes = f'{flag}="true"' in text
        inputs = [x for x in self.description.modelVariables if x.causality == "input"]
        outputs = [own.variable for own in self.description.outputs]
        self.state_references = [own.derivative.valueReference for own in self.rates_of]
        self.input_references = [own.valueReference for own in inputs]
        self.unknown = [own.valueReference for own in (*self.rates_of, *outputs)]
        self.names = [
            own.variable.name for own in (*self.description.derivatives, *self.description.outputs)
        ]
        self.sizes = [sum(map(_size, own)) for own in (inputs, (*self.rates_of, *outputs))]
        self.fmu.instantiate()
        if self.is_second:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def states(self) -> np.ndarray:
        x = (ctypes.c_double * self.count)()
        self.fmu.getContinuousStates(x, self.count)
        return np.array(x)

    def inputs(self) -> np.ndarray:
        return self._get(self.input_references, self.sizes[0])

    def set(self, t: float, x: np.ndarray, u: np.ndarray | None = None) -> None:
        self.fmu.setTime(t)
        self.fmu.setContinuousStates((ctypes.c_double * self.count)(*x.tolist()), self.count)
        if u is not None and len(u):
            (self.fmu.setReal if self.is_second else self.fmu.setFloat64)(
                self.input_references, u.tolist()
            )

    def rates(self, t: float, x: np.ndarray) -> np.ndarray:
        self.set(t, x)
        found = (ctypes.c_double * self.count)()
        get = self.fmu.getDerivatives if self.is_second else self.fmu.getContinuousStateDerivatives
        get(found, self.count)
        return np.array(found)

    def unknowns(self) -> np.ndarray:
        """Rates of the states, and outputs."""
        return self._get(self.unknown, self.sizes[1])

    def slopes(self, seed: np.ndarray) -> np.ndarray:
        """Slopes of the unknowns along a direction of states and inputs."""
        own = self.unknown, [*self.state_references, *self.input_references], seed.tolist()
        if self.is_second:
            return np.array(self.fmu.getDirectionalDerivative(*own))
        return np.array(self.fmu.getDirectionalDerivative(*own, nSensitivity=self.sizes[1]))

    def indicators(self) -> np.ndarray:
        found = (ctypes.c_double * self.gaps)()
        self.fmu.getEventIndicators(found, self.gaps)
        return np.array(found)

    def _get(self, references: list[int], numbers: int) -> np.ndarray:
        if not references:
            return np.zeros(0)
        if self.is_second:
            return np.array(self.fmu.getReal(references))
        return np.array(self.fmu.getFloat64(references, nValues=numbers))


def _size(variable: Any) -> int:
    return int(variable.dimensions[0].start) if variable.dimensions else 1


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
