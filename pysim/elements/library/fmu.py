"""Functional mock-up units of other programs as sampled controllers, by FMPy (extra `fmu`): FMI 2.0 and 3.0.

At each instant of its period the FMU makes a communication step from the previous instant with the inputs of that
instant, and then takes its new inputs; its outputs are held until the next instant.
"""

from __future__ import annotations

import base64
import re
import shutil
import tempfile
import weakref
from functools import cached_property, lru_cache
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import CallbackController, controller
from pysim.elements.channels import Channels, signal
from pysim.errors import PysimError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pysim.typing import Array

_REAL = ("Real", "Float64")
_DISTRIBUTION = "pysim-multibody"


@controller("fmu")
class FmuController(CallbackController):
    """A functional mock-up unit for co-simulation, FMI 2.0 or 3.0; needs the package `fmpy`.

    `inputs` of the table are signals for the FMU's inputs in the order of `reads`, whose units they have; outputs are
    read as `name.OUTPUT`, a single one as `name`. In names, what is not a letter, a digit or _ becomes _. Loading such
    a scene needs `allow_code`, for the FMU is compiled code.
    """

    file: str  # the FMU
    reads: tuple[str, ...] = ()  # names of its inputs; all in the order of the file by default
    gives: tuple[str, ...] = ()  # names of its outputs; all by default
    parameters_set: tuple[str, ...] = ()  # names of parameters
    parameter_values: tuple[float, ...] = ()  # and their values, one after the other

    def __post_init__(self) -> None:
        if len(self.parameter_values) != sum(x.size for x in self._chosen("parameter", True)):
            problem = (
                f"has {len(self.parameter_values)} numbers for {len(self.parameters_set)} names"
            )
            raise PysimError("parameter_values", f"{problem}; give one for each number of them")

    def input_channels(self) -> Channels:
        return self._channels["input"]

    def output_channels(self) -> Channels:
        return self._channels["output"]

    @cached_property
    def _channels(self) -> dict[str, Channels]:
        """Channels of inputs and outputs, the same at each call."""
        return {kind: _channels(self.file, self._chosen(kind)) for kind in ("input", "output")}

    def output(self, t: float, inputs: Any, worlds: Any = None) -> Any:
        """Return the outputs of worlds at an instant."""
        names = [_identifier(x.name) for x in self._chosen("input")]
        rows = [np.atleast_2d(getattr(inputs, name)) for name in names]
        count = len(rows[0]) if rows else len(self._instances)
        which = range(count) if worlds is None else worlds.tolist()
        found = []
        for row, world in enumerate(which):
            numbers = np.concatenate([own[row] for own in rows]) if rows else np.zeros(0)
            found.append(self._instances[world].advance(float(t), numbers.tolist()))
        table = np.array(found, float).reshape(len(found), -1)
        ends = np.cumsum([x.size for x in self._chosen("output")])
        parts = np.split(table, ends[:-1], axis=1)
        return parts[0] if len(parts) == 1 else parts

    def begin(self, worlds: int) -> None:
        self._instances = [self._instance() for _ in range(worlds)]

    def begin_again(self, worlds: Array) -> None:
        for world in np.asarray(worlds).tolist():
            self._instances[world] = self._instance()

    def copy(self, source: Array, target: Array) -> None:
        for a, b in zip(np.asarray(source).tolist(), np.asarray(target).tolist(), strict=True):
            self._instances[b].restore(self._instances[a].state())

    def state(self) -> list[Any]:
        """Return the states of all instances."""
        return [own.state() for own in self._instances]

    def restore(self, state: list[Any]) -> None:
        """Put the instances back into the state that `state` returned."""
        for own, saved in zip(self._instances, state, strict=True):
            own.restore(saved)

    def _instance(self) -> _Instance:
        chosen = [self._chosen(kind) for kind in ("input", "output")]
        parameters = self._chosen("parameter", True), list(self.parameter_values)
        return _Instance(self._fmu, chosen[0], chosen[1], parameters)

    @cached_property
    def _fmu(self) -> _Fmu:
        stat = Path(self.file).stat()
        return _read(self.file, stat.st_mtime_ns, stat.st_size)

    def _chosen(self, causality: str, named_only: bool = False) -> list[_Variable]:
        """Return the variables of a kind that the keys name; all by default."""
        key = {"input": "reads", "output": "gives", "parameter": "parameters_set"}[causality]
        names: tuple[str, ...] = getattr(self, key)
        known = {
            variable.name: variable
            for variable in self._fmu.variables
            if variable.causality == causality
        }
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                raise PysimError(key, f"{self.file} has no {causality} {name!r}{hint}")
            if known[name].type not in _REAL:
                problem = f"{causality} {name!r} is of the type {known[name].type}"
                raise PysimError(key, f"{problem}; take real numbers alone")
        if names or named_only:
            return [known[name] for name in names]
        return [variable for variable in known.values() if variable.type in _REAL]


class _Variable(SimpleNamespace):
    """A variable of an FMU: name, reference, causality, type, unit, size."""

    name: str
    reference: int
    causality: str
    type: str
    unit: str
    size: int


class _Fmu:
    """Description of a file, and the folder to which it is extracted while pysim runs."""

    def __init__(self, file: str) -> None:
        fmpy = _fmpy()
        try:
            self.description: Any = fmpy.read_model_description(file)
        except Exception as error:
            raise PysimError(file, f"is no valid FMU: {error}; export it again") from error
        self.file = file
        if self.description.fmiVersion.split(".")[0] not in ("2", "3"):
            problem = f"is of FMI {self.description.fmiVersion}; export it for FMI 2.0 or 3.0"
            raise PysimError(file, problem)
        if self.description.coSimulation is None:
            raise PysimError(file, "is not for co-simulation; export it for that")
        self.is_second = self.description.fmiVersion.startswith("2")
        self.variables = [
            _Variable(
                name=own.name,
                reference=own.valueReference,
                causality=own.causality or "local",
                type=own.type,
                unit=_unit(own),
                size=prod(int(one.start or 1) for one in own.dimensions or ()),
            )
            for own in self.description.modelVariables
        ]

    @cached_property
    def folder(self) -> str:
        """Folder of the extracted files, removed at the end of the program."""
        folder = tempfile.mkdtemp(prefix="pysim-fmu-")
        weakref.finalize(self, shutil.rmtree, folder, True)
        return str(_fmpy().extract(self.file, folder))


@lru_cache(maxsize=16)
def _read(file: str, _modified: int, _size: int) -> _Fmu:
    return _Fmu(file)


class _Instance:
    """An instance of an FMU, which begins at its first advance."""

    def __init__(
        self,
        fmu: _Fmu,
        inputs: Sequence[_Variable],
        outputs: Sequence[_Variable],
        parameters: tuple[Sequence[_Variable], Sequence[float]],
    ) -> None:
        from fmpy.fmi2 import FMU2Slave  # noqa: PLC0415, an extra
        from fmpy.fmi3 import FMU3Slave  # noqa: PLC0415, an extra

        self._fmu, self._inputs, self._outputs = fmu, inputs, outputs
        self._parameters = parameters
        self._last: float | None = None
        description = fmu.description
        kind = FMU2Slave if fmu.is_second else FMU3Slave
        self._messages: list[str] = []
        self._slave: Any = kind(
            guid=description.guid,
            unzipDirectory=fmu.folder,
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=description.modelName,
        )
        self._called("instantiate", self._slave.instantiate)
        weakref.finalize(self, _free, self._slave)

    def advance(self, t: float, numbers: Sequence[float]) -> list[float]:
        """Go to t [s] with the inputs of the last instant, take those of t, and return the outputs."""
        if self._last is None:
            self._begin(t, numbers)
        else:
            if t > self._last:
                length = t - self._last
                self._called(f"step from {self._last:g} s", self._slave.doStep, self._last, length)
            self._set(self._inputs, numbers)
        self._last = t
        return self._get(self._outputs)

    def _begin(self, t: float, numbers: Sequence[float]) -> None:
        slave = self._slave
        self._set(*self._parameters)
        if self._fmu.is_second:
            self._called("set up the experiment", slave.setupExperiment, None, t)
            self._called("enter initialisation", slave.enterInitializationMode)
        else:
            self._called("enter initialisation", slave.enterInitializationMode, None, t)
        self._set(self._inputs, numbers)
        self._called("exit initialisation", slave.exitInitializationMode)

    def _set(self, variables: Sequence[_Variable], numbers: Sequence[float]) -> None:
        if variables:
            call = self._slave.setReal if self._fmu.is_second else self._slave.setFloat64
            self._called("set numbers", call, [own.reference for own in variables], list(numbers))

    def _get(self, variables: Sequence[_Variable]) -> list[float]:
        references = [own.reference for own in variables]
        if self._fmu.is_second:
            return list(self._called("get numbers", self._slave.getReal, references))
        count = sum(own.size for own in variables)
        return list(self._called("get numbers", self._slave.getFloat64, references, count))

    def state(self) -> list[Any]:
        """Return time and serialised state."""
        slave, word = self._slave, "FMUstate" if self._fmu.is_second else "FMUState"
        if not getattr(self._fmu.description.coSimulation, "canSerializeFMUstate", False):
            problem = "does not serialise its states, so that nothing can be saved or copied"
            raise PysimError(self._fmu.file, f"{problem}; export it with canSerializeFMUstate")
        if self._last is None:
            return [None, ""]
        saved = self._called("get the state", getattr(slave, f"get{word}"))
        data = self._called("serialise the state", getattr(slave, f"serialize{word}"), saved)
        self._called("free the state", getattr(slave, f"free{word}"), saved)
        return [self._last, base64.b64encode(bytes(data)).decode()]

    def restore(self, saved: Sequence[Any]) -> None:
        """Return to what `state` returned."""
        last, text = saved
        if last is None:
            return
        if self._last is None:
            self._begin(float(last), [0.0] * sum(own.size for own in self._inputs))
        slave, second = self._slave, self._fmu.is_second
        word, name = ("FMUstate", "deSerialize") if second else ("FMUState", "deserialize")
        state = self._called(
            "read the state", getattr(slave, f"{name}{word}"), base64.b64decode(text)
        )
        self._called("set the state", getattr(slave, f"set{word}"), state)
        self._called("free the state", getattr(slave, f"free{word}"), state)
        self._last = float(last)

    def _called(self, what: str, call: Any, *arguments: Any) -> Any:
        """Return what a call of the FMU returns; `what` says what it does, after "failed to"."""
        try:
            return call(*arguments)
        except Exception as error:
            problem = f"failed to {what}: {error}; see what it printed"
            raise PysimError(self._fmu.file, problem) from error


def _free(slave: Any) -> None:
    if getattr(slave, "component", None):
        slave.terminate()
        slave.freeInstance()


def _fmpy() -> Any:
    try:
        import fmpy  # noqa: PLC0415, an extra
    except ImportError as error:
        problem = f'needs the package fmpy; install it with `pip install "{_DISTRIBUTION}[fmu]"`'
        raise PysimError("fmu", problem) from error
    return fmpy


def _unit(variable: Any) -> str:
    """Return the unit of a variable as pysim spells it: products by ·; empty if it has none."""
    declared = variable.unit or getattr(variable.declaredType, "unit", None) or ""
    return str(declared).replace(".", "·").replace("*", "·")


def _identifier(name: str) -> str:
    word = re.sub(r"\W", "_", name).strip("_") or "_"
    return f"_{word}" if word[0].isdigit() else word


def _channels(file: str, variables: Iterable[_Variable]) -> Channels:
    """Return channels of variables.

    Raises:
        PysimError: two have one name.
    """
    known: dict[str, str] = {}
    parts = Channels()
    for own in variables:
        name = _identifier(own.name)
        if name in known:
            problem = f"{own.name!r} and {known[name]!r} have one name in a scene, {name}"
            raise PysimError(file, f"{problem}; choose one of them by reads or gives")
        known[name] = own.name
        parts = parts * signal(name, unit=own.unit, size=own.size)
    return parts
