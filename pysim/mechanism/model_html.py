"""Table of a model for notebooks: its size, and the tree of its bodies and joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.markup import counted, facts, fold, listed, panel, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.mechanism.model import Model

MOST_ROWS = 60  # of the tree
MOST_OPEN = 20  # rows of a tree that is shown without a click
HEAD = ("body", "joint", "type", "coordinates", "mass [kg]")
INDENT = "\u2003"  # an em space


def model_html(model: Model) -> str:
    """Return the HTML of a model; names are escaped."""
    title = model.name or "model"
    return panel(title, "pysim.Model", facts(model_facts(model)), model_tree(model))


def model_facts(model: Model) -> list[tuple[str, str]]:
    """Return names and values: the size of a model and its connections."""
    welded = len(model.frame_names) - model.nbodies
    size = f"{counted(model.nbodies, 'moving body', 'moving bodies')}, nq {model.nq}, nv {model.nv}"
    gravity = ", ".join(f"{g:.4g}" for g in model.gravity)
    return [
        ("size", f"{size}, {model.total_mass:.4g} kg"),
        ("gravity", f"{gravity} m/s²" if np.any(model.gravity) else "none"),
        ("frames", str(welded) if welded else ""),
        ("loops", listed(model.loop_names)),
        ("couplings", listed(model.coupling_names)),
        ("forces", listed(model.force_names)),
        ("left out", listed(model.spec.omitted, 5)),
    ]


def model_tree(model: Model) -> str:
    """Return the tree of bodies and joints as a table, open if it is short."""
    rows: list[tuple[str, ...]] = []
    for row in _tree_rows(model):
        if len(rows) == MOST_ROWS:
            rows.append((f"… {model.nbodies - MOST_ROWS} more", "", "", "", ""))
            break
        rows.append(row)
    content = table(HEAD, rows, numbers=HEAD[-1:])
    return fold("bodies and joints", content, is_open=model.nbodies <= MOST_OPEN)


def _tree_rows(model: Model) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the tree, each body under its parent."""
    depth: list[int] = []
    units = dict(zip(model.coordinate_names, model.coordinate_units, strict=True))
    for k, (body, joint) in enumerate(zip(model.bodies, model.joints, strict=True)):
        parent = model.parents[k]
        depth.append(depth[parent] + 1 if parent >= 0 else 0)
        at, nq = model.q_offsets[k], model.joint_nq[k]
        own = [units[name] for name in model.coordinate_names[at : at + nq]] if nq else []
        coordinates = f"{nq} [{', '.join(dict.fromkeys(own))}]" if own else "0"
        if joint.mimic is not None:
            coordinates = f"follows {joint.mimic.joint}"
        name = INDENT * depth[k] + body.name
        yield name, joint.name, joint.type, coordinates, f"{body.theta[0]:.4g}"
