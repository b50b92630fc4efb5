"""Content of a scene or robot file as `pysim check` prints it: bodies, connections, constraints and settings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import print_columns, print_line
from pysim.joints import find_joint
from pysim.mechanism.compile import start_state
from pysim.mechanism.element_places import acting_limits
from pysim.worlds.accelerations import accelerations_and_forces, forces_of_actuators
from pysim.worlds.contact_report import start_report

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from pysim.loops import Mobility
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ActuatorSpec, BlockSpec, ContactsSpec, JointSpec, ModelSpec
    from pysim.worlds.loading import Scene

FRAMES_SHOWN = 12
LEAST_CHANGE = 1e-9  # [m, rad, per second] changes of a start that are printed
RESISTANCES = (
    ("armature", "armature"),
    ("damping", "damping"),
    ("stiffness", "spring"),
    ("friction", "friction"),
)


def print_model(model: Model) -> None:
    """Print bodies, joints, sizes, masses and frames."""
    fixed = sum(joint.type == "fixed" for joint in model.spec.joints)
    welded = f", {fixed} more welded by fixed joints" if fixed else ""
    print_line(f"  bodies      {model.nbodies} moving{welded}; {model.total_mass:.6g} kg")
    print_line(f"  sizes       nq {model.nq}, nv {model.nv}")
    x, y, z = model.gravity
    print_line(f"  gravity     {x:g} {y:g} {z:g} m/s²")
    frames = [name for name in model.frame_names if name not in model.body_names]
    if frames:
        more = f" and {len(frames) - FRAMES_SHOWN} more" if len(frames) > FRAMES_SHOWN else ""
        print_line(f"  frames      {', '.join(frames[:FRAMES_SHOWN])}{more}")
    print_line()
    parents = [model.body_names[k] if k >= 0 else "world" for k in model.parents]
    rows = [
        (body.name, f"{body.theta[0]:.4g}", parent, joint.name, joint.type, resistance(joint))
        for body, parent, joint in zip(model.bodies, parents, model.joints, strict=True)
    ]
    print_columns(("body", "mass [kg]", "parent", "joint", "type", "with"), rows)
    plugins = [
        (joint.name, joint.type, runs)
        for joint, runs in zip(model.joints, model.joint_motions, strict=True)
        if find_joint(joint.type).plugin is not None
    ]
    if plugins:
        print_line()
    for name, kind, runs in plugins:
        print_line(f"  plugin      {name}: {kind} {runs}")


def print_connections(model: Model) -> None:
    """Print the loops, couplings, sensors, actuators, keyframes, grounds and materials of an imported model."""
    spec = model.spec
    for loop in spec.loops:
        print_line(f"  loop        {loop.name}: {loop.type} between {loop.a} and {loop.b}")
    for coupling in spec.couplings:
        print_line(
            f"  coupling    {coupling.name}: {', '.join((*coupling.terms, *coupling.inputs))}"
        )
    print_blocks(block for block in spec.blocks if block.kind != "signal")
    print_keyframes(spec)
    if spec.contacts is not None:
        print_surfaces(spec.contacts)


def print_surfaces(contacts: ContactsSpec) -> None:
    """Print the grounds of an imported model, and its materials as pysim understands the numbers of the file."""
    for ground in contacts.grounds:
        x, y, z = ground.normal
        plane = f"{x:.4g} x + {y:.4g} y + {z:.4g} z = {ground.offset:.4g} m"
        print_line(f"  ground      {plane}, of {ground.material}")
    for name, surface in contacts.materials.items():
        numbers = []
        if surface.static_friction is not None:
            numbers.append(f"friction {surface.static_friction:.4g}")
        if surface.sink is not None:
            numbers.append(f"sink {surface.sink:.3g} m")
        if surface.stiffness is not None:
            numbers.append(f"stiffness {surface.stiffness:.4g} N/m")
        if surface.restitution is not None:
            value, speed = surface.restitution
            numbers.append(f"restitution {value:.3g} at {speed:g} m/s")
        for word, length in (("rolling", surface.rolling), ("spinning", surface.spinning)):
            if length:
                numbers.append(f"{word} {length:.3g} m")
        print_line(f"  material    {name}: {', '.join(numbers)}")


def print_omitted(omitted: tuple[str, ...]) -> None:
    """Print what an importer left out of a model."""
    for line in omitted:
        print_line(f"  left out    {line}")


def print_constraints(scene: Scene, mobility: Mobility | None) -> None:
    """Print loops, couplings, forces and the mobility."""
    spec = scene.model.spec
    if not (spec.loops or spec.couplings or spec.forces):
        return
    print_line()
    rows = [
        (loop.name, "signal", loop.b, ", ".join((*loop.position, *loop.rotation)))
        if loop.position
        else (loop.name, loop.type, loop.a, loop.b)
        for loop in spec.loops
    ]
    for force in spec.forces:
        between = (*dict.fromkeys(force.bodies), *force.coordinates)
        rows.append((force.name, force.type, ", ".join(between[:-1]), between[-1]))
    for c in spec.couplings:
        kind = "coupling" if c.signal is None else "signal"
        rows.append((c.name, kind, ", ".join((*c.terms, *c.inputs)), c.signal or ""))
    print_columns(("tie", "type", "between", "and"), rows)
    if mobility is not None:
        print_line(f"  mobility    {mobility}")
        print_assembly(scene)
        print_reactions(scene)


def print_reactions(scene: Scene) -> None:
    """Print the forces that prescribed motions need at the start."""
    model, state = scene.model, scene.state
    spec = model.spec.couplings
    if not model.spec.has_motions:
        return
    q, v, numbers = (x[np.newaxis] for x in (state.q, state.v, _start_numbers(scene)))
    tau = forces_of_actuators(scene, np.zeros(1), q, v, numbers)
    report = start_report(scene, q, v)
    forces = accelerations_and_forces(scene, 0.0, tau, q, v, state.loop_q[np.newaxis], report)[1]
    wrenches = forces[0][0] if model.loop_names else np.zeros((0, 6))
    pushes = forces[1 if model.loop_names else 0][0] if spec else np.zeros(0)
    units = dict(zip(model.coordinate_names, model.coordinate_units, strict=True))
    listed = [
        f"{force:.4g} {'N·m' if units[next(iter(coupling.terms))] == 'rad' else 'N'} ({coupling.name})"
        for coupling, force in zip(spec, pushes.tolist(), strict=True)
        if coupling.signal is not None
    ]
    for loop, wrench in zip(model.spec.loops, wrenches, strict=True):
        force, moment = np.linalg.norm(wrench.reshape(2, 3), axis=1).tolist()
        if loop.position:
            listed.append(f"{force:.4g} N ({loop.name})")
        if loop.rotation:
            listed.append(f"{moment:.4g} N·m ({loop.name})")
    print_line(f"  reactions   {', '.join(listed)} at the start")


def _start_numbers(scene: Scene) -> NDArray[np.float64]:
    return np.array(() if scene.signals is None else scene.signals.start)


def print_assembly(scene: Scene) -> None:
    """Print the coordinates and velocities of the start that assembly changed, the largest changes first."""
    model, start, state = scene.model, start_state(scene.model), scene.state
    moved = np.abs(model.difference(start.q, state.q))
    for word, changes, values, unit in (
        ("moved by", moved, moved, "m, rad"),
        ("speed now", np.abs(state.v - start.v), state.v, "m/s, rad/s"),
    ):
        changed = [
            f"{model.velocity_names[k]} {values[k]:.4g}"
            for k in np.argsort(-changes, kind="stable")
            if changes[k] > LEAST_CHANGE
        ]
        more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
        if changed:
            print_line(
                f"  {word:<10}  {', '.join(changed[:4])}{more} [{unit}], so that the start satisfies the constraints"
            )


def actuator_text(actuator: ActuatorSpec) -> str:
    """Return the force of an actuator as a formula without terms that are zero, as in "0.5 + 2 sin(3 t)"."""
    terms = [f"{actuator.offset:g}"] if actuator.offset or not actuator.amplitude else []
    if actuator.amplitude:
        angle = f"{actuator.frequency:g} t"
        if not actuator.frequency:
            angle = f"{actuator.phase:g}"
        elif actuator.phase:
            angle += f" {'-' if actuator.phase < 0 else '+'} {abs(actuator.phase):g}"
        terms.append(f"{actuator.amplitude:g} sin({angle})")
    return " + ".join(terms)


def print_settings(scene: Scene) -> None:
    """Print the settings of a run."""
    settings = scene.settings
    begins = dict(zip(scene.model.joint_names, scene.model.v_offsets, strict=True))
    print_line()
    for actuator in scene.spec.actuators:
        at = begins[actuator.joint] + actuator.coordinate
        print_line(f"  actuator    {scene.model.velocity_names[at]}: {actuator_text(actuator)}")
    print_signals(scene)
    for event in scene.spec.events:
        what = event.joint or event.body or event.type
        stops = ", stops the run" if event.stop else ""
        print_line(f"  event       {event.name}: {what}, {event.direction}{stops}")
    parameters = "".join(f", {name} {value}" for name, value in settings.parameters.items())
    step = f"{settings.step:g} s" if math.isfinite(settings.step) else "in adaptive steps"
    of_file = f" (of {settings.step_file})" if settings.step_file else ""
    scheme = f"{settings.integrator} {step}{of_file}{parameters}"
    print_line(
        f"  run         {settings.duration:g} s, {scheme}, output every {settings.every:g} s"
    )


def print_signals(scene: Scene) -> None:
    """Print the blocks of a scene's signals, the limits that bound its actuators, and its keyframes."""
    print_blocks(scene.spec.blocks)
    print_limits(scene, scene.spec.driven_joints)
    print_keyframes(scene.spec.model)


def print_keyframes(spec: ModelSpec) -> None:
    """Print the names of keyframes."""
    if spec.keyframes:
        print_line(f"  keyframes   {', '.join(keyframe.name for keyframe in spec.keyframes)}")


def print_blocks(blocks: Iterable[BlockSpec]) -> None:
    """Print signals, sensors, controllers and actuators."""
    for block in blocks:
        reads = f" of {', '.join(block.inputs)}" if block.inputs else ""
        drives = ", ".join((*block.coordinates, *(part.body for part in block.points)))
        on = f" on {drives}" if drives else ""
        sampled = f", every {block.period:g} s" if block.period is not None else ""
        print_line(f"  {block.kind:<10}  {block.name}: {block.type}{reads}{on}{sampled}")


def print_limits(scene: Scene, driven: Collection[str]) -> None:
    """Print the limits that bound the actuators of joints."""
    for joint in scene.model.joints:
        effort, velocity = acting_limits(joint)
        if joint.name not in driven or (effort is None and velocity is None):
            continue
        turns = any(unit == "rad/s" for unit in find_joint(joint.type).v_units)
        words = [] if effort is None else [f"{effort:g} {'N·m' if turns else 'N'}"]
        words += [] if velocity is None else [f"{velocity:g} {'rad/s' if turns else 'm/s'}"]
        print_line(f"  limits      {joint.name}: actuators are bounded by {' and '.join(words)}")


def resistance(joint: JointSpec) -> str:
    """Return a short text about a joint's resistance, or the joint that it follows."""
    words = [word for key, word in RESISTANCES if getattr(joint, key).any()]
    if (np.isfinite(joint.lower) | np.isfinite(joint.upper)).any():
        words.append("limits")
    if joint.mimic is not None:
        words.append(f"follows {joint.mimic.joint}")
    return ", ".join(words)
