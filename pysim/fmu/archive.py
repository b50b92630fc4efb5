"""FMUs: archives of a description, the engine's binary, and the file of a scene."""

from __future__ import annotations

import platform
import re
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from pysim import _engine
from pysim.errors import PysimError, SimulationError
from pysim.fmu.description import description
from pysim.fmu.model_exchange import check_is_equation, exchanged
from pysim.fmu.variables import chosen, variables_of
from pysim.simulation.engine_file import check_runs_without_python, file_of_worlds
from pysim.simulation.worlds import Worlds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pysim.fmu.variables import Variable
    from pysim.simulation.engine_file import SetNumber
    from pysim.worlds.loading import Scene

FMI_VERSIONS = (2, 3)
EPOCH = (1980, 1, 1, 0, 0, 0)  # of every file, so that equal scenes have equal archives
_CHECKSUM = slice(16, 24)  # in the header of a scene's file, see cpp/engine/scene_file.hpp
_SYSTEMS = {"linux": ("linux", "linux", ".so"), "darwin": ("darwin", "darwin", ".dylib")}
_MACHINES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def write_fmu(
    scene: Scene,
    path: str | PathLike[str],
    *,
    fmi: int = 2,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    parameters: Sequence[str] = (),
    model_exchange: bool = False,
) -> list[Variable]:
    """Write a scene as an FMU for co-simulation, which needs no Python where it runs; return its variables.

    Args:
        scene: without parts that Python runs.
        path: of the FMU.
        fmi: version of the standard, 2 or 3.
        inputs: names or patterns of the inputs that it has; all by default.
        outputs: names or patterns of its outputs: coordinates `q.NAME`, velocities `v.NAME`, signals, poses
            `pose.BODY.x` and contact forces `contact.PAIR.x`; all by default.
        parameters: paths or patterns of `Worlds.parameters`, as "body.*.mass", that may be set in initialisation and
            between steps; none by default.
        model_exchange: whether the FMU is one for model exchange, too: for scenes that are ordinary differential
            equations.

    Raises:
        SimulationError: Python runs a part of the scene or computes with a parameter, a parameter moves the start, a
            pattern matches nothing, or the standard is another.
        PysimError: this platform is not one for which FMUs are made.
    """
    if fmi not in FMI_VERSIONS:
        raise SimulationError("fmi", f"must be 2 or 3, got {fmi!r}")
    check_runs_without_python(scene)
    if model_exchange:
        check_is_equation(scene)
    worlds = Worlds(scene)
    own = worlds.scene()
    file, numbers = file_of_worlds(worlds, parameters)
    variables = chosen(variables_of(worlds, numbers, arrays=fmi == 3), inputs, outputs)
    if model_exchange:
        _check_limits(numbers)
        variables = exchanged(worlds, variables)
    identifier = re.sub(r"\W", "_", own.spec.name, flags=re.ASCII)
    identifier = identifier if re.match(r"[A-Za-z_]", identifier) else f"_{identifier}"
    folder, suffix = _platform(fmi)
    text = description(own, identifier, token_of(file, fmi), variables, fmi)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (
            ("modelDescription.xml", text),
            (f"binaries/{folder}/{identifier}{suffix}", binary().read_bytes()),
            ("resources/scene.pysim", file),
        ):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o755 << 16
            archive.writestr(entry, data)
    return variables


def token_of(file: bytes, fmi: int) -> str:
    """Return the token of a scene's file under a version of the standard, which the binary expects."""
    checksum = file[_CHECKSUM][::-1].hex()
    return f"{{{checksum[:8]}-{checksum[8:12]}-{checksum[12:]}-0000-{fmi:012x}}}"


def binary() -> Path:
    """Return the path of the engine that FMUs carry, which lies beside that of Python.

    Raises:
        PysimError: this build has none.
    """
    folder = Path(_engine.__file__).parent
    found = [folder / name for name in ("pysim_fmu.so", "pysim_fmu.dylib", "pysim_fmu.dll")]
    for path in found:
        if path.is_file():
            return path
    raise PysimError(str(folder), "has no pysim_fmu; install pysim again, which builds it")


def _check_limits(numbers: Sequence[SetNumber]) -> None:
    """Reject limits among the parameters: event indicators of model exchange are at those of the file."""
    for number in numbers:
        if number.name.rpartition(".")[2] in ("lower", "upper"):
            problem = (
                f"{number.name!r} is a limit, at which an event indicator of model exchange is 0"
            )
            raise SimulationError("parameters", f"{problem}; leave it out")


def _platform(fmi: int) -> tuple[str, str]:
    """Return the folder of binaries of this platform, and their suffix.

    Raises:
        PysimError: the standard has no name for it.
    """
    machine = _MACHINES.get(platform.machine())
    if sys.platform not in _SYSTEMS or machine is None:
        problem = f"FMUs are not made for {sys.platform} on {platform.machine()}"
        raise PysimError("platform", f"{problem}; write them on Linux or macOS")
    system, of_2, suffix = _SYSTEMS[sys.platform]
    if fmi == 3:
        return f"{machine}-{system}", suffix
    if machine != "x86_64":
        return f"{machine}-{of_2}", suffix
    return f"{of_2}64", suffix
