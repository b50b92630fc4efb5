"""Writing of identified parameters into a copy of a robot or scene file, leaving everything else unchanged."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import IdentificationError, PysimWarning
from pysim.identify.file_changes import changes_of
from pysim.scene import read_model

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.mechanism.model import Model


def check_written(start: Path, end: Path, *, overwrite: bool) -> None:
    """Reject an output that is not of the kind of the source, or exists.

    Raises:
        IdentificationError: it is.
    """
    if start.suffix.lower() != end.suffix.lower():
        problem = f"must end in {start.suffix} like {start}; other kinds are not converted"
        raise IdentificationError(str(end), problem)
    if end.exists() and not overwrite:
        raise IdentificationError(str(end), "exists; name another file, or overwrite it")


def write_found(
    model: Model,
    source: str | PathLike[str],
    output: str | PathLike[str],
    *,
    package_dirs: Iterable[str | PathLike[str]] = (),
    overwrite: bool = False,
) -> list[str]:
    """Write the file a model was read from with the model's own inertias, damping, friction and armature.

    Args:
        model: what was found, `Identification.model`.
        source: the .urdf or .toml file that it was read from.
        output: the file to write, of the same kind.
        package_dirs: where `package://` is looked up first.
        overwrite: replace `output` where it exists.

    Returns:
        What a reader of the new file should know.

    Raises:
        IdentificationError: the output exists, or is of another kind.
    """
    start, end = Path(source), Path(output)
    check_written(start, end, overwrite=overwrite)
    with warnings.catch_warnings():
        # warnings about the file were raised when it was loaded
        warnings.simplefilter("ignore", PysimWarning)
        file = read_model(start, package_dirs=package_dirs)
    changes = changes_of(model, file)
    if start.suffix.lower() == ".urdf":
        from pysim.identify.writing_urdf import changed_urdf  # noqa: PLC0415, each kind loads its own

        end.write_bytes(changed_urdf(start.read_bytes(), changes))
    else:
        from pysim.identify.writing_scene import changed_scene  # noqa: PLC0415

        text = changed_scene(start.read_text("utf-8"), changes, file)
        end.write_text(text, "utf-8")
    return changes.notes
