"""Energy ledger of a run: the work of every element, integrated by the scheme itself.

Integrals are carried beside q and v and change neither, so the balance of energies and work closes to the scheme's
order (pysim/elements/powers.py has the powers).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim.algorithms import elastic_energy, kinetic_energy, potential_energy
from pysim.contact.compiler import engine_contacts
from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.mechanism.signal_compiler import compile_signals, with_signals
from pysim.trajectory.header import MOST_PAIRS
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.contact import CompiledContacts
    from pysim.elements.graph_types import ContactWork, WorkTerm
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


def with_ledger(scene: Scene) -> Scene:
    """Return the scene with the work of its elements integrated.

    It is the scene itself if nothing exchanges energy, if `output.work` is false, or if Python computes joints. Schemes
    of plugins leave out contacts.
    """
    kind = find_integrator(scene.settings.integrator)
    if not scene.settings.work or scene.model.callback_numbers:
        return scene
    leaves_out = kind.plugin is not None or scene.settings.contact_law == "impact"
    pairs = None if scene.contacts is None or leaves_out else _pairs_of(scene.contacts)
    compiled = compile_signals(
        scene.model,
        scene.spec,
        ledger=True,
        contacts=pairs,
        impulses=kind.contacts,
        unmeasured=scene.signals,
    )
    if compiled is None or not compiled.work:
        return scene
    model = with_signals(scene.model, compiled)
    contacts = scene.contacts
    if contacts is not None and compiled.contact_work is not None:
        engine = engine_contacts(
            model, contacts.shapes, scene.settings.slip_speed, contacts.covered
        )
        contacts = replace(contacts, engine=engine)
        engine.set_work(_places(model, contacts, compiled.contact_work))
    return replace(scene, model=model, signals=compiled, contacts=contacts)


def _pairs_of(contacts: CompiledContacts) -> list[tuple[str, bool]]:
    """Return the names of the pairs of links that may touch, and whether a surface of each moves.

    Many pairs are one item.
    """
    shapes = contacts.shapes
    moves = np.array([any(velocity) for _, velocity in shapes.surfaces], bool)
    moving = set(np.unique(shapes.pair[moves[shapes.surface]]).tolist())
    if len(contacts.pairs) > MOST_PAIRS:
        return [("contacts", bool(moving))]
    return [(pair.name, k in moving) for k, pair in enumerate(contacts.pairs)]


def _places(model: Model, contacts: CompiledContacts, work: ContactWork) -> NDArray[np.int32]:
    """Return the places of the work of every pair of shapes, then of every coordinate of convex steps, -1 for none."""
    numbers = np.arange(len(model.joints))
    joints = np.repeat(numbers, [find_joint(joint.type).nv for joint in model.joints])
    of_coordinates = (work.joints.get(int(joints[v]), -1) for v in contacts.engine.law_coordinates)
    last = len(work.pairs) - 1
    of_pairs = np.array(work.pairs, np.int32)[np.minimum(contacts.shapes.pair, last)]
    return np.concatenate([of_pairs, np.array([*of_coordinates], np.int32)])


def work_of(term: WorkTerm, numbers: Array, readings: Array) -> Array:
    """Return the work (…,) [J] of an element, from numbers (…, signal_numbers) of the state and from the readings."""
    work: Array = numbers[..., term.place]
    return work if term.energy is None else work + readings[..., term.energy]


class Balances(NamedTuple):
    """Energies and work of n states [J], each (n,) but for the work of every element."""

    balance: Array
    kinetic: Array
    stored: Array
    work: Array  # (elements, n)


def balances(scene: Scene, t: Array, q: Array, v: Array, numbers: Array | None) -> Balances:
    """Return the balance of n states at t (n,) [s] of a run, from the numbers (n, signal_numbers) of its ledger."""
    model, signals = scene.model, scene.signals
    work = np.zeros((0, len(t)))
    if signals is not None and signals.work and numbers is not None:
        rest = np.zeros_like(v)
        readings = np.asarray(_engine.read_signals(model, t, q, v, rest, numbers))
        work = np.array([work_of(term, numbers, readings) for term in signals.work])
    kinetic, stored = energies(model, q, v)
    with np.errstate(invalid="ignore"):  # of runs that grow without bound
        return Balances(kinetic + stored - work.sum(axis=0), kinetic, stored, work)


def energies(model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """Return kinetic and stored energy (n,) [J] of n states."""
    return np.asarray(kinetic_energy(model, q, v)), np.asarray(
        potential_energy(model, q) + elastic_energy(model, q)
    )


def begin_work(scene: Scene, numbers: Array) -> None:
    """Let the work of every element begin with 0 at the scene's start, in the numbers of its signals there."""
    if scene.signals is None or not scene.signals.work:
        return
    state = scene.state
    rest = np.zeros(scene.model.nv)
    rows = _engine.read_signals(scene.model, np.zeros(1), state.q, state.v, rest, numbers)
    readings = np.asarray(rows).reshape(-1)
    for term in scene.signals.work:
        if term.energy is not None:
            numbers[term.place] = -readings[term.energy]
