"""Force plugins in scenes: what an author writes, and what is reported. The oracle is the text."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.elements.force import FORCES
from pysim.errors import PysimError
from pysim.forces import Force, Wrench, find_force, force
from pysim.scene.importer import IMPORTERS, Importer, foreign_suffixes, importer
from pysim.scene.toml.reader import read_toml
from tests.elements.reference_cases import scene_of, slide

BODY = slide("mass", 2.0, "[1, 0, 0]") + slide("other", 1.0, "[1, 0, 0]")
HEAD = '[[force]]\nname = "f"\n'


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    find_force("rope")  # the library stays registered
    monkeypatch.setattr(FORCES, "registered", dict(FORCES.registered))


def line_of(method):
    return f"{Path(__file__)}:{method.__code__.co_firstlineno}"


def refusal(folder, text):
    with pytest.raises(PysimError) as caught:
        scene_of(folder, BODY + HEAD + text)
    return re.sub(r"\S*scene\.toml:[\d:]* ?", "", str(caught.value))


def test_a_wind_turbine_brakes_in_the_engine_as_its_formula_says(tmp_path):
    @force("wind_turbine")
    class WindTurbine(Force):
        """Thrust of a rotor whose axis is z of frame b."""

        thrust: float = 0.5  # [N·s²/m²]

        def wrench(self, twist):
            along = twist.v[2]
            return Wrench(force=(0, 0, -self.thrust * along * np.abs(along)))

    at = "{ rpy = [0, 1.5707963267948966, 0] }"  # z of b along x
    text = BODY + HEAD + f'type = "wind_turbine"\nb = "mass"\nat_b = {at}\nthrust = 3\n'
    model = scene_of(tmp_path, text).model
    tau = pysim.passive_forces(model, [0.2, 0.0], [1.5, 7.0])
    np.testing.assert_allclose(tau, [-3 * 1.5**2, 0], rtol=1e-15)


def test_rounding_remainders_and_tables_run_in_the_engine(tmp_path):
    """Oracle: NumPy's functions of the same names, and the slopes of their straight pieces by hand."""
    xp, fp = np.array([-1.0, 0.5, 2.0]), np.array([3.0, -1.0, 4.0])

    @force("cogging")
    class Cogging(Force):
        """Sawtooth, steps, and a table of the place."""

        def force(self, q):
            (x,) = q
            saw = np.mod(x, 0.25) + 2 * np.round(3 * x) + np.floor(x) * np.trunc(2 * x)
            return (saw + np.interp(x, xp, fp),)

    model = scene_of(
        tmp_path, BODY + HEAD + 'type = "cogging"\ncoordinates = ["mass slide"]\n'
    ).model
    q = np.random.default_rng(5).uniform(-3, 3, (37, 2))
    x = q[:, 0]
    expected = np.mod(x, 0.25) + 2 * np.round(3 * x) + np.floor(x) * np.trunc(2 * x)
    expected += np.interp(x, xp, fp)
    found = pysim.passive_forces(model, q, np.zeros((37, 2)))
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-13, atol=1e-13)
    by_q, _, _ = pysim.aba_derivatives(model, q, np.zeros((37, 2)), np.zeros((37, 2)), passive=True)
    piece = np.where(x < 0.5, np.diff(fp)[0] / 1.5, np.diff(fp)[1] / 1.5)
    slope = 1.0 + np.where((x < -1) | (x > 2), 0.0, piece)
    np.testing.assert_allclose(2.0 * by_q[:, 0, 0], slope, rtol=1e-12)


def test_a_path_and_its_frames_are_named_in_the_scene(tmp_path):
    text = f"""{BODY}[[frame]]
name = "hook"
body = "mass"
at = {{ xyz = [0, 1, 0] }}
{HEAD}type = "path_spring"
path = [{{ body = "hook", point = [0, 2, 0] }}, {{ body = "other" }}]
stiffness = 10
rest_length = 1
"""
    scene = scene_of(tmp_path, text)
    energy = pysim.elastic_energy(scene.model, [4.0, 0.0])
    assert energy == pytest.approx(0.5 * 10 * (5 - 1) ** 2)  # 3, 4, 5
    assert scene.model.force_names == ("f",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('type = "rop"', "force[0].type: unknown force type 'rop'; did you mean 'rope'?"),
        (
            'type = "rope"\nstiffness = 1\nrest_length = 1',
            'force[0].path: is missing; a rope acts on it: path = [{ body = "world", point = [0, 0, 1] }, {',
        ),
        (
            'type = "rope"\nstiffness = 1\nrest_length = 1\npath = [{ body = "mass" }]',
            "force[0].path: has one point; a path needs two or more",
        ),
        (
            'type = "rope"\nstiffness = 1\nrest_length = 1\npath = [{ body = "mass" }, { body = "mas" }]',
            "force[0].path[1].body: unknown body or frame 'mas'; did you mean 'mass'?",
        ),
        (
            'type = "rope"\nstiffness = 1\nrest_length = 1\npath = [{ body = "mass" }, { body = "mass" }]',
            "force[0]: has body 'mass' alone on its path; name two bodies that move apart",
        ),
        (
            'type = "coordinate_spring"\nstiffness = 1\ncoordinates = ["mass slid"]',
            "force[0]: there is no coordinate 'mass slid'; did you mean 'mass slide'?",
        ),
        (
            'type = "coordinate_spring"\nstiffness = 1\na = "mass"\ncoordinates = ["mass slide"]',
            "force[0].a: a coordinate_spring has no a; remove it",
        ),
        (
            'type = "linear_drag"\nb = "mass"',
            "force[0]: LinearDrag needs the key coefficient; write coefficient = …",
        ),
        (
            'type = "linear_drag"\nb = "mass"\ncoeficient = 1',
            "force[0].coeficient: unknown key; did you mean 'coefficient'?",
        ),
        (
            'type = "linear_drag"\nb = "mass"\ncoefficient = "much"',
            "force[0].coefficient: must be float, got 'much'",
        ),
        (
            'type = "linear_drag"\ncoefficient = 1.0',
            "force[0]: has the world on both sides; name two bodies that move apart",
        ),
        (
            'type = "spring"\nb = "mass"\nstiffness = 1\ncoordinates = ["mass slide"]',
            "force[0].coordinates: a spring has no coordinates; remove it",
        ),
        (
            'type = "table_spring"\ncoordinates = ["mass slide"]\nstretch = [0, 1]\npull = [0]',
            "two or more points, got 2 values of stretch and 1 of pull; write one pull for each",
        ),
    ],
)
def test_a_wrong_table_is_reported_with_its_key(tmp_path, text, problem):
    assert problem in refusal(tmp_path, text)


def test_wrong_plugins_are_reported_with_the_author_s_line(tmp_path):
    @force("unknown_argument")
    class UnknownArgument(Force):
        def tension(self, length, speed):
            return length * speed

    @force("no_wrench")
    class NoWrench(Force):
        def wrench(self, pose):
            return pose.p

    @force("two_numbers")
    class TwoNumbers(Force):
        def tension(self, length):
            return [length, length]

    @force("wrong_energy")
    class WrongEnergy(Force):
        def tension(self, length):
            return 2 * length

        def energy(self, length):
            return 2 * length**2

    path = 'path = [{ body = "world" }, { body = "mass" }]'
    where = "force[0]: force 'f')"
    expected = [
        (
            f'type = "unknown_argument"\n{path}',
            (
                f"{line_of(UnknownArgument.tension)}: UnknownArgument.tension: has the unknown argument 'speed'; "
                f"choose among length, rate, t {where}"
            ),
        ),
        (
            'type = "no_wrench"\nb = "mass"',
            f"{line_of(NoWrench.wrench)}: NoWrench.wrench: must return a Wrench, got an array {where}",
        ),
        (
            f'type = "two_numbers"\n{path}',
            f"{line_of(TwoNumbers.tension)}: TwoNumbers.tension: must return a number, got 2 numbers {where}",
        ),
        (
            f'type = "wrong_energy"\n{path}',
            "energy and tension disagree: component 0 of the tension at zero rates is",
        ),
    ]
    for text, problem in expected:
        assert problem in refusal(tmp_path, text).replace(
            "test_wrong_plugins_are_reported_with_the_author_s_line.<locals>.", ""
        )


def test_a_class_needs_one_method_and_fields_of_its_own():
    class Nothing(Force):
        pass

    class Both(Force):
        def tension(self, length):
            return length

        def force(self, q):
            return q

    class Clash(Force):
        path: float = 0.0

        def tension(self, length):
            return length

    for plugin, problem in [
        (
            Nothing,
            "write `def wrench(self, pose, twist)`, `def tension(self, length, rate)` or `def force(self, q, v)`",
        ),
        (Both, "has the methods tension and force; write a plugin for each"),
        (Clash, "the field 'path' is a key that every force has; choose another name"),
    ]:
        with pytest.raises(PysimError, match=re.escape(problem)):
            force("refused")(plugin)
    with pytest.raises(PysimError, match="'spring'"):
        force("spring")(find_force("rope"))


def test_a_rotation_s_velocity_has_no_single_coordinate(tmp_path):
    ball = """
[[body]]
name = "ball"
mass = 1
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "turn"
type = "ball"
child = "ball"
"""
    friction = (
        'type = "stribeck_friction"\nkinetic = 1\nstatic = 1\nstribeck_speed = 1\nviscous = 0.5\n'
    )
    model = scene_of(tmp_path, ball + HEAD + friction + 'coordinates = ["turn.wy"]').model
    tau = pysim.passive_forces(model, model.neutral(), [5.0, 2.0, 7.0])
    np.testing.assert_allclose(tau, [0, -2 / np.hypot(2, 1e-3) - 1, 0], rtol=1e-12)
    spring = 'type = "coordinate_spring"\nstiffness = 1\n'
    with pytest.raises(PysimError, match=re.escape("depends on q[0], but 'turn.wy' is a velocity")):
        scene_of(tmp_path, ball + HEAD + spring + 'coordinates = ["turn.wy"]')
    text = "joint 'turn' has several velocities; name one of them, such as 'turn.wx'"
    with pytest.raises(PysimError, match=re.escape(text)):
        scene_of(tmp_path, ball + HEAD + spring + 'coordinates = ["turn"]')


def test_a_model_with_forces_is_pickled_and_copied(tmp_path):
    text = BODY + HEAD + 'type = "linear_drag"\nb = "mass"\ncoefficient = 2.5'
    model = scene_of(tmp_path, text).model
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.with_gravity([0, 0, 1.0]),
    ):
        np.testing.assert_array_equal(pysim.passive_forces(other, [0, 0], [2.0, 0]), [-5.0, 0])


def test_a_model_of_another_format_brings_its_forces(tmp_path, monkeypatch):
    assert ".urdf" in foreign_suffixes()  # the importers of pysim stay registered
    monkeypatch.setattr(IMPORTERS, "registered", dict(IMPORTERS.registered))

    @importer("cart")
    class Cart(Importer):
        suffixes = (".cart",)

        def read(self, path, options):
            return read_toml(path, {}).model

    path = 'path = [{ body = "world", point = [0, 3, 0] }, { body = "mass" }]\n'
    text = f'{BODY}{HEAD}type = "rope"\nstiffness = 10.0\nrest_length = 1.0\n{path}'
    spring = 'type = "coordinate_spring"\nstiffness = 2.0\ncoordinates = ["other slide"]\n'
    text += f'[[force]]\nname = "g"\n{spring}'
    alone = scene_of(tmp_path, text).model
    (tmp_path / "my.cart").write_text(f"gravity = [0, 0, 0]\n{text}", "utf-8")
    table = '[[model]]\nfile = "my.cart"\nname = "cart"\nat = { xyz = [0, 0, 1] }\n'
    attached = scene_of(tmp_path, table).model
    assert attached.force_names == ("cart/f", "cart/g")
    q, v = [0.7, -0.3], [0.0, 0.0]
    np.testing.assert_allclose(
        pysim.passive_forces(attached, q, v), pysim.passive_forces(alone, q, v), rtol=1e-14
    )


KEPT: list[object] = []


def kept(q):
    KEPT.append(q[0])
    return [KEPT[0]]


RETURNED = {
    "a number of an earlier call": (
        kept,
        "returns a symbolic number from an earlier call; compute it from this call's arguments",
    ),
    "text": (lambda _: ["much"], "returns a str where a number is expected"),
    "an array in a list": (
        lambda _: [np.zeros(2)],
        "returns an array where a number is expected",
    ),
    "nothing": (lambda _: None, "must return a number, got None; end it with `return`"),
    "infinity": (lambda _: [np.inf], "returns inf; return a finite number"),
}


@pytest.mark.parametrize("what", RETURNED)
def test_a_force_that_returns_no_number_of_its_call_is_rejected(tmp_path, what):
    function, problem = RETURNED[what]

    @force("returning")
    class Returning(Force):
        """What a function returns."""

        turn: float = 0.0

        def force(self, q):
            return function(q)

    text = 'type = "returning"\ncoordinates = ["mass slide"]\n'
    if what == "a number of an earlier call":
        scene_of(tmp_path, BODY + HEAD + text)
        text += "turn = 1.0\n"  # another one, recorded anew
    found = refusal(tmp_path, text)
    assert found.startswith(f"{line_of(Returning.force)}: ")
    assert f"Returning.force: {problem}" in found
