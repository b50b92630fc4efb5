"""`pysim check --ranges`: prints the ranges of motion of a mechanism, and finds links that overlap in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pysim.analysis.ranges_of_motion import SAMPLES
from pysim.cli.messages import print_columns, print_line
from pysim.scene.doctor import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.analysis.ranges_of_motion import CoordinateRange, RangesOfMotion

MOST_LISTED_NAMES = 6  # names in a line


def print_ranges(ranges: RangesOfMotion) -> None:
    """Print the range of every coordinate, and the part of it in which no links overlap."""
    print_line()
    rows = [
        (own.name, _interval(own.lower, own.upper, own.unit), *_clear(own))
        for own in ranges.coordinates
    ]
    if rows:
        print_columns(("coordinate", "range", "without overlap", "then overlap"), rows)
    pairs = "1 pair" if ranges.pairs == 1 else f"{ranges.pairs} pairs"
    counts = f"{pairs} of links in {ranges.configurations} configurations"
    print_line(f"  overlap     {counts}, meshes as their convex hulls")
    for names, why in (
        (ranges.without_range, "at the start, as not all coordinates have limits"),
        (ranges.without_shape, "not examined, without a collision shape"),
    ):
        if names:
            more = (
                f" and {len(names) - MOST_LISTED_NAMES} more"
                if len(names) > MOST_LISTED_NAMES
                else ""
            )
            print_line(f"  overlap     {', '.join(names[:MOST_LISTED_NAMES])}{more}: {why}")


def _interval(lower: float, upper: float, unit: str) -> str:
    degrees = (
        f" ({math.degrees(lower):.4g} to {math.degrees(upper):.4g} deg)" if unit == "rad" else ""
    )
    return f"{lower:.4g} to {upper:.4g} {unit}{degrees}"


def _clear(own: CoordinateRange) -> tuple[str, str]:
    """Return the part without overlap, and the links that overlap beyond it; "all" if none do."""
    if own.first is None or own.clear is None:
        return "all", ""
    return _interval(*own.clear, own.unit), ", ".join(own.first)


def overlap_findings(found: RangesOfMotion) -> Iterator[Finding]:
    """Yield the links that overlap, those at the start and the most frequent ones first."""
    for links in sorted(found.overlapping, key=lambda own: (-own.at_start, -own.share)):
        names = f"links {links.first!r} and {links.second!r} overlap"
        remedy = "exclude them from contact if they may"
        share = f"in {100 * links.share:.2g} % of {SAMPLES} random configurations within the ranges"
        share = share if links.share else "where one coordinate moves alone"
        if links.at_start:
            yield Finding("warning", links.where, f"{names} at the start, and {share}; {remedy}")
        else:
            text = f"{names} {share}; limit the joints between them, or {remedy}"
            yield Finding("note", links.where, text)
