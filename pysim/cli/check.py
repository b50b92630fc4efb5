"""`pysim check`: what a scene or robot file was understood to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.cli.messages import complain, say, say_columns
from pysim.cli.run import parse_overrides
from pysim.errors import PysimError
from pysim.integrators import find_integrator
from pysim.joints import find_joint
from pysim.loops import mobility
from pysim.simulation import load_scene
from pysim.stability import step_bounds

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.compile import Scene
    from pysim.model import Model
    from pysim.scene.spec import JointSpec

FRAMES_SHOWN = 12
RESISTANCES = (
    ("armature", "armature"),
    ("damping", "damping"),
    ("stiffness", "spring"),
    ("friction", "friction"),
)


def check_scene(path: Path, overrides: tuple[str, ...] = (), *, allow_code: bool = False) -> None:
    """Read a file, print what it says, run nothing."""
    if path.suffix.lower() == ".toml":
        scene = load_scene(path, parse_overrides(overrides), allow_code=allow_code)
        say(f"{path}: {scene.spec.name}", style="bold")
        say_model(scene.model)
        say_ties(scene)
        say_settings(scene)
        say_step(scene)
    elif overrides:
        raise PysimError(str(path), "--set is for scenes; a robot file has no such keys")
    else:
        from pysim.compile import load_model  # noqa: PLC0415, a scene needs it not

        model = load_model(path)
        say(f"{path}: {model.name}", style="bold")
        say_model(model)


def say_model(model: Model) -> None:
    """Print bodies, joints, sizes, masses and frames."""
    fixed = sum(joint.type == "fixed" for joint in model.spec.joints)
    welded = f", {fixed} more welded by fixed joints" if fixed else ""
    say(f"  bodies      {model.nbodies} that move{welded}; {model.total_mass:.6g} kg")
    say(f"  sizes       nq {model.nq}, nv {model.nv}")
    x, y, z = model.gravity
    say(f"  gravity     {x:g} {y:g} {z:g} m/s²")
    frames = [name for name in model.frame_names if name not in model.body_names]
    if frames:
        more = f" and {len(frames) - FRAMES_SHOWN} more" if len(frames) > FRAMES_SHOWN else ""
        say(f"  frames      {', '.join(frames[:FRAMES_SHOWN])}{more}")
    say()
    parents = [model.body_names[k] if k >= 0 else "world" for k in model.parents]
    rows = [
        (body.name, f"{body.theta[0]:.4g}", parent, joint.name, joint.type, resistance(joint))
        for body, parent, joint in zip(model.bodies, parents, model.joints, strict=True)
    ]
    say_columns(("body", "mass [kg]", "parent", "joint", "type", "with"), rows)
    plugins = [
        (joint.name, joint.type, runs)
        for joint, runs in zip(model.joints, model.joint_motions, strict=True)
        if find_joint(joint.type).plugin is not None
    ]
    if plugins:
        say()
    for name, kind, runs in plugins:
        say(f"  plugin      {name}: {kind} {runs}")


def say_ties(scene: Scene) -> None:
    """Print loops, couplings, springs and what they leave free."""
    model, spec = scene.model, scene.spec.model
    if not (spec.loops or spec.couplings or spec.springs):
        return
    say()
    rows = [(loop.name, loop.type, loop.a, loop.b) for loop in spec.loops]
    rows += [(s.name, "spring", s.a, s.b) for s in spec.springs]
    rows += [(c.name, "coupling", ", ".join((*c.terms, *c.inputs)), "") for c in spec.couplings]
    say_columns(("tie", "type", "between", "and"), rows)
    if model.rows:
        say(f"  mobility    {mobility(model, scene.state.q, scene.state.loop_q)}")


def say_settings(scene: Scene) -> None:
    """Print how the scene would run."""
    settings = scene.settings
    say()
    for actuator in scene.spec.actuators:
        sine = f"{actuator.offset:g} + {actuator.amplitude:g} sin({actuator.frequency:g} t"
        say(f"  actuator    {actuator.joint}: {sine} + {actuator.phase:g})")
    for event in scene.spec.events:
        what = event.joint or event.body or event.type
        stops = ", stops the run" if event.stop else ""
        say(f"  event       {event.name}: {what}, {event.direction}{stops}")
    own = "".join(f", {name} {value}" for name, value in settings.parameters.items())
    scheme = f"{settings.integrator} {settings.step:g} s{own}"
    say(f"  run         {settings.duration:g} s, {scheme}, output every {settings.every:g} s")


def say_step(scene: Scene) -> None:
    """Print what the motion about the start asks of the step."""
    bounds, settings = step_bounds(scene), scene.settings
    if bounds.fastest is not None:
        mode, period = bounds.fastest, 2 * np.pi / bounds.fastest.frequency
        say(f"  fastest     {mode.frequency:.4g} rad/s, period {period:.3g} s, mostly {mode.joint}")
    if bounds.steepest is not None:
        mode = bounds.steepest
        say(f"  decay       {mode.decay:.4g} 1/s at most, mostly {mode.joint}")
    words = []
    if np.isfinite(bounds.accurate):
        words.append(f"{bounds.accurate:.2g} s or less to be accurate")
    if np.isfinite(bounds.stable):
        words.append(f"{bounds.stable:.3g} s at most to be stable")
    if words:
        say(f"  step        {', '.join(words)} with {settings.integrator}, about the start")
    if settings.step > bounds.stable and bounds.limiting is not None and not scene_adapts(scene):
        problem = (
            f"simulation.step is {settings.step:g} [s], beyond the {bounds.stable:.3g} [s] that "
            f"{settings.integrator} bears at the start, because of joint {bounds.limiting.joint!r}; "
            f"take {0.8 * bounds.stable:.1g} or less, or a softer spring, damper or friction there"
        )
        complain("warning", problem)
    elif (
        settings.step > 2 * bounds.accurate
        and np.isfinite(bounds.stable)
        and not scene_adapts(scene)
    ):
        problem = (
            f"simulation.step is {settings.step:g} [s], more than a tenth of the shortest period, which "
            f"{settings.integrator} damps or misses; take {bounds.accurate:.1g} or less, or an implicit scheme"
        )
        complain("warning", problem)


def scene_adapts(scene: Scene) -> bool:
    """Whether the scene's integrator chooses its steps itself."""
    return find_integrator(scene.settings.integrator).adaptive


def resistance(joint: JointSpec) -> str:
    """What resists a joint or leads it, in a few words."""
    words = [word for key, word in RESISTANCES if getattr(joint, key).any()]
    if (np.isfinite(joint.lower) | np.isfinite(joint.upper)).any():
        words.append("limits")
    if joint.mimic is not None:
        words.append(f"follows {joint.mimic.joint}")
    return ", ".join(words)
