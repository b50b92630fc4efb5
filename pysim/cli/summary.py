"""Summary of a run, one line for each fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_line

if TYPE_CHECKING:
    from pysim.simulation import RunSummary
    from pysim.simulation.summary import EventSummary, LoopSummary, WorkSummary
    from pysim.worlds.loading import Scene


def print_summary(scene: Scene, summary: RunSummary, *, verbose: bool = False) -> None:
    """Print what `summarize` found; `verbose` adds the solver, the work of elements and the balance."""
    print_line(scene.spec.name, style="bold")
    print_line(f"  simulated   {summary.duration:g} s in {summary.wall:.3g} s of wall time")
    print_line(
        f"  steps       {summary.steps}, {three_digits(summary.steps_per_second)} per second"
    )
    if summary.iterations > 0 and (verbose or summary.rejected > 0):
        each = f"{summary.iterations / max(summary.steps, 1):.1f} a step"
        print_line(f"  Newton      {each}, {summary.rejected} steps repeated with shorter ones")
    if summary.callback_wall > 0:
        share = min(1.0, summary.callback_wall / summary.wall) if summary.wall > 0 else 1.0
        print_line(
            f"  callbacks   {share:.0%} of the time in joints that Python computes; trace them if you can"
        )
    print_line(f"  energy      {energy_line(summary)}")
    if summary.work is not None:
        print_line(f"  work        {work_line(summary.work, verbose=verbose)}")
    if summary.loops is not None:
        print_line(f"  loops       {loops_line(summary.loops)}")
        if summary.loops.strongest:
            print_line(f"  loads       {loads_line(summary.loops)}")
        if summary.loops.reactions:
            print_line(f"  reactions   {reactions_line(summary.loops)}")
    for event in summary.events:
        print_line(f"  event       {event.name}: {event_line(event)}")
    if summary.stopped_by is not None:
        print_line(f"  stopped     by {summary.stopped_by} at {summary.duration:.12g} s")
    if summary.tool is not None:
        point = f"{summary.tool}, centre of mass," if summary.tool_is_centre else summary.tool
        print_line(f"  tool        {point} at {pose_line(summary)}")


def energy_line(summary: RunSummary) -> str:
    """Return the energy's drift if it is conserved, else its change."""
    if summary.conserves_energy:
        if not summary.moved:
            return f"{summary.energy[0]:.4g} J, nothing moved"
        share = f"{summary.relative_drift:.1e} of the largest kinetic energy"
        return f"drift {summary.energy_drift:.1e} J, {share}"
    first, last = summary.energy
    change = f"{first:.4g} J at the start, {last:.4g} J at the end"
    if summary.work is not None:
        return change
    why = "work of actuators, dampers and joint forces, and integration errors"
    return f"{change} ({why}: not judged, because the run has no energy ledger)"


MOST_ELEMENTS = 3  # named in a summary
# of the energy involved, from which on a balance that is open is explained
EXPLAINED_BALANCE = 0.03


def work_line(work: WorkSummary, *, verbose: bool = False) -> str:
    """Return what was injected and dissipated, with the elements of the work if they are few.

    `verbose` adds the elements with the most work of many, and how far the balance closes. A balance that is open by
    some per cent is explained in any case.
    """
    most = sorted(work.elements.items(), key=lambda item: -abs(item[1]))
    line = f"injected {work.injected:.4g} J, dissipated {work.dissipated:.4g} J"
    if most and (verbose or len(most) <= MOST_ELEMENTS):
        named = ", ".join(f"{name} {joules:.4g}" for name, joules in most[:MOST_ELEMENTS])
        more = f", and {len(most) - MOST_ELEMENTS} more" if len(most) > MOST_ELEMENTS else ""
        line += f" ({named}{more})"
    if work.scale > 0 and work.drift > EXPLAINED_BALANCE * work.scale:
        share = f"{work.drift / work.scale:.0%} of the energy involved"
        return f"{line}; energy and work differ by up to {work.drift:.2g} J, {share}: the error of the steps in either"
    return line + (f"; the balance closes to {work.drift:.1e} J" if verbose else "")


def event_line(event: EventSummary) -> str:
    """Return the number of occurrences and their times."""
    if event.count == 0:
        return "never"
    if event.count == 1:
        return f"once, at {event.first:.12g} s"
    return f"{event.count} times, first at {event.first:.12g} s, last at {event.last:.12g} s"


def loops_line(loops: LoopSummary) -> str:
    """Return the largest opening of the loops, and how close the mechanism was to a singular position."""
    kept = f"closed to {loops.residual:.1e} m, rad and {loops.slip:.1e} m/s, rad/s"
    return f"{kept}; independence at least {loops.independence:.2g}, at t = {loops.nearest:.4g} s"


def loads_line(loops: LoopSummary) -> str:
    """Return the largest force and the largest moment of the loops, with their names."""
    pulled = max(loops.strongest, key=lambda load: load.force)
    bent = max(loops.strongest, key=lambda load: load.moment)
    moment = f", up to {bent.moment:.4g} N·m in {bent.name!r}" if bent.moment > 0 else ""
    split = " (redundant: one of many valid distributions)" if loops.redundant else ""
    return f"up to {pulled.force:.4g} N in {pulled.name!r}{moment}{split}"


def reactions_line(loops: LoopSummary) -> str:
    """Return the largest force of every prescribed motion, with its time."""
    return ", ".join(
        f"up to {own.force:.4g} {own.unit} ({own.name}, t = {own.t:.4g} s)"
        for own in loops.reactions
    )


def pose_line(summary: RunSummary) -> str:
    """Return the final pose of the tool in the world."""
    x, y, z = np.round(summary.tool_position, 4) + 0.0  # + 0.0: no −0
    roll, pitch, yaw = np.round(np.degrees(summary.tool_rpy), 1) + 0.0
    return f"x {x:.4f}  y {y:.4f}  z {z:.4f} m, roll {roll:.1f}  pitch {pitch:.1f}  yaw {yaw:.1f}°"


def three_digits(number: float) -> str:
    """Return a number with three significant digits and thousands separators, as in `218,000`."""
    return f"{float(f'{number:.3g}'):,.0f}"
