"""Joints that break a law are refused when a model is made. The oracle is the text of the error."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.joints import CallbackJoint, Joint, Pose, joint, real, rotation
from pysim.joints.invariants import check_at_load, faults, numbers_of, probe
from pysim.joints.trace import trace
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.joints import plugins
from tests.joints.test_callbacks import CallbackSlot, CallbackSwing
from tests.joints.test_traced import plugin_joint
from tests.oracles.mechanisms import GRAVITY, random_theta

HERE = str(Path(__file__).resolve())
count = itertools.count()


def compiled(plugin_class, **changes):
    """A model of one joint of a new type; what is wrong with the joint is raised."""
    kind = f"test_fault_{next(count)}"
    joint(kind)(plugin_class)
    spec = plugin_joint("j", kind, "world", "b", np.eye(4))
    spec = replace(spec, where="scene.toml:7:1: joint[0]", **changes)
    theta = random_theta(np.random.default_rng(3))
    return compile_model(ModelSpec("fault", GRAVITY, (BodySpec("b", theta),), (spec,)))


def refusal(plugin_class, **changes):
    with pytest.raises(pysim.JointError) as caught:
        compiled(plugin_class, **changes)
    return str(caught.value)


def line_of(text):
    """The line of this file that ends with a marker."""
    lines = Path(HERE).read_text("utf-8").splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.rstrip().endswith(f"# {text}"))


PLACE = r"scene\.toml:7:1: joint\[0\]: joint 'j' of type 'test_fault_\d+': "


class Root(Joint):
    """Real only up to one."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(np.sqrt(1 - q.angle), 0, 0)  # root


def test_numbers_that_are_not_finite_within_the_limits_name_the_state_and_the_authors_line():
    text = refusal(Root)
    expected = (
        r"its pose is not finite at angle = 1\.1781 rad \(\S+test_load_checks\.py:LINE, "
        r"`return Pose\.rotate_z.*# root`, invalid value encountered in sqrt\); "
        r"set limits within which it is finite, or fix the formula"
    ).replace("LINE", str(line_of("root")))
    assert re.fullmatch(PLACE + expected, text)


def test_limits_of_the_scene_bound_what_is_probed():
    compiled(Root, lower=np.array([-1.0]), upper=np.array([0.9]))
    at_the_end = refusal(Root, lower=np.array([-1.0]), upper=np.array([1.0]))
    assert "its subspace S is not finite at angle = 1 rad" in at_the_end


class Sheared(Joint):
    """No rotation."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose([[1, q.angle, 0], [0, 1, 0], [0, 0, 1]], [q.angle, 0, 0])


def test_a_rotation_that_is_not_orthonormal_is_rejected_with_its_size():
    text = refusal(Sheared)
    expected = (
        r"its rotation is not orthonormal, \|RᵀR − 1\| = 9\.87 at angle = -3\.14159 rad "
        r"\(\S+test_load_checks\.py:\d+: Sheared\.placement\); "
        r"make it of Pose\.rotate_x, rotate_y, rotate_z and rotate"
    )
    assert re.fullmatch(PLACE + expected, text)


class Mirrored(Joint):
    """Left-handed."""

    coordinates = real("slide", unit="m")

    def placement(self, q):
        return Pose([[1, 0, 0], [0, 1, 0], [0, 0, -1]], [q.slide, 0, 0])


def test_a_reflection_is_rejected():
    text = refusal(Mirrored)
    assert "its rotation is a reflection, det R = −1 at slide = 0 m" in text
    assert text.endswith("; reverse one axis")


class Idle(Joint):
    """Its second coordinate moves nothing where it starts."""

    coordinates = real("angle") * real("lift", unit="m")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, q.lift**2)


class Twice(Joint):
    """Both coordinates turn about one axis."""

    coordinates = real("first", "second")

    def placement(self, q):
        return Pose.rotate_z(q.first) @ Pose.rotate_z(q.second)


class Flat(Joint):
    """Nearly stands still where it starts."""

    coordinates = real("lift", unit="m")

    def placement(self, q):
        return Pose.translate(0, 0, (q.lift + 1e-9) ** 2)


def test_a_coordinate_that_moves_next_to_nothing_is_not_counted_in_the_rank():
    assert "S has rank 0, not 1: 'lift' moves nothing at the start" in refusal(Flat)


def test_a_subspace_without_full_rank_at_the_start_names_the_coordinate():
    text = refusal(Idle)
    expected = (
        r"S has rank 1, not 2: 'lift' moves nothing at the start, angle = 0 rad, lift = 0 m "
        r"\(\S+: Idle\.placement\); let the joint start elsewhere, or leave the coordinate out"
    )
    assert re.fullmatch(PLACE + expected, text)
    compiled(Idle, start_q=np.array([0.0, 0.1]))
    assert "S has rank 1, not 2: some of first, second move the child in the same way" in refusal(
        Twice
    )


class Stepped(Joint):
    """Its pieces do not meet."""

    coordinates = real("slide", unit="m")

    def placement(self, q):
        return Pose.translate(np.where(q.slide > 0.4321, 0.25, 0.0), 0, q.slide)


class Parted(Joint):
    """Its pieces meet, with one slope."""

    coordinates = real("slide", unit="m")

    def placement(self, q):
        past = q.slide - 0.4321
        return Pose.translate(np.where(past > 0, past**2, 0.0), 0, q.slide)


def test_a_pose_that_jumps_within_its_limits_is_rejected():
    text = refusal(Stepped)
    expected = (
        r"its pose is discontinuous at slide = 0\.4321 m, where it changes by 0\.25 \(\S+: Stepped\.placement\); "
        r"make placement continuous, or set limits that exclude this position"
    )
    assert re.fullmatch(PLACE + expected, text)


class Far(Joint):
    """An orbit, whose numbers round by more than what is a jump of a mechanism."""

    coordinates = real("angle")

    def placement(self, q):
        r = 1.5e11 / (1 + 0.2 * np.cos(q.angle))
        return Pose.translate(r * np.cos(q.angle), r * np.sin(q.angle), 0)


def test_rounding_of_large_poses_is_not_taken_for_a_jump():
    assert compiled(Far).joint_motions[0].startswith("runs as a program of ")


def test_pieces_that_meet_or_lie_beyond_the_limits_run_as_a_program():
    for model in (compiled(Parted), compiled(Stepped, upper=np.array([0.4]))):
        assert model.joint_motions[0].startswith("runs as a program of ")


def test_a_force_that_is_not_finite_is_rejected():
    class Rusty(plugins.TwinRevolute):
        def force(self, q, v):
            return -np.log(q.angle + 1)  # force

    text = refusal(Rusty)
    assert f"{HERE}:{line_of('force')}, `return -np.log(q.angle + 1)  # force`" in text
    assert "its force is not finite at angle = -3.14159 rad" in text


class Raising(Joint):
    """Its author made a mistake."""

    coordinates = real("angle")

    def placement(self, q):
        return self.turned(q.angle)

    def turned(self, angle):
        return Pose.rotate_z(angle * {}["ratio"])  # raises


def test_an_error_in_the_authors_code_shows_the_authors_line():
    text = refusal(Raising)
    expected = (
        rf"{re.escape(HERE)}:{line_of('raises')}: KeyError: 'ratio', "
        r'in `return Pose\.rotate_z\(angle \* \{\}\["ratio"\]\)  # raises`; fix Raising\.placement '
        r"\(joint 'j' of scene\.toml:7:1: joint\[0\]\)"
    )
    assert re.fullmatch(expected, text)


class Misnamed(Joint):
    """Uses a coordinate that does not exist."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angel)  # angel


class NoArgument(Joint):
    """Forgets q."""

    coordinates = real("angle")

    def placement(self):  # no argument
        return Pose.identity()


class Nothing(Joint):
    """Forgets to return."""

    coordinates = real("angle")

    def placement(self, q):
        Pose.rotate_z(q.angle)


class Text(Joint):
    """Puts text where a number belongs."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.translate("1", 0, q.angle)


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        (
            Misnamed,
            (
                r"\S+:LINE: AttributeError: no coordinate 'angel'; there are angle, in "
                r"`return Pose\.rotate_z\(q\.angel\)  # angel`; fix Misnamed\.placement .*"
            ),
        ),
        (NoArgument, r"\S+:LINE: TypeError: .* takes 1 positional argument but 2 were given; .*"),
        (
            Nothing,
            r"\S+: Nothing\.placement: must return a Pose, got None; end it with `return` .*",
        ),
        (Text, r"\S+: Text\.placement: returns a str where a number is expected .*"),
    ],
)
def test_a_placement_that_returns_no_pose_is_reported_with_its_line(plugin, expected):
    marker = {Misnamed: "angel", NoArgument: "no argument"}.get(plugin)
    expected = expected.replace("LINE", str(line_of(marker)) if marker else "")
    assert re.fullmatch(expected, refusal(plugin))


def test_a_symbolic_number_kept_from_another_call_is_rejected():
    kept = []

    class Keeper(plugins.TwinPrismatic):
        def placement(self, q):
            kept.append(q.slide)
            return Pose.translate(0, 0, kept[0])

    trace(Keeper())
    text = r"Keeper\.placement: returns a symbolic number from an earlier call; compute it from this call's arguments$"
    with pytest.raises(pysim.JointError, match=text):
        trace(Keeper())


@pytest.mark.parametrize(
    "plugin",
    [
        plugins.ScrewSlot(0.1),
        plugins.Ellipsoid(),
        plugins.Knee(),
        plugins.Swing(),
        plugins.TwinFree(),
        CallbackSlot(0.1),
        CallbackSwing(),
    ],
    ids=lambda p: type(p).__name__,
)
def test_joints_that_satisfy_the_invariants_pass_and_a_wrong_derivative_is_found(plugin):
    traced = None if isinstance(plugin, CallbackJoint) else trace(plugin)
    check_at_load(plugin, traced, {}, plugin.neutral(), "here")
    found = probe(numbers_of(plugin, traced), {}, plugin.neutral(), 24)
    broken = replace(found, S=found.S + 1e-4, c=found.c + 1e-4)
    assert [fault.law for fault in faults(broken)] == ["subspace", "bias"]


def test_a_check_costs_less_than_a_few_times_the_tracing(rng):
    """Counted in work, for clocks are noisy here: nodes evaluated, states probed."""
    traced = trace(plugins.Knee())
    found = probe(numbers_of(plugins.Knee(), traced), {}, np.zeros(1), 24)
    assert len(found.q) < 50
    assert len(traced.tape.nodes) < 500


def test_a_rotation_without_a_coordinate_of_its_own_is_probed_too():
    class Off(Joint):
        """Scales its quaternion."""

        coordinates = rotation("turn")

        def placement(self, q):
            return Pose.rotate_quaternion([1.1 * x for x in q.turn])

    assert "its rotation is not orthonormal" in refusal(Off)
