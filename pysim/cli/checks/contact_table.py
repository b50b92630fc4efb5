"""Contacts of `pysim check`: laws of pairs of shapes, mechanisms that sink, and friction that creeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_columns, print_line
from pysim.contact import creep_speed, mechanism_masses, restitution_of
from pysim.contact.hulls import HOLLOW, added_volume, convex_pieces, is_left_out
from pysim.contact.laws import DEFAULT_SINK, STANDARD_GRAVITY
from pysim.contact.pair_laws import root_bodies
from pysim.contact.self_contact import OFF, UNSTATED, overlaps_of_links
from pysim.diagnosis.contact_checks import deepest_first
from pysim.scene.tree import WORLD
from pysim.shapes import HeightField

if TYPE_CHECKING:
    from pysim.contact.compiler import CompiledContacts
    from pysim.contact.shape_pairs import ShapePair
    from pysim.worlds.loading import Scene

REASONS = {
    OFF: ("by self_collision = false", ""),
    UNSTATED: (
        "of one robot, whose URDF file does not say whether they touch",
        "; an srdf, self_collision = true or a [[contact]] that names both lets them touch",
    ),
}
LEVEL_SLOPE = 1e-6  # slopes below are level
MOST_LISTED_MESHES = 4  # meshes in a line
BRAKING_SHARE = 0.5  # of gravity: acceleration along a curved surface that a contact has to follow without a word
OVERLOAD = 20.0  # times its own mass that a mechanism may have to carry


def print_contacts(scene: Scene, *, full: bool = False) -> None:
    """Print the laws of pairs of shapes, and of shapes and grounds, and what the step makes of them.

    Pairs of the same two mechanisms whose laws are equal share a row, unless `full` is true.
    """
    contacts = scene.contacts
    if contacts is None or not contacts.shapes:
        return
    print_line()
    rows: dict[tuple[object, ...], list[tuple[str, ...]]] = {}
    roots = root_bodies(scene.model)
    impacts = scene.settings.contact_law == "impact"
    adaptive = not math.isfinite(scene.settings.step)
    turning = any(shape.law.rolling or shape.law.spinning for shape in contacts.shapes)
    for shape in contacts.shapes:
        law = shape.law
        restitution = law.restitution if impacts else restitution_of(law.dissipation, 1.0)
        unit = "N/m" if law.exponent == 1 else "N/m^1.5"
        row = (
            contacts.pairs[shape.pair].name,
            shape.kinds,
            f"{law.stiffness:.4g} {unit}",
            f"{law.dissipation:.4g}",
            f"{restitution:.3g}",
            f"{law.static_friction:.3g}, {law.dynamic_friction:.3g}",
            f"{law.sink:.3g}",
            f"{law.half_period / (1.0 if adaptive else scene.settings.step):.3g}",
            *([f"{law.rolling:.3g}, {law.spinning:.3g}"] if turning else []),
        )
        sides = (shape.moving, shape.opposite)
        mechanisms = [roots[x.body] if x is not None and x.body >= 0 else None for x in sides]
        key: tuple[object, ...] = (len(rows),) if full else (*mechanisms, *row[1:])
        rows.setdefault(key, []).append(row)
    lasts = "contact [s]" if adaptive else "steps in contact"
    names = ("K", "d [s/m]", "e" if impacts else "e at 1 m/s", "μ", "sink [m]", lasts)
    lengths = ("rolling, spinning [m]",) if turning else ()
    shown = [(_name(group), *group[0][1:]) for group in rows.values()]
    print_columns(("contact", "shape", *names, *lengths), shown)
    if len(shown) < len(contacts.shapes):
        print_line(f"  {len(contacts.shapes)} contacts; --full prints each")
    print_left_out(scene, contacts)
    print_hulls(scene)
    print_parts(scene)
    print_overloads(scene, contacts)
    print_peaks(contacts)
    print_braking(scene, contacts)
    if scene.smooth_contacts is not None and not impacts:
        print_creep(scene, contacts)


def _name(rows: list[tuple[str, ...]]) -> str:
    """Return the name of contacts in one row."""
    name = rows[0][0]
    return name if len(rows) == 1 else f"{name} and {len(rows) - 1} more"


def print_left_out(scene: Scene, contacts: CompiledContacts) -> None:
    """Print the pairs that pass through each other, a line for each reason."""
    for reason, (why, remedy) in REASONS.items():
        pairs = [pair for pair in contacts.left_out if pair.reason == reason]
        if pairs:
            first = pairs[0]
            kinds = f"{first.first.shape.kind} and {first.second.shape.kind}"
            of = f"{first.first.link!r} and {first.second.link!r}"
            count = "1 pair of shapes" if len(pairs) == 1 else f"{len(pairs)} pairs of shapes"
            print_line(f"  left out    {count} {why}, such as {kinds} of {of}{remedy}")
    depths = overlaps_of_links(contacts)
    if depths:
        verb = "overlaps" if len(depths) == 1 else "overlap"
        remedy = "a [[contact]] that names both lets them touch"
        which = f"{_links(len(depths))} of one robot that {verb} at the start"
        print_line(
            f"  left out    {which}: {deepest_first(depths, MOST_LISTED_MESHES, ' m')}; {remedy}"
        )
    spec = scene.model.spec.contacts
    excluded = set() if spec is None else {frozenset(pair) for pair in spec.excluded}
    solid = {link.name for link in scene.model.spec.bodies if link.collisions} | {WORLD}
    named = sum(pair <= solid for pair in excluded)
    if named:
        print_line(f"  left out    {_links(named)} by the file of a robot or an [[exclude]]")


def _links(count: int) -> str:
    return "1 pair of links" if count == 1 else f"{count} pairs of links"


def print_hulls(scene: Scene) -> None:
    """Print the meshes of other programs' files that collide as their convex hulls, and the volume that this adds."""
    added, open_meshes = {}, set()
    for link in scene.model.spec.bodies:
        for collision in link.collisions:
            mesh = collision.shape.mesh
            if mesh is None or not (collision.convex and collision.is_imported):
                continue
            volume = None if is_left_out(collision) else added_volume(collision)
            if volume is None:
                open_meshes.add(mesh)
            elif volume > HOLLOW:
                added[f"{mesh.name!r} of {link.name!r}"] = volume
    if added:
        names = sorted(added, key=lambda name: -added[name])
        listed = ", ".join(
            f"{name} {100 * added[name]:.3g} %" for name in names[:MOST_LISTED_MESHES]
        )
        more = (
            f" and {len(names) - MOST_LISTED_MESHES} more"
            if len(names) > MOST_LISTED_MESHES
            else ""
        )
        collide = "mesh that is not convex collides as its hull, which adds volume"
        if len(names) > 1:
            collide = "meshes that are not convex collide as their hulls, which adds volume"
        remedy = "decompose of its [[model]] lets it collide as convex parts"
        print_line(f"  hulls       {len(names)} {collide}: {listed}{more}; {remedy}")
    if open_meshes:
        first = min(mesh.name for mesh in open_meshes)
        line = f"{len(open_meshes)} meshes that enclose no volume collide as their hulls"
        if len(open_meshes) == 1:
            line = "1 mesh that encloses no volume collides as its hull"
        print_line(f"  hulls       {line}, such as {first!r}")


def print_parts(scene: Scene) -> None:
    """Print the meshes that collide as convex parts, with the number of parts and the volume that these add."""
    texts = []
    for link in scene.model.spec.bodies:
        for collision in link.collisions:
            pieces = convex_pieces(collision)
            if len(pieces) > 1 and collision.shape.mesh is not None:
                volume = added_volume(collision, pieces) or 0.0
                name = f"{collision.shape.mesh.name!r} of {link.name!r}"
                texts.append(f"{name} as {len(pieces)} ({100 * volume:+.2g} % of volume)")
    if texts:
        collide = "mesh collides" if len(texts) == 1 else "meshes collide"
        more = (
            f" and {len(texts) - MOST_LISTED_MESHES} more"
            if len(texts) > MOST_LISTED_MESHES
            else ""
        )
        text = (
            f"{len(texts)} {collide} as convex parts: {', '.join(texts[:MOST_LISTED_MESHES])}{more}"
        )
        print_line(f"  parts       {text}")


def print_overloads(scene: Scene, contacts: CompiledContacts) -> None:
    """Print how a light mechanism sinks and relaxes under a heavy one, where `sink` gives the stiffness."""
    masses = mechanism_masses(scene.model)
    gravity = float(np.linalg.norm(scene.model.gravity))
    printed = set()
    for shape in contacts.shapes:
        if (
            shape.opposite is None
            or shape.opposite.body < 0
            or not gravity
            or shape.pair in printed
        ):
            continue
        light, heavy = sorted((masses[shape.moving.body], masses[shape.opposite.body]))
        depth = shape.law.sink * (heavy / light) ** (1 / shape.law.exponent)
        if heavy < OVERLOAD * light or depth < DEFAULT_SINK:
            continue
        printed.add(shape.pair)
        relaxed = shape.law.dissipation * depth
        name = contacts.pairs[shape.pair].name
        print_line(
            f"  overload    {name}: the law is that of the lighter mechanism's weight; under "
            f"{heavy:.4g} kg it sinks {depth:.2g} m and settles in {relaxed:.2g} s; give a stiffness [N/m]"
        )


def print_peaks(contacts: CompiledContacts) -> None:
    """Print the shapes with faces through which peaks of a terrain pass."""
    printed = set()
    for shape in contacts.shapes:
        terrain = None if shape.opposite is None else shape.opposite.shape.field
        own = shape.shape.primitive
        if not isinstance(terrain, HeightField) or own is None or not own.is_flat:
            continue
        cell, size = min(terrain.spacing), shape.shape.size
        face = max(size) if shape.shape.kind == "box" else 2 * size[0]
        if face <= cell or shape.pair in printed:
            continue
        printed.add(shape.pair)
        name, kind = contacts.pairs[shape.pair].name, shape.shape.kind
        print_line(
            f"  peaks       {name}: peaks of the terrain, whose cells are {cell:.3g} m, pass through a face of the "
            f"{kind} of {face:.3g} m between its points; let spheres or capsules touch it"
        )


def print_braking(scene: Scene, contacts: CompiledContacts) -> None:
    """Print the contact whose damper brakes most of what slides or rolls along a curved surface.

    In a step of length h along a surface of radius R the normal turns by v h/R. Along the normal at the start the point
    opens at v² h/R, which the damper takes for a rebound: it pushes only while d h v²/R is less than 1.
    """
    settings, gravity = scene.settings, float(np.linalg.norm(scene.model.gravity))
    if settings.integrator != "convex" or settings.parameters.get("accuracy"):
        return
    step = settings.step
    wanted = gravity or STANDARD_GRAVITY
    braked = {
        contacts.pairs[shape.pair].name: shape.law
        for shape in sorted(contacts.shapes, key=lambda shape: shape.law.dissipation)
        if _is_curved(shape) and shape.law.dissipation * step * BRAKING_SHARE * wanted > 1
    }
    if not braked:
        return
    name, law = list(braked.items())[-1]
    most = 1 / (law.dissipation * step)
    remedy = f"a step of {most / wanted * step:.2g} s"
    if not law.restitution:  # critical damping, d ~ 1/√sink
        softer = law.stiffness * (most / wanted) ** (2 * law.exponent)
        remedy += f" or a stiffness of {softer:.2g} N/m" + ("" if law.exponent == 1 else "^1.5")
    more = f" (and {len(braked) - 1} more)" if len(braked) > 1 else ""
    print_line(
        f"  braking     {name}{more}: the damper brakes what slides or rolls along a curved surface where v²/R exceeds "
        f"{most:.2g} m/s²; {remedy} allows {wanted:.3g} m/s², dissipation = 0 any"
    )


def _is_curved(pair: ShapePair) -> bool:
    """Return whether the normal of two shapes turns while one slides along the other."""
    if pair.ground is not None:
        return pair.ground.field is not None
    return any(
        placed is not None
        and (placed.shape.primitive is None or not placed.shape.primitive.is_flat)
        for placed in (pair.moving, pair.opposite)
    )


def print_creep(scene: Scene, contacts: CompiledContacts) -> None:
    """Print the speed at which contacts slip that a scheme without stiction cannot hold."""
    speed, gravity = scene.settings.slip_speed, np.asarray(scene.model.gravity)
    print_line(
        f"  creep       friction of {scene.settings.integrator} does not stick: at half its bound, contacts slip at "
        f'{creep_speed(0.5, speed):.3g} m/s (slip_speed = {speed:g}); integrator = "convex" holds them'
    )
    slopes: dict[str, float] = {}
    for shape in contacts.shapes:
        if shape.ground is None or shape.ground.field is not None or not shape.law.dynamic_friction:
            continue
        normal = np.array(shape.ground.normal)
        press = -float(gravity @ normal)
        along = float(np.linalg.norm(gravity + press * normal))
        if press > 0 and along > LEVEL_SLOPE * press:
            slopes[contacts.pairs[shape.pair].name] = along / (shape.law.dynamic_friction * press)
    for name, share in slopes.items():
        how = "slides, its slope exceeds the angle of friction"
        if share < 1:
            how = f"creeps down its slope at {creep_speed(share, speed):.3g} m/s"
        print_line(f"  creep       {name}: {how}")
