"""Frequency response of a linear system: outputs over inputs of a given frequency, after other motions have decayed.

G(ω) = C (λ 1 − A)⁻¹ B + D        λ = i ω of a continuous system, e^(i ω T) of a sampled one
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    from pysim.analysis.linear_system import LinearSystem

POINTS = 400  # of the frequencies that are chosen
RANGE_FACTOR = 10.0  # by which they lie beyond the natural frequencies, on both sides
# frequency, relative to the largest, of a mode that is no motion at constant speed
LEAST_FREQUENCY = 1e-6


@dataclass(frozen=True)
class FrequencyResponse:
    """Response of every output to every input: G (k, outputs, inputs) at the frequencies `omega` (k,) [rad/s]."""

    omega: Array
    G: NDArray[np.complex128]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def magnitude(self) -> Array:
        """|G| (k, outputs, inputs), in the outputs' units by the inputs'."""
        return np.abs(self.G)

    @property
    def phase(self) -> Array:
        """Phase of G (k, outputs, inputs) [rad], without jumps of 2π over the frequencies."""
        return np.unwrap(np.angle(self.G), axis=0)

    def plot(self, path: str | PathLike[str] | None = None) -> None:
        """Draw magnitudes and phases over the frequency into a file (Bode plot), or show them in a window.

        Raises:
            PysimError: the file cannot be written, or there is no display.
        """
        import pysim  # noqa: PLC0415, pictures are a layer above

        pysim.render.bode(self, path)


def frequency_response(system: LinearSystem, omega: ArrayLike | None = None) -> FrequencyResponse:
    """Return the frequency response of a linear system; see `LinearSystem.frequency_response`."""
    if not system.inputs or not system.outputs:
        missing = "input" if not system.inputs else "output"
        problem = f"the system has no {missing}; name one in pysim.linearize"
        raise SimulationError("frequency_response", problem)
    frequencies = _chosen(system) if omega is None else np.atleast_1d(np.asarray(omega, float))
    if frequencies.ndim != 1 or not np.isfinite(frequencies).all() or (frequencies < 0).any():
        problem = "must be finite frequencies (k,), 0 or more [rad/s]"
        raise SimulationError("omega", problem)
    rotating = 1j * frequencies
    values = rotating if system.period is None else np.exp(rotating * system.period)
    G = np.empty((len(values), *system.D.shape), complex)
    unit = np.eye(len(system.A))
    for k, value in enumerate(values):
        try:
            G[k] = system.C @ np.linalg.solve(value * unit - system.A, system.B) + system.D
        except np.linalg.LinAlgError:  # at a pole without damping
            G[k] = np.inf
    return FrequencyResponse(frequencies, G, system.inputs, system.outputs)


def _chosen(system: LinearSystem) -> Array:
    """Return frequencies around those of the modes, up to half the frequency of samples."""
    natural = np.array([mode.natural_frequency for mode in system.modes()])
    natural = natural[natural > LEAST_FREQUENCY * natural.max(initial=0.0)]
    first, last = (natural.min(), natural.max()) if len(natural) else (1.0, 1.0)
    first, last = first / RANGE_FACTOR, last * RANGE_FACTOR
    if system.period is not None:
        last = np.pi / system.period
        first = min(first, last / RANGE_FACTOR)
    return np.geomspace(first, last, POINTS)
