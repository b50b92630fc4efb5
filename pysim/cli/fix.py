"""`pysim check --fix`: writes a repaired copy of a scene or URDF file, and prints the difference."""

from __future__ import annotations

import difflib
import warnings
from typing import TYPE_CHECKING

from pysim.cli.messages import print_line, print_message
from pysim.errors import PysimError, PysimWarning
from pysim.identify.file_changes import Changes
from pysim.identify.writing_urdf import changed_urdf
from pysim.inertia import unphysical_reason
from pysim.scene import read_model
from pysim.scene.inertia_text import nearest_printable
from pysim.scene.toml.repairs import repaired

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

INVALID = 2  # exit status of a file that still has errors


def write_fixed(
    path: Path, target: Path, package_dirs: tuple[Path, ...], *, allow_code: bool
) -> int:
    """Write a copy of a file with its repairs, print the difference and the errors left, and return the exit status.

    Raises:
        PysimError: the file is neither a scene nor a URDF file, or the target exists or has another suffix.
    """
    suffix = path.suffix.lower()
    if suffix not in {".toml", ".urdf"} or target.suffix.lower() != suffix:
        problem = f"must end in {path.suffix} like {path}; scenes and URDF files are repaired"
        raise PysimError(str(target), problem)
    if target.exists():
        raise PysimError(str(target), "exists; name another file")
    if path.parent.resolve() != target.parent.resolve():
        problem = f"names files relative to {path.parent}; write it beside {path.name}"
        raise PysimError(str(target), problem)
    old = path.read_text("utf-8")
    new = _urdf(path, package_dirs) if suffix == ".urdf" else repaired(str(path), old, package_dirs)
    before, after = old.splitlines(), new.splitlines()
    rows = difflib.unified_diff(before, after, str(path), str(target), lineterm="", n=1)
    difference = list(rows)
    if difference:
        target.write_text(new, "utf-8")
        for row in difference:
            print_line(row)
        print_line(f"  written     {target}")
    else:
        print_line("  nothing to repair")
    return _status(target if difference else path, package_dirs, allow_code=allow_code)


def _urdf(path: Path, package_dirs: tuple[Path, ...]) -> str:
    """Return a URDF file whose inconsistent inertias are the nearest consistent ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        spec = read_model(path, package_dirs=package_dirs, inertia="check")
    faulty: dict[str, Array | None] = {
        body.name: nearest_printable(body.theta)
        for body in spec.bodies
        if body.theta[0] > 0 and unphysical_reason(body.theta) is not None
    }
    return changed_urdf(path.read_bytes(), Changes(faulty)).decode()


def _status(path: Path, package_dirs: tuple[Path, ...], *, allow_code: bool) -> int:
    """Print the errors that a file still has, and return the exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        try:
            read_model(path, package_dirs=package_dirs, allow_code=allow_code)
        except PysimError as error:
            print_message("error", str(error))
            return INVALID
    return 0
