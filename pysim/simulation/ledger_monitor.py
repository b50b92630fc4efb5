"""Energy balance of a run by its ledger: warns of energy gained or lost without work that its scheme does not explain.

    b = E + dissipated − injected        constant but for errors of the scheme

Without anything that exchanges energy b is the energy itself; without a ledger of what does, the balance is not judged.
A balance that changes by more than a share of the energy involved is computed again with steps of half the size, up to
the largest change. Errors of a scheme of order p fall by about 2ᵖ, also at corners of forces; a change that does not
fall is reported, one that falls much faster as well, because it is a jump between branches of a mechanism's motion, and
one as large as the energy itself. Errors of adaptive steps are bounded by their tolerances. Of convex steps, gains
alone are judged: contacts, stops and implicit springs lose energy in steps that are long for them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.diagnosis.conserved_energy import LARGE, conserves_energy
from pysim.diagnosis.modes import modes_of, stop_modes
from pysim.diagnosis.stability import slide_bound
from pysim.diagnosis.start_checks import light_bodies
from pysim.errors import PysimWarning, SimulationError
from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.loops import constraints
from pysim.mechanism.model import State
from pysim.simulation.record_runs import RecordRun
from pysim.typing import Array
from pysim.worlds.ledger import balances, with_ledger

if TYPE_CHECKING:
    from pysim.trajectory import Trajectory
    from pysim.worlds.loading import Scene

REPORTED_SHARE = 1e-2  # of energy and work: a smaller change is not reported
CONSERVED = 1e-3  # the same where no work is done, of schemes of order 2 and more
LARGE_GAIN = 0.1  # the same of what convex steps gain
HALVED_STEP_RATIO = 0.75  # of a change, to which halved steps reduce it at least
LEAST_JUMP = 0.02  # of energy and work: a change that may be a jump
# times the fall of a scheme's order: the fall of a jump, which shorter steps avoid
FALLS_AT_ONCE = 6.0
MOST_STEPS = 1_000_000  # of a run that is repeated
ROUNDING = 1e-10  # of the energy: a smaller change may be rounding, as where a controller holds a mechanism still
RESOLVED = 0.7  # largest |h s| of the fastest mode that a step resolves
REACH = 1.5  # times the distance covered between two outputs: a stop within it may be touched
SINGULAR = 0.2  # of the largest smallest singular value: near a singular position
MOST_ROWS = 256  # outputs at which the rank of the loops is compared
PARTS_OF_INTERVAL = 64  # of an interval in which the rank is looked at


@dataclass(frozen=True)
class Imbalance:
    """Change of the balance that is no error of a step that resolves the motion."""

    row: int  # the output before the interval with the largest part of it
    size: float  # [J]
    scale: float  # [J] of the energy involved


def warn_of_imbalance(
    scene: Scene, trajectory: Trajectory, steps: int, stacklevel: int = 2
) -> None:
    """Warn of a finished run whose energy balance does not close.

    Of runs with contacts those of convex steps of one length are judged, for energy gained. Runs of plugins' schemes
    are not judged, because their order is unknown.
    """
    kind = find_integrator(scene.settings.integrator)
    if kind.plugin is not None or (scene.contacts is not None and not kind.contacts):
        return
    found = imbalance(scene, trajectory, steps)
    if found is not None:
        text = f"{scene.spec.path}: {describe(scene, trajectory, found)}"
        warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


def imbalance(scene: Scene, trajectory: Trajectory, steps: int) -> Imbalance | None:
    """Return the change of a run's balance that its scheme does not explain, None if there is none.

    Args:
        scene: the scene.
        trajectory: its run.
        steps: of the run.
    """
    if scene.model.callback_numbers or not (trajectory.work or conserves_energy(scene)):
        return None
    with np.errstate(all="ignore"):  # of runs that grow without bound
        return _imbalance(scene, trajectory, steps)


def _imbalance(scene: Scene, trajectory: Trajectory, steps: int) -> Imbalance | None:
    kind = find_integrator(scene.settings.integrator)
    balance, energy, kinetic = trajectory.energy_balance, trajectory.energy, trajectory.kinetic
    finite = np.isfinite(balance)
    rows = len(balance) if finite.all() else int(finite.argmin())
    if rows < 2:
        return None
    change = balance[:rows] - balance[0]
    change = np.maximum(change, 0.0) if kind.contacts else np.abs(change)
    scale = float(kinetic[:rows].max() + np.ptp(energy[:rows] - kinetic[:rows]))
    exchanged = sum((float(np.abs(x[:rows]).max()) for x in trajectory.work.values()), 0.0)
    until = int(change.argmax())
    if change[until] <= ROUNDING * np.abs(energy[:rows]).max():
        return None
    share = change[until] / (scale + exchanged)
    if not share > (REPORTED_SHARE if exchanged or kind.order == 1 else CONSERVED):
        return None
    parts = np.diff(balance[: until + 1])
    row = int((parts if kind.contacts else np.abs(parts)).argmax())
    if kind.adaptive:
        explained = change[until] <= REPORTED_SHARE * exchanged + _tolerated(
            scene, trajectory, steps, scale
        )
    else:
        explained = not np.isfinite(scene.settings.step) or 2 * steps > MOST_STEPS
        explained = explained or not (kind.contacts or resolves(scene, trajectory, row))
        large = share >= (LARGE_GAIN if kind.contacts else LARGE)
        explained = explained or (
            not large and _falls(scene, trajectory, until, change[until], share)
        )
    return None if explained else Imbalance(row, float(balance[until] - balance[0]), scale)


def _falls(scene: Scene, trajectory: Trajectory, until: int, change: float, share: float) -> bool:
    """Return whether steps of half the size reduce a change of the balance (J) up to an output as errors fall."""
    shorter = _largest_change(scene, trajectory.t[: until + 1])
    if shorter is None:
        return True
    order = find_integrator(scene.settings.integrator).order
    if order is not None and share > LEAST_JUMP and scene.contacts is None:
        least = change / (FALLS_AT_ONCE * 2.0 ** (order + 1))
        return least <= shorter < HALVED_STEP_RATIO * change
    return shorter < HALVED_STEP_RATIO * change


def _tolerated(scene: Scene, trajectory: Trajectory, steps: int, scale: float) -> float:
    """Return the energy [J] by which adaptive steps are off that all err by their tolerances."""
    rtol, atol = (max(x.values()) for x in (scene.settings.rtol, scene.settings.atol))
    momentum = 2 * trajectory.kinetic.max() / max(float(np.abs(trajectory.v).max()), 1e-300)
    return float((rtol * scale + atol * momentum) * steps)


def _largest_change(scene: Scene, t: Array) -> float | None:
    """Return the largest change (J) of the balance at times t (n,) with steps of half the size; None if it fails."""
    if scene.signals is not None and scene.signals.callbacks:
        return None  # a run in between would change what controllers in Python remember
    settings = replace(scene.settings, step=0.5 * scene.settings.step)
    finer = with_ledger(replace(scene, settings=settings))
    run = RecordRun(finer)
    start = run.begin()
    state, numbers = finer.state, None if start is None else start[None]
    first = balances(finer, t[:1], state.q[None], state.v[None], numbers).balance.item()
    largest = 0.0
    gains = find_integrator(scene.settings.integrator).contacts
    try:
        for part in run.segments(iter(t.tolist())):
            change = balances(finer, part.t, part.q, part.v, part.signals).balance - first
            size = change if gains else np.abs(change)
            largest = max(largest, float(size.max(initial=0.0)))
    except SimulationError:
        return None
    return largest


def resolves(scene: Scene, trajectory: Trajectory, row: int) -> bool:
    """Return whether fixed steps resolve the modes at some outputs up to a row, and the stops that may act there."""
    step = scene.settings.step
    if step > slide_bound(scene)[1]:
        return False
    hardest = max((abs(mode.s) for mode in stop_modes(scene)), default=0.0)
    if step * hardest > RESOLVED and _may_touch_stops(scene, trajectory, row):
        return False
    fastest = []
    for k in np.unique(np.linspace(0, row, 3).astype(int)):
        state = State(trajectory.q[k], trajectory.v[k], scene.state.loop_q)
        modes = modes_of(replace(scene, state=state))
        fastest.append(max((abs(mode.s) for mode in modes), default=0.0))
    return bool(step * np.median(fastest) < RESOLVED)


def _may_touch_stops(scene: Scene, trajectory: Trajectory, row: int) -> bool:
    """Return whether a coordinate may reach a limit at its speed between an output and the next, or beside them."""
    model, beside = scene.model, slice(max(row - 1, 0), row + 3)
    q, v = trajectory.q[beside], np.abs(trajectory.v[beside]).max(axis=0)
    reach = REACH * float(np.diff(trajectory.t[beside]).max()) * v
    for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
        limited = np.isfinite(joint.lower) | np.isfinite(joint.upper)
        if at_q < 0:  # it follows another joint
            if limited.any():
                return True
            continue
        for i, k in zip(*find_joint(joint.type).real_coordinates, strict=True):
            x, far = q[:, at_q + i], reach[at_v + k]
            if limited[k] and (x.max() + far >= joint.upper[k] or x.min() - far <= joint.lower[k]):
                return True
    return False


# ------------------------------------------------------------------------------------------ its text


def describe(scene: Scene, trajectory: Trajectory, imbalance: Imbalance) -> str:
    """Return the warning about an imbalance: its size, time and likely cause, and a remedy."""
    verb = "lost" if imbalance.size < 0 else "gained"
    share = (
        f"{abs(imbalance.size) / imbalance.scale:.2g} of the energy involved"
        if imbalance.scale > 0
        else "all"
    )
    before, after = (float(trajectory.t[imbalance.row + k]) for k in (0, 1))
    problem = (
        f"the run {verb} {abs(imbalance.size):.3g} J ({share}) without work, most of it between t = {before:.6g} and "
        f"{after:.6g} s, more than the errors of {scene.settings.integrator} explain"
    )
    cause, remedy = _cause(scene, trajectory, imbalance.row)
    return f"{problem}; {cause}: {remedy}"


def _cause(scene: Scene, trajectory: Trajectory, row: int) -> tuple[str, str]:
    """Return the likely cause and the remedy."""
    light = light_bodies(scene)
    if light is not None:
        problem, remedy = light.rsplit("; ", 1)
        return problem, remedy
    if scene.model.rows and _nearly_singular(scene, trajectory.q, row):
        return (
            "the loops nearly lose rank there, at a position where the motion branches",
            "change a length to keep away from this position or to pass exactly through it, or shorten the step",
        )
    settings = scene.settings
    if find_integrator(settings.integrator).adaptive:
        return "the steps do not resolve the motion there", "lower simulation.rtol and atol"
    return (
        "the step does not resolve the motion there",
        f"shorten simulation.step, now {settings.step:g} [s], and check the forces at that time for jumps",
    )


def _nearly_singular(scene: Scene, q: Array, row: int) -> bool:
    """Return whether the rows are much closer to losing rank between two outputs than elsewhere in the run."""
    model, shares = scene.model, np.linspace(0.0, 1.0, PARTS_OF_INTERVAL + 1)
    there = model.integrate(
        np.tile(q[row], (len(shares), 1)), np.outer(shares, model.difference(q[row], q[row + 1]))
    )
    everywhere = q[:: max(1, len(q) // MOST_ROWS)]
    J = constraints(model, np.concatenate([there, everywhere])).jacobian
    longest = np.linalg.norm(J, axis=2).max(axis=0)[:, None]  # a row may vanish there
    values = np.linalg.svd(J / np.maximum(longest, 1e-300), compute_uv=False)
    rank = int(np.median((values > 1e-6).sum(axis=1)))
    least = values[:, max(rank - 1, 0)]
    return bool(least[: len(there)].min() < SINGULAR * least.max())
