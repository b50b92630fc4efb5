"""A child process with limits, which parses an HDF5 file that cannot be trusted.

libhdf5 trusts what it parses: a crash, an endless loop or gigabytes of memory end the child, and the caller gets an
error with that reason.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.child_process import python_command

if TYPE_CHECKING:
    from pysim.errors import PysimError

CODE = "import importlib, sys; importlib.import_module(sys.argv[5]).main()"
SECONDS, BYTES_A_SECOND = 10, 5_000_000  # of processor time
MEMORY, MEMORY_A_BYTE = 1 << 29, 16  # beyond what Python and h5py take
PATIENCE = 6  # seconds of wall time for one of processor time
REMEDY = "copy it again, or run again"


def output_of_child(
    path: Path, module: str, what: str, *, error: type[PysimError]
) -> tuple[bytes, bytes]:
    """Return the output and the error output of `main()` of a module in a child process, which reads `what` of a file.

    Raises:
        PysimError: of the given type; the child did not end well.
    """
    size = path.stat().st_size
    seconds, memory = SECONDS + size // BYTES_A_SECOND, MEMORY + MEMORY_A_BYTE * size
    command = python_command(CODE, what, str(path), str(seconds), str(memory), module)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # whose buffers would count
    try:
        child = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE * seconds,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        problem = f"HDF5 did not finish reading it within {PATIENCE * seconds} s"
        raise _broken(path, problem, error) from None
    if sys.platform != "win32" and child.returncode == -signal.SIGXCPU:
        raise _broken(path, f"HDF5 did not finish reading it within {seconds} s", error)
    if child.returncode < 0:
        name = signal.Signals(-child.returncode).name
        raise _broken(path, f"HDF5 crashes on it ({name})", error)
    return child.stdout, child.stderr


def _broken(path: Path, what: str, error: type[PysimError]) -> PysimError:
    return error(str(path), f"is damaged, {what}; {REMEDY}")


def unreadable(path: Path, errors: bytes, error: type[PysimError]) -> PysimError:
    """Return the error for a child whose output cannot be understood; it wrote `errors`."""
    last = errors.decode(errors="replace").strip().splitlines()[-1:]
    reason = f", {last[0][:200]}" if last else ""
    return error(str(path), f"cannot be read by a child process{reason}; {REMEDY}")


def limited() -> int:
    """Apply the limits of the command line to this process, whose output goes elsewhere; return the memory [bytes].

    macOS does not limit memory, and Windows only the wall time, in the parent.
    """
    seconds, memory = int(sys.argv[3]), int(sys.argv[4])
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    if sys.platform == "win32":
        return memory

    import resource  # noqa: PLC0415, not on every system

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # SIGXCPU first
    if sys.platform == "linux":
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = taken * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return memory
