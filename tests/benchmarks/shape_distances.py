"""Signed distances of pairs of shapes in random poses, beside Coal: µs a pair, and how far both disagree.

Shapes are some 0.5 m long; a quarter of the pairs overlap. Coal computes one pair at a time, at tolerances of 1e-9, and
is called from Python, which is some 0.5 µs of its time.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from pysim.contact import distances
from tests.benchmarks.report import heading, print_line, row
from tests.benchmarks.timing import take_turns
from tests.contact.test_convex_distances import PAIRS, coal_distances, random_poses, shape_of

COUNT = 1000
APART, DEEPER = 1e-6, 1e-6  # [m]


def main() -> None:
    """Print a row a pair of kinds, and what all disagree in."""
    heading(f"distances of {COUNT} pairs of shapes", "µs a pair")
    worst, overlaps, deeper = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for kinds in PAIRS:
            a, b = (shape_of(kind, Path(folder)) for kind in kinds)
            rng = np.random.default_rng(1)
            X_a, X_b = random_poses(rng, COUNT), random_poses(rng, COUNT)
            times = take_turns(
                {
                    "pysim": partial(distances, a, X_a, b, X_b),
                    "coal": partial(coal_distances, a, X_a, b, X_b),
                },
                rounds=5,
            )
            own, peer = (1e6 / COUNT * times[name] for name in ("pysim", "coal"))
            row(kinds[0], kinds[1], own, peer, "Coal, one by one")
            found, expected = distances(a, X_a, b, X_b).distance, coal_distances(a, X_a, b, X_b)
            apart, overlap = expected > APART, found < 0
            worst = max(worst, float(np.abs(found - expected)[apart].max()))
            overlaps += int(overlap.sum())
            deeper += int((found < expected - DEEPER)[overlap].sum())
    print_line(f"separate shapes differ by {worst:.1e} m at most")
    print_line(f"of {overlaps} overlaps {deeper} are deeper than Coal's by more than {DEEPER:g} m")


if __name__ == "__main__":
    main()
