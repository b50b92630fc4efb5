"""The file modelDescription.xml of an FMU, by FMI 2.0.4 or 3.0.2, for co-simulation."""

from __future__ import annotations

import math
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pysim.fmu.units import powers
from pysim.fmu.variables import INDICATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.fmu.variables import Variable
    from pysim.worlds.loading import Scene

NAME = "pysim-multibody"  # of the package


def description(
    scene: Scene, identifier: str, token: str, variables: Sequence[Variable], fmi: int
) -> bytes:
    """Return the text of the file.

    Args:
        scene: of the FMU.
        identifier: name of the binary, an identifier of C.
        token: by which the binary and this file are known to belong together.
        variables: of the FMU, without the time.
        fmi: version of the standard, 2 or 3.
    """
    root = ET.Element("fmiModelDescription", _attributes(scene, token, variables, fmi))
    simulation = {"modelIdentifier": identifier, "canHandleVariableCommunicationStepSize": "true"}
    state = "FMUstate" if fmi == 2 else "FMUState"
    shared = {f"canGetAndSet{state}": "true", f"canSerialize{state}": "true"}
    if fmi == 2:
        shared["canNotUseMemoryManagementFunctions"] = "true"
    elif math.isfinite(scene.settings.step):
        simulation["fixedInternalStepSize"] = repr(scene.settings.step)
    if any(own.rate_of is not None for own in variables):
        exchange = {"modelIdentifier": identifier, **shared}
        slopes = "providesDirectionalDerivative" + "s" * (fmi == 3)
        exchange[slopes] = str(all(own.has_slope for own in variables)).lower()
        if fmi == 2:
            exchange["completedIntegratorStepNotNeeded"] = "true"
        ET.SubElement(root, "ModelExchange", exchange)
    ET.SubElement(root, "CoSimulation", simulation | shared)
    _add_units(root, variables)
    categories = ET.SubElement(root, "LogCategories")
    ET.SubElement(categories, "Category", {"name": "logStatusError"})
    experiment = {"startTime": "0.0", "stopTime": repr(float(scene.settings.duration))}
    if math.isfinite(scene.settings.step):
        experiment["stepSize"] = repr(scene.settings.step)
    ET.SubElement(root, "DefaultExperiment", experiment)
    (_add_variables if fmi == 2 else _add_arrays)(root, variables)
    ET.indent(root)
    return bytes(ET.tostring(root, "utf-8", xml_declaration=True)) + b"\n"


def _attributes(
    scene: Scene, token: str, variables: Sequence[Variable], fmi: int
) -> dict[str, str]:
    """Return the attributes of the root."""
    found = {
        "fmiVersion": "2.0" if fmi == 2 else "3.0",
        "modelName": scene.spec.name,
        "guid" if fmi == 2 else "instantiationToken": token,
        "generationTool": f"pysim {version(NAME)}",
        "variableNamingConvention": "flat",
    }
    if fmi == 2:
        found["numberOfEventIndicators"] = str(sum(own.kind == INDICATOR for own in variables))
    return found


def _add_units(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Add the units of variables, as powers of base units where they are known."""
    units = ET.SubElement(root, "UnitDefinitions")
    for name in dict.fromkeys(["s", *(own.unit for own in variables if own.unit)]):
        unit, found = ET.SubElement(units, "Unit", {"name": name}), powers(name)
        if found is not None:
            ET.SubElement(unit, "BaseUnit", {base: str(power) for base, power in found.items()})


def _unit(variable: Variable) -> dict[str, str]:
    return {"unit": variable.unit} if variable.unit else {}


def _kind(variable: Variable) -> dict[str, str]:
    if variable.causality == "parameter":
        return {"causality": "parameter", "variability": "tunable", "initial": "exact"}
    initial = {} if variable.causality == "input" else {"initial": "calculated"}
    return {"causality": variable.causality, "variability": "continuous", **initial}


def _keys(variable: Variable) -> dict[str, str]:
    """Return what both standards say of a variable."""
    reference = str(variable.reference)
    named = {"name": variable.name, "valueReference": reference}
    return {**named, "description": variable.description, **_kind(variable)}


def _bounds(variable: Variable) -> dict[str, str]:
    """Return the bounds of all of its numbers, as far as they are finite."""
    low = min((low for low, _ in variable.bounds), default=-math.inf)
    high = max((high for _, high in variable.bounds), default=math.inf)
    large = sys.float_info.max
    return {name: repr(x) for name, x in (("min", low), ("max", high)) if abs(x) < large}


def _start(variable: Variable) -> dict[str, str]:
    return {"start": " ".join(map(repr, variable.start))} if variable.start else {}


def _unknowns(variables: Sequence[Variable]) -> dict[str, list[Variable]]:
    """Return what ModelStructure lists, by the names of FMI 3, in the order of the standard."""
    outputs = [own for own in variables if own.causality == "output"]
    rates = [own for own in variables if own.rate_of is not None]
    integrated = {own.rate_of for own in rates}
    states = [own for own in variables if own.reference in integrated and own not in outputs]
    return {
        "Output": outputs,
        "ContinuousStateDerivative": rates,
        "InitialUnknown": [*outputs, *states, *rates],
        "EventIndicator": [own for own in variables if own.kind == INDICATOR],
    }


def _add_variables(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Add the variables of FMI 2, one a number, and which of them are outputs, rates of states and unknown at first.

    The time, which the standard lets an FMU leave out, is none of them: FMI Library requires a start of it.
    """
    table = ET.SubElement(root, "ModelVariables")
    places = {variable.reference: str(k) for k, variable in enumerate(variables, 1)}
    for variable in variables:
        rate = {} if variable.rate_of is None else {"derivative": places[variable.rate_of]}
        scalar = ET.SubElement(table, "ScalarVariable", _keys(variable))
        ET.SubElement(
            scalar, "Real", {**_unit(variable), **_bounds(variable), **_start(variable), **rate}
        )
    structure, unknowns = ET.SubElement(root, "ModelStructure"), _unknowns(variables)
    names = dict(zip(("Outputs", "Derivatives", "InitialUnknowns"), unknowns, strict=False))
    for name, kind in names.items():
        if unknowns[kind]:
            listed = ET.SubElement(structure, name)
            indices = sorted((places[variable.reference] for variable in unknowns[kind]), key=int)
            for index in indices:
                ET.SubElement(listed, "Unknown", {"index": index})


def _add_arrays(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Add the variables of FMI 3, and which of them are outputs, rates of states, unknown at first and indicators."""
    table = ET.SubElement(root, "ModelVariables")
    time = {"name": "time", "valueReference": "0", "causality": "independent", "variability": "continuous"}  # fmt: skip
    ET.SubElement(table, "Float64", {**time, "unit": "s"})
    for variable in variables:
        keys = _keys(variable) | _unit(variable) | _bounds(variable) | _start(variable)
        if variable.rate_of is not None:
            keys["derivative"] = str(variable.rate_of)
        numbers = ET.SubElement(table, "Float64", keys)
        if variable.labels is not None:
            ET.SubElement(numbers, "Dimension", {"start": str(len(variable.labels))})
    structure = ET.SubElement(root, "ModelStructure")
    for name, listed in _unknowns(variables).items():
        for variable in listed:
            ET.SubElement(structure, name, {"valueReference": str(variable.reference)})
