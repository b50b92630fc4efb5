"""Energy ledger of runs with contacts: work of contacts, stops, dry friction and surfaces that move.

Oracles: heights and speeds before and after, and the constancy of energy + dissipated − injected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.cli.summary import work_line
from pysim.render.plots.plot import panels_of
from pysim.render.plots.recorded_quantities import energy_patterns
from pysim.simulation import Update, summarize
from tests.contact.scenes import GROUND, free, free_body, ran, world
from tests.elements.blocks import mass, scene_of, simulation, table

G = 9.81  # [m/s²]


def ball(folder: Path, step: float, run: str = "") -> pysim.Trajectory:
    """A ball of 1 kg that falls by 0.9 m and bounces."""
    return pysim.simulate(
        free_body(
            folder,
            shape="{ sphere = { radius = 0.1 } }",
            mass=1.0,
            start="{ xyz = [0, 0, 1] }",
            surface="stiffness = 1e5\nrestitution = { value = 0.6, at = 4.0 }",
            duration=3.0,
            step=step,
            every=0.05,
            run=run,
        )
    )


def drift(run: pysim.Trajectory) -> float:
    return float(np.ptp(run.energy_balance))


def test_a_ball_that_bounces_dissipates_the_height_that_it_loses(tmp_path: Path) -> None:
    runs = [ball(tmp_path, 2e-3 / 2**k) for k in range(4)]
    drifts = [drift(run) for run in runs]
    assert np.log2(drifts[-2] / drifts[-1]) == pytest.approx(1, abs=0.15)
    for run in runs:
        lost = G * (1.0 - run.q[-1, 2])  # at rest, up to what the contact holds
        assert run.work["dissipated"][-1] == pytest.approx(lost, abs=2e-3)
        assert run.work["world, body"][-1] == -run.work["dissipated"][-1]
        assert np.abs(run.work["injected"]).max() == 0


def test_the_balance_of_a_bounce_under_error_control(tmp_path: Path) -> None:
    drifts = [drift(ball(tmp_path, 1e-3, f"accuracy = {a}")) for a in (1e-4, 1e-6)]
    assert drifts[0] < 1e-2
    assert drifts[1] < 1e-4


@pytest.mark.parametrize("run", ["", "accuracy = 1e-6"])
def test_a_box_that_slides_to_rest_dissipates_its_kinetic_energy(tmp_path: Path, run: str) -> None:
    scene = free_body(
        tmp_path,
        shape="{ box = { x = 0.2, y = 0.2, z = 0.1 } }",
        mass=2.0,
        start="{ xyz = [0, 0, 0.05], v = [2, 0, 0, 0, 0, 0] }",
        surface="friction = 0.5",
        every=0.05,
        run=run,
    )
    trajectory = pysim.simulate(scene)
    assert trajectory.work["dissipated"][-1] == pytest.approx(4.0 + 0.5 * 2.0 * G * 4e-4, abs=4e-3)
    assert drift(trajectory) < 3e-5


def test_a_belt_injects_what_its_friction_does_on_a_box(tmp_path: Path) -> None:
    """A box at rest on a belt at 1 m/s receives ½ m v², less the weight's work where it sinks."""
    box = free("box", "{ box = { x = 0.2, y = 0.2, z = 0.1 } }", 2.0, "{ xyz = [0, 0, 0.05] }")
    belt = '[[contact]]\nbetween = ["world", "box"]\nsurface_velocity = [1.0, 0, 0]\n'
    run = pysim.simulate(world(tmp_path, GROUND + box + belt, surface="friction = 0.5"))
    assert run.v[-1, 0] == pytest.approx(1.0, rel=1e-6)
    sunk = 2.0 * G * (0.05 - run.q[-1, 2])
    assert 0 < sunk < 0.01
    assert run.work["injected"][-1] == pytest.approx(1.0 - sunk, abs=1e-4)
    assert run.work["dissipated"][-1] == 0
    assert drift(run) < 5e-4


def test_a_rolling_ball_dissipates_by_rolling_friction(tmp_path: Path) -> None:
    """It ends at rest, so all of ½ m v² + ½ I ω² is dissipated."""
    scene = free_body(
        tmp_path,
        shape="{ sphere = { radius = 0.1 } }",
        mass=1.0,
        start="{ xyz = [0, 0, 0.1], v = [0.5, 0, 0, 0, 5, 0] }",
        surface="friction = 0.8\nrolling = 2e-3",
        duration=6.0,
        every=0.05,
    )
    run = pysim.simulate(scene)
    assert np.abs(run.v[-1]).max() < 1e-6
    energy = 0.5 * 0.25 + 0.5 * 0.4 * 0.01 * 25
    assert run.work["dissipated"][-1] == pytest.approx(energy, abs=2e-3)
    assert drift(run) < 1e-3


def test_two_balls_that_meet_share_one_entry(tmp_path: Path) -> None:
    """A central impact without gravity loses ½ μ (1 − e²) u², μ = 1/2 kg the reduced mass, u = 2 m/s."""
    shape = "{ sphere = { radius = 0.1 } }"
    balls = free("a", shape, 1.0, "{ xyz = [-0.5, 0, 0], v = [1, 0, 0, 0, 0, 0] }")
    balls += free("b", shape, 1.0, "{ xyz = [0.5, 0, 0], v = [-1, 0, 0, 0, 0, 0] }")
    scene = world(
        tmp_path,
        balls,
        surface="stiffness = 1e5\nrestitution = { value = 0.5, at = 2.0 }",
        gravity=(0, 0, 0),
        step=1e-5,
        every=0.05,
    )
    run = pysim.simulate(scene)
    speed = float(np.abs(run.v[-1, [0, 6]]).mean())
    assert speed == pytest.approx(0.5, abs=0.01)
    assert run.work["a, b"][-1] == pytest.approx(speed**2 - 1.0, abs=1e-6)
    assert drift(run) < 1e-6


def soft_ball(folder: Path, integrator: str, step: float) -> pysim.Trajectory:
    """A ball of 1 kg that falls by 0.3 m on a contact that steps of 1 ms resolve."""
    scene = free_body(
        folder,
        shape="{ sphere = { radius = 0.1 } }",
        mass=1.0,
        start="{ xyz = [0, 0, 0.4], v = [0.3, 0, 0, 0, 0, 0] }",
        surface="stiffness = 1e4\ndissipation = 0.1",
        duration=0.4,
        step=step,
        every=0.05,
        run=f'integrator = "{integrator}"\nslip_speed = 0.5',
    )
    return ran(scene)


@pytest.mark.parametrize(
    ("integrator", "order"),
    [("semi_implicit", 1), ("rk2", 2), ("rk4", 4), ("generalized_alpha", 2)],
)
def test_smooth_contacts_balance_to_the_order_of_the_scheme(
    tmp_path: Path, integrator: str, order: int
) -> None:
    runs = [soft_ball(tmp_path, integrator, 1e-3 / 2**k) for k in range(3)]
    assert np.log2(drift(runs[1]) / drift(runs[2])) > order - 0.3
    lost = runs[-1].energy[0] - runs[-1].energy[-1]
    assert runs[-1].work["dissipated"][-1] == pytest.approx(lost, abs=0.1 if order == 1 else 1e-4)
    assert lost > 0.5


@pytest.mark.parametrize("integrator", ["dopri5", "implicit_midpoint"])
def test_smooth_contacts_balance_to_the_tolerance(tmp_path: Path, integrator: str) -> None:
    run = soft_ball(tmp_path, integrator, 1e-3)
    assert drift(run) < 1e-6
    assert run.work["world, body"][-1] < -0.5


def stopped(**keys: float | str) -> str:
    """A mass of 1 kg with 2 m/s between stops, with dry friction."""
    return mass(1.0, v=2.0).replace(
        'child = "mass"',
        'child = "mass"\n' + "\n".join(f"{name} = {value}" for name, value in keys.items()),
    )


LIMITS = "{ lower = -0.1, upper = 0.3, stiffness = 1e4, damping = 20.0 }"


@pytest.mark.parametrize("keys", [{}, {"accuracy": 1e-6}], ids=["fixed", "accuracy"])
def test_stops_and_dry_friction_dissipate_the_energy_of_a_mass(
    tmp_path: Path, keys: dict[str, float]
) -> None:
    text = stopped(friction=1.0, limits=LIMITS) + simulation("convex", duration=3.0, **keys)
    run = pysim.simulate(scene_of(tmp_path, text))
    assert run.work["dissipated"][-1] == pytest.approx(2.0, abs=1e-5)
    assert run.work["x"][-1] == -run.work["dissipated"][-1]
    assert drift(run) < 1e-5


def test_an_undamped_stop_loses_what_the_scheme_damps(tmp_path: Path) -> None:
    """Implicit Euler damps a bounce off a spring, to order 1: the ledger has it as the joint's work."""
    limits = "{ lower = -0.1, upper = 0.3, stiffness = 1e4, damping = 0.0 }"
    lost = []
    for step in (1e-4, 5e-5):
        text = stopped(limits=limits) + simulation("convex", step=step, duration=0.3)
        run = pysim.simulate(scene_of(tmp_path, text))
        assert drift(run) < 1e-9
        lost.append(run.work["dissipated"][-1])
    assert lost[0] / lost[1] == pytest.approx(2, rel=0.05)


def test_a_follower_at_its_stop_is_in_the_ledger(tmp_path: Path) -> None:
    """A joint that follows another by −2 has the stop, and dry friction."""
    text = stopped(friction=0.3) + table(
        "body", name="other", mass=0.5, inertia={"xx": 1, "yy": 1, "zz": 1}
    )
    text += table(
        "joint",
        name="y",
        type="prismatic",
        axis=[0, 1, 0],
        child="other",
        mimic={"joint": "x", "ratio": -2.0},
        limits={"lower": -0.5, "upper": 0.5, "stiffness": 1e4, "damping": 50.0},
        friction=0.1,
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", duration=2.0)))
    assert run.work["y"][-1] < -0.1
    assert run.work["x"][-1] < -0.1
    assert drift(run) < 1e-2 * run.kinetic[0]


@pytest.mark.parametrize("keys", ["", "accuracy = 1e-4"])
def test_a_run_with_contacts_has_the_same_bits_without_a_ledger(tmp_path: Path, keys: str) -> None:
    run = ball(tmp_path, 1e-3, keys)
    file = tmp_path / "world.toml"
    file.write_text(file.read_text("utf-8") + "work = false\n", "utf-8")
    other = pysim.simulate(pysim.load_scene(file))
    assert run.work
    assert not other.work
    np.testing.assert_array_equal(run.q, other.q)
    np.testing.assert_array_equal(run.v, other.v)


def test_work_of_contacts_in_the_file_the_summary_and_the_plot(tmp_path: Path) -> None:
    scene = free_body(
        tmp_path,
        shape="{ sphere = { radius = 0.1 } }",
        mass=1.0,
        start="{ xyz = [0, 0, 1] }",
        surface="stiffness = 1e5\nrestitution = { value = 0.6, at = 4.0 }",
        every=0.05,
    )
    run = pysim.simulate(scene, tmp_path / "run.h5")
    read = pysim.load_trajectory(tmp_path / "run.h5")
    assert set(read.work) == {"world, body", "dissipated", "injected"}
    np.testing.assert_array_equal(read.work["world, body"], run.work["world, body"])
    summary = summarize(scene, run, Update(1.0, 1.0, 0.1, 1000))
    assert summary.work is not None
    assert "world, body" in work_line(summary.work)
    panels, _ = panels_of([run], energy_patterns(run))
    assert [line.label for line in panels[1].lines] == ["world, body", "dissipated", "injected"]


def geneva_drive(step: float) -> pysim.Scene:
    """A crank with a pin, driven by a motion, and a wheel whose four slots are the gaps between boxes."""
    turns, apart, pin, clearance = 4, 0.1, 0.006, 2e-4
    radius = apart * np.sin(np.pi / turns)
    small = dict.fromkeys(("xx", "yy", "zz"), 2e-3)
    b = pysim.SceneBuilder("Geneva drive", gravity=[0, 0, 0])
    shape = {"cylinder": {"radius": pin, "length": 0.02}, "at": {"xyz": [radius, 0, 0]}}
    b.body("crank", mass=0.5, inertia=small, collision=[shape])
    motion = {"signal": "angle"}
    b.joint("drive", "revolute", child="crank", axis=[0, 0, 1], motion=motion, start=np.pi / 2)
    angles = [np.pi / 2, np.pi / 2 + 2 * np.pi]
    b.signal("angle", "waypoints", t=[0, 2], values=angles, unit="rad")
    inner, outer = apart - radius - pin - 0.003, apart * np.cos(np.pi / turns)
    sides = []
    for k in range(turns):
        angle = 2 * np.pi * k / turns
        along, across = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        for side in (1, -1):
            x, y = along * (inner + outer) / 2 + side * across * (pin + clearance + 0.004)
            at = {"xyz": [x, y, 0.0], "rpy": [0, 0, angle]}
            sides.append({"box": [outer - inner, 0.008, 0.02], "at": at})
    b.body("wheel", mass=1.0, inertia=small, collision=sides)
    at = {"xyz": [apart, 0, 0]}
    keys: dict[str, Any] = {"axis": [0, 0, 1], "damping": 0.02, "friction": 0.05}
    b.joint("turn", "revolute", child="wheel", at=at, start=np.pi - np.pi / turns, **keys)
    b.simulation(duration=2.0, step=step, integrator="convex")
    b.output(every=0.01)
    return b.build()


@pytest.mark.parametrize("step", [5e-4, 1e-3, 2e-3])
def test_the_motion_of_a_geneva_drive_does_the_work_that_its_wheel_takes(step: float) -> None:
    """A turn of the crank is a quarter of one of the wheel, which ends at rest: all of the work is dissipated."""
    run = pysim.simulate(geneva_drive(step))
    turned = run.q[0, 1] - run.q[-1, 1]
    assert turned == pytest.approx(np.pi / 2, abs=5e-3)
    assert np.ptp(run.q[:, 1]) == pytest.approx(turned, abs=5e-3)
    assert run.energy[-1] == pytest.approx(run.energy[0], abs=1e-9)
    injected = run.work["injected"][-1]
    assert injected == pytest.approx(run.work["dissipated"][-1], rel=1e-9)
    assert -run.work["turn"][-1] > 0.05 * turned  # friction, and damping
    assert -run.work["turn"][-1] < injected < 0.6
    assert drift(run) < 1e-9
