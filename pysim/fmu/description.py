"""The file modelDescription.xml of an FMU, by FMI 2.0.4 or 3.0.2, for co-simulation."""

from __future__ import annotations

import math
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from pysim.fmu.units import powers

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
    root = ET.Element("fmiModelDescription", _attributes(scene, token, fmi))
    simulation = {"modelIdentifier": identifier, "canHandleVariableCommunicationStepSize": "true"}
    state = "FMUstate" if fmi == 2 else "FMUState"
    simulation |= {f"canGetAndSet{state}": "true", f"canSerialize{state}": "true"}
    if fmi == 2:
        simulation["canNotUseMemoryManagementFunctions"] = "true"
    elif math.isfinite(scene.settings.step):
        simulation["fixedInternalStepSize"] = repr(scene.settings.step)
    ET.SubElement(root, "CoSimulation", simulation)
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


def _attributes(scene: Scene, token: str, fmi: int) -> dict[str, str]:
    """Return the attributes of the root."""
    found = {
        "fmiVersion": "2.0" if fmi == 2 else "3.0",
        "modelName": scene.spec.name,
        "guid" if fmi == 2 else "instantiationToken": token,
        "generationTool": f"pysim {version(NAME)}",
        "variableNamingConvention": "flat",
    }
    if fmi == 2:
        found["numberOfEventIndicators"] = "0"
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
    initial = {"initial": "calculated"} if variable.causality == "output" else {}
    return {"causality": variable.causality, "variability": "continuous", **initial}


def _bounds(variable: Variable) -> dict[str, str]:
    """Return the bounds of all of its numbers, as far as they are finite."""
    low = min((low for low, _ in variable.bounds), default=-math.inf)
    high = max((high for _, high in variable.bounds), default=math.inf)
    large = sys.float_info.max
    return {name: repr(x) for name, x in (("min", low), ("max", high)) if abs(x) < large}


def _start(variable: Variable) -> dict[str, str]:
    return {"start": " ".join(map(repr, variable.start))} if variable.start else {}


def _add_variables(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Add the variables of FMI 2, one a number, and which of them are outputs."""
    table = ET.SubElement(root, "ModelVariables")
    time = {"name": "time", "valueReference": "0", "causality": "independent", "variability": "continuous"}  # fmt: skip
    ET.SubElement(ET.SubElement(table, "ScalarVariable", time), "Real", {"unit": "s"})
    outputs = []
    for k, own in enumerate(variables):
        keys = {"name": own.name, "valueReference": str(own.reference), "description": own.description}  # fmt: skip
        keys |= _kind(own)
        if own.causality == "output":
            outputs.append(k + 2)  # counted from 1, after the time
        scalar = ET.SubElement(table, "ScalarVariable", keys)
        ET.SubElement(scalar, "Real", {**_unit(own), **_bounds(own), **_start(own)})
    structure = ET.SubElement(root, "ModelStructure")
    for name in ("Outputs", "InitialUnknowns") if outputs else ():
        unknowns = ET.SubElement(structure, name)
        for k in outputs:
            ET.SubElement(unknowns, "Unknown", {"index": str(k)})


def _add_arrays(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Add the variables of FMI 3, and which of them are outputs."""
    table = ET.SubElement(root, "ModelVariables")
    time = {"name": "time", "valueReference": "0", "causality": "independent", "variability": "continuous"}  # fmt: skip
    ET.SubElement(table, "Float64", {**time, "unit": "s"})
    for own in variables:
        keys = {"name": own.name, "valueReference": str(own.reference), "description": own.description}  # fmt: skip
        keys |= _kind(own) | _unit(own) | _bounds(own) | _start(own)
        variable = ET.SubElement(table, "Float64", keys)
        if own.labels is not None:
            ET.SubElement(variable, "Dimension", {"start": str(len(own.labels))})
    structure = ET.SubElement(root, "ModelStructure")
    for name in ("Output", "InitialUnknown"):
        for own in variables:
            if own.causality == "output":
                ET.SubElement(structure, name, {"valueReference": str(own.reference)})
