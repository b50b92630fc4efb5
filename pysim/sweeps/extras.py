"""Packages of extras, which are optional."""

from __future__ import annotations

from importlib import import_module

from pysim.errors import SimulationError

EXTRAS = {
    "xarray": "sweeps",
    "distributed": "dask",
    "torch": "learn",
    "rsl_rl": "learn",
    "stable_baselines3": "sb3",
}


def check_installed(where: str, *names: str) -> None:
    """Reject a call that needs a package which is not installed.

    Raises:
        SimulationError: naming the extra.
    """
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            remedy = f'install it with pip install "pysim-multibody[{EXTRAS[name]}]"'
            raise SimulationError(where, f"needs {name}; {remedy}") from error
