"""Lines of `pysim check --linear`: the poles of a scene about its start, their damping, and what moves in each mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_line

if TYPE_CHECKING:
    from pysim.analysis.linear_system import LinearMode, LinearSystem

SHOWN_SHARE = 0.05  # of the largest entry of a mode: what moves
MOST_LISTED_STATES = 4  # states named in a line
LEAST_ACCELERATION = 1e-6  # [m/s², rad/s²] of a start that is no equilibrium


def print_linear(system: LinearSystem) -> None:
    """Print the poles of a linear system."""
    print_line()
    kind = "continuous" if system.period is None else f"sampled every {system.period:g} s"
    inputs = ", ".join(system.inputs) or "none"
    print_line(f"  linear      {kind}, {len(system.states)} states, inputs: {inputs}")
    largest = float(np.abs(system.rate).max(initial=0.0))
    if largest > LEAST_ACCELERATION:
        at = system.states[int(np.abs(system.rate).argmax())]
        print_line(f"  rest        the start is no equilibrium: the rate of {at} is {largest:.3g}")
    print_line(f"  {'pole [1/s]':<28} {'frequency':>12} {'damping':>8}  moves")
    for mode in system.modes():
        print_line(f"  {_mode_text(mode, system.states)}")


def _mode_text(mode: LinearMode, states: tuple[str, ...]) -> str:
    """Return a line: the pole, its natural frequency, its damping ratio, and the states with the largest entries."""
    s = mode.s
    pole = f"{s.real:.5g}" + (f" ± {s.imag:.5g} i" if s.imag else "")
    frequency = f"{mode.natural_frequency / (2 * np.pi):.4g} Hz" if s.imag else ""
    damping = f"{mode.damping_ratio:.3g}" if s.imag else ""
    sizes = np.abs(mode.shape)
    positions = [k for k, name in enumerate(states) if not name.startswith("v.")]
    among = positions if sizes[positions].any() else list(range(len(states)))
    most = sizes[among].max(initial=0.0)
    order = sorted(among, key=lambda k: -sizes[k])
    entries = [
        f"{states[k].removeprefix('q.')} {_relative(mode.shape[k] / mode.shape[order[0]])}"
        for k in order[:MOST_LISTED_STATES]
        if sizes[k] > SHOWN_SHARE * most
    ]
    return f"{pole:<28} {frequency:>12} {damping:>8}  {', '.join(entries)}"


def _relative(x: complex) -> str:
    """Return an entry of a shape: its size with a sign, and its phase where it is neither 0 nor 180°."""
    angle = float(np.degrees(np.angle(x)))
    if abs(angle) < 1:
        return f"{abs(x):.2g}"
    if abs(angle) > 179:
        return f"−{abs(x):.2g}"
    return f"{abs(x):.2g} at {angle:.0f}°"
