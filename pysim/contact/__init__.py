"""Contacts: signed distances of shapes, laws of pairs of surfaces, and the pairs that may touch in a scene."""

from __future__ import annotations

from pysim.contact.compiler import (
    CompiledContacts,
    compile_contacts,
    contacts_with_other_numbers,
)
from pysim.contact.distances import Distances, distances
from pysim.contact.laws import PairLaw, creep_speed
from pysim.contact.pair_laws import mechanism_masses
from pysim.contact.pairs import ContactPair
from pysim.elements.restitution import dissipation_of, restitution_of

__all__ = [
    "CompiledContacts",
    "ContactPair",
    "Distances",
    "PairLaw",
    "compile_contacts",
    "contacts_with_other_numbers",
    "creep_speed",
    "dissipation_of",
    "distances",
    "mechanism_masses",
    "restitution_of",
]
