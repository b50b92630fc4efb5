"""Invalid arguments of every function of `pysim.inertia`, rejected with the argument's name.

The table says what kind of numbers each argument is; what is wrong with a kind is said once, below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pysim import inertia
from pysim.errors import PysimError

Array = np.ndarray
Wrong = Iterator[tuple[str, Any]]

BODY = inertia.theta_from_com(2.0, [0.1, 0.2, 0.3], np.diag([1.0, 1.5, 2.0]))
TENSOR = np.array([[3.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 4.0]])
TURNED = np.array(
    [[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]]
)
VERTICES = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def not_numbers(value: Array) -> Wrong:
    yield "text", np.full(value.shape, "a")
    yield "numerals", value.astype(str)
    yield "complex", value + 0j
    yield "truth", value != 0
    yield "objects", value.astype(object)
    yield "nothing", None
    yield "masked", np.ma.array(value, mask=True)
    if value.ndim:
        yield "ragged", [[1.0], *value.tolist()]


def not_finite(value: Array, rng: np.random.Generator) -> Wrong:
    for number in (np.nan, np.inf, -np.inf):
        spoilt = value.copy()
        spoilt.flat[rng.integers(value.size)] = number
        yield f"{number}", spoilt
        if value.ndim:
            batch = np.array([[value, value], [value, value]])
            batch[1, 0] = spoilt
            yield f"{number} in a batch", batch


def of_another_shape(value: Array) -> Wrong:
    yield "one too long", np.concatenate([value, value[:1]])
    yield "one too short", value[:-1]
    yield "too long in a batch", np.stack([np.concatenate([value, value], axis=-1)] * 2)
    yield "one number", 1.0
    yield "none", []


def wrong_row(value: Array, rng: np.random.Generator) -> Wrong:
    yield from not_numbers(value)
    yield from not_finite(value, rng)
    yield from of_another_shape(value)


def wrong_lone_row(value: Array, rng: np.random.Generator) -> Wrong:
    yield from wrong_row(value, rng)
    yield "a batch", np.stack([value, value])


def wrong_numbers_of_any_kind(value: Array, rng: np.random.Generator) -> Wrong:
    """What has a meaning where a number is not finite."""
    del rng
    yield from not_numbers(value)
    yield from of_another_shape(value)


def wrong_symmetric(value: Array, rng: np.random.Generator) -> Wrong:
    yield from wrong_row(value, rng)
    yield "rows without columns", value[..., :-1]
    i, j = rng.permutation(len(value))[:2]
    for size in (1.0, 1e-5):
        skewed = value.copy()
        skewed[i, j] += size * abs(value).max()
        yield f"off by {size}", skewed
    if len(value) == 4:
        yield "off in a batch", np.stack([value, skewed])


def wrong_lone_symmetric(value: Array, rng: np.random.Generator) -> Wrong:
    yield from wrong_symmetric(value, rng)
    yield "a batch", np.stack([value, value])


def wrong_pose(value: Array, rng: np.random.Generator) -> Wrong:
    yield from wrong_row(value, rng)
    yield "rotation alone", value[:3, :3]
    yield "twice one", 2 * np.eye(4)
    yield "reflection", np.diag([1.0, 1.0, -1.0, 1.0])
    yield "skew", value + np.diag([0.0, 1e-3, 0.0, 0.0])
    yield "last row", value + np.outer([0, 0, 0, 1], [0, 0, 1, 0])
    yield "in a batch", np.stack([value, 2 * np.eye(4)])


def wrong_number(value: Array, rng: np.random.Generator) -> Wrong:
    yield from not_numbers(value)
    yield from not_finite(value, rng)
    yield "two numbers", np.stack([value, value])


def wrong_vertices(value: Array, rng: np.random.Generator) -> Wrong:
    yield from wrong_lone_row(value[:, :1], rng)
    yield from not_numbers(value)
    yield from not_finite(value, rng)


def wrong_faces(value: Array, rng: np.random.Generator) -> Wrong:
    del rng
    yield from not_numbers(value)
    yield "reals", value.astype(float)
    yield "pairs", value[:, :2]
    yield "one", value[0]


MESH = {"vertices": (wrong_vertices, VERTICES), "faces": (wrong_faces, FACES)}
DENSITY = {"density": (wrong_number, np.array(700.0))}
THETA = {"theta": (wrong_row, BODY)}
PACKED = {"packed": (wrong_row, inertia.theta_to_packed(BODY))}
KWON = {"kwon": (wrong_row, inertia.theta_to_kwon(BODY))}
PHI = {"phi": (wrong_row, inertia.log_cholesky(BODY))}
PSI = {"psi": (wrong_row, inertia.eigen(BODY))}
GAMMA = {"gamma": (wrong_row, inertia.matrix_logarithm(BODY))}
REFERENCE = {"reference": (wrong_row, BODY)}
ANY_THETA = {"theta": (wrong_numbers_of_any_kind, BODY)}
TOLERANCE = {"tolerance": (wrong_number, np.array(1e-6))}
POSE = {"pose": (wrong_pose, TURNED)}
MASS = {"mass": (wrong_number, np.array(2.0))}
LONE = {"inertia": (wrong_lone_symmetric, TENSOR)}

ARGUMENTS: dict[str, dict[str, tuple[Callable[..., Wrong], Array]]] = {
    "center_of_mass": THETA,
    "central_inertia": THETA,
    "centroidal_to_packed": {"centroidal": (wrong_row, BODY)},
    "eigen": THETA,
    "eigen_jacobian": PSI,
    "from_eigen": PSI,
    "from_log_cholesky": PHI,
    "from_matrix_logarithm": GAMMA,
    "from_pseudo_inertia": {"J": (wrong_symmetric, inertia.pseudo_inertia(BODY))},
    "has_positive_energy": THETA | TOLERANCE,
    "is_physical": ANY_THETA | TOLERANCE,
    "kwon_to_packed": KWON,
    "kwon_to_theta": KWON,
    "log_cholesky": THETA,
    "log_cholesky_determinant": PHI,
    "log_cholesky_difference": PHI | REFERENCE,
    "log_cholesky_jacobian": PHI,
    "matrix_logarithm": THETA,
    "matrix_logarithm_jacobian": GAMMA,
    "mesh_inertia": MESH | DENSITY,
    "mesh_inertia_density_derivative": MESH,
    "mesh_inertia_derivatives": MESH | DENSITY,
    "mesh_inertia_gradient": MESH | DENSITY | {"weights": (wrong_lone_row, BODY)},
    "move_theta": THETA | POSE,
    "moved_derivative": THETA,
    "moving_matrix": POSE,
    "nearest_physical": THETA | {"margin": (wrong_number, np.array(1e-6))},
    "packed_to_centroidal": PACKED,
    "packed_to_kwon": PACKED,
    "packed_to_theta": PACKED,
    "physical_margin": THETA,
    "pseudo_inertia": THETA,
    "riemannian_difference": THETA | REFERENCE,
    "riemannian_distance": THETA | REFERENCE,
    "rotational_inertia": THETA,
    "swap_blocks": {"matrix": (wrong_row, np.diag(np.arange(1.0, 7.0)))},
    "swap_halves": {"vector": (wrong_row, np.arange(6.0))},
    "theta_from_com": MASS | {"com": (wrong_lone_row, np.array([0.1, 0.2, 0.3]))} | LONE,
    "theta_from_origin": MASS | {"first_moment": (wrong_lone_row, np.array([1.0, 2, 3]))} | LONE,
    "theta_to_kwon": THETA,
    "theta_to_packed": THETA,
    "unphysical_reason": ANY_THETA | TOLERANCE,
}
CASES = [(function, argument) for function, named in ARGUMENTS.items() for argument in named]


def test_no_function_is_missing_in_the_table() -> None:
    assert set(ARGUMENTS) == set(inertia.__all__) - {"Factor", "Inertia"}


@pytest.mark.parametrize(("function", "argument"), CASES, ids=str)
def test_a_wrong_argument_is_named(function: str, argument: str, rng: np.random.Generator) -> None:
    valid = {name: given for name, (_, given) in ARGUMENTS[function].items()}
    wrong, value = ARGUMENTS[function][argument]
    getattr(inertia, function)(**valid)
    pattern = rf"mesh: .*\b{argument[:4]}" if argument in MESH else rf"{argument}(\[[\d, ]+\])?: "
    reported = {what: outcome(function, valid | {argument: x}) for what, x in wrong(value, rng)}
    assert {what: text for what, text in reported.items() if not re.match(pattern, text)} == {}


def outcome(function: str, arguments: dict[str, Any]) -> str:
    """What a refusal says; what happens instead of one."""
    try:
        return f"taken, for {getattr(inertia, function)(**arguments)}"
    except PysimError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001, whatever it is it is not the one to raise
        return f"raises {type(error).__name__}, {error}"


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        ("theta_to_packed", [np.zeros(11)], "theta: must have shape (…, 10), got (11,)"),
        ("pseudo_inertia", [["a"] * 10], "theta: must hold real numbers, got dtype <U1"),
        ("from_log_cholesky", [np.full(10, np.nan)], "phi: must be finite, got nan at [0]"),
        (
            "from_pseudo_inertia",
            [np.eye(4) + np.eye(4, k=1)],
            "J: must be symmetric, J − Jᵀ reaches 1",
        ),
        (
            "theta_from_origin",
            [1, [0, 0, 0], np.eye(3) + np.eye(3, k=1)],
            "inertia: must be symmetric, I − Iᵀ reaches 1 [kg·m²]",
        ),
        (
            "theta_from_com",
            [1, [[0, 0, 0]], np.eye(3)],
            "com: must have shape (3,) [m], got (1, 3)",
        ),
        ("theta_from_com", [np.nan, [0, 0, 0], np.eye(3)], "mass: must be finite, got nan"),
        (
            "move_theta",
            [BODY, 2 * np.eye(4)],
            "pose: must have the last row (0, 0, 0, 1), got (0, 0, 0, 2)",
        ),
        (
            "move_theta",
            [[BODY] * 3, [TURNED] * 2],
            "pose: leading axes (2,) do not fit (3,) of theta",
        ),
        (
            "riemannian_distance",
            [[BODY] * 3, [BODY] * 2],
            "reference: leading axes (2,) do not fit (3,) of theta",
        ),
        (
            "log_cholesky_difference",
            [np.zeros((3, 10)), [BODY] * 2],
            "reference: leading axes (2,) do not fit (3,) of phi",
        ),
    ],
)
def test_a_refusal_says_what_is_wrong(function: str, arguments: list[Any], text: str) -> None:
    with pytest.raises(PysimError) as caught:
        getattr(inertia, function)(*arguments)
    assert str(caught.value) == text


def test_nonfinite_parameters_are_not_physical() -> None:
    for number in (np.nan, np.inf):
        spoilt = np.array([*BODY[:9], number])
        np.testing.assert_array_equal(inertia.is_physical([BODY, spoilt]), [True, False])
        assert inertia.unphysical_reason(spoilt) == "a number is not finite"


def test_a_matrix_is_symmetric_where_it_is_but_for_rounding(rng: np.random.Generator) -> None:
    J = inertia.pseudo_inertia(BODY)
    off = J + np.tril(1e-12 * rng.normal(size=(4, 4)), -1)  # the upper triangle is read
    np.testing.assert_array_equal(inertia.from_pseudo_inertia(off), inertia.from_pseudo_inertia(J))
    single = J.astype(np.float32) * (1 + np.tril(np.full((4, 4), 1e-5, np.float32), -1))
    assert inertia.from_pseudo_inertia(single).dtype == np.float64


def test_a_record_of_a_displacement_moves_as_its_matrix() -> None:
    record = TURNED[:3].T.ravel()
    np.testing.assert_array_equal(
        inertia.move_theta(BODY, record), inertia.move_theta(BODY, TURNED)
    )
    np.testing.assert_array_equal(inertia.moving_matrix(record), inertia.moving_matrix(TURNED))


def test_leading_axes_that_do_not_fit_are_named() -> None:
    one, two = (inertia.Inertia.box(1.0, 1.0, 1.0, mass=np.ones(n)) for n in (2, 3))
    expected = "the right inertia: leading axes (3,) do not fit (2,) of the left inertia"
    with pytest.raises(PysimError, match=f"^{re.escape(expected)}$"):
        one + two
    with pytest.raises(TypeError):
        one + 3.0
