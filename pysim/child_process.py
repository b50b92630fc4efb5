"""Commands of the Python programs that pysim starts, which import nothing from the working folder.

The working folder may be that of a stranger's scene. `python -c` would import a file such as `queue.py` from there in
place of Python's own module, and so would a copy of this process's `sys.path`, in which "" or the first entry of
`python -m` stands for the working folder.
"""

from __future__ import annotations

# pathlib might come from the working folder, and Python has already imported os
# ruff: noqa: PTH100, PTH120, PTH121
import os
import sys

_SET_PATH = "import sys; import json; sys.path[:] = json.loads(sys.argv.pop(1))"
_PACKAGE_HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def python_command(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a text of Python with `sys.argv[1:]` = arguments.

    Python runs isolated (-I): without the working folder, the user's site-packages and PYTHON* variables. The program
    imports from the folders of `trusted_folders`.
    """
    import json  # noqa: PLC0415, this module is imported before the working folder is left out

    code = f"{_SET_PATH}\n{program}"
    return [sys.executable, "-I", "-c", code, json.dumps(trusted_folders()), *arguments]


def trusted_folders() -> list[str]:
    """Return the folders on `sys.path`, absolute, without the working folder unless pysim itself lies there."""
    found = [os.path.abspath(entry) for entry in sys.path if entry]
    return [entry for entry in found if not _is_working_folder(entry)]


def runs_as_module() -> bool:
    """Return whether Python was started as `python -m pysim` and is importing the package."""
    return sys.argv[:1] == ["-m"] and ("-m", "pysim") in zip(
        sys.orig_argv, sys.orig_argv[1:], strict=False
    )


def leave_out_working_folder() -> None:
    """Remove the working folder from `sys.path`, where `python -m` puts it, unless pysim itself lies there."""
    sys.path[:] = [entry for entry in sys.path if not _is_working_folder(entry or ".")]


def _is_working_folder(folder: str) -> bool:
    try:
        return os.path.samefile(folder, ".") and not os.path.samefile(folder, _PACKAGE_HOME)
    except OSError:  # not a folder, such as a zip file, or a working folder that was removed
        return False
