"""Elementary functions on packs, in units in the last place.

The oracle is NumPy's long double (64 significant bits, the C library's functions), eleven bits more than double; for
values at the edge of a domain it is the C library in the same precision.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pysim import _engine, available_isas, use_isa

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.floating]

needs_long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double here"
)
COUNT = 20_000
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, -2.5, np.inf, -np.inf, np.nan]
ORACLES = {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
}


def oracle(name: str) -> Callable[..., Array]:
    function: Callable[..., Array] = ORACLES[name] if name in ORACLES else getattr(np, name)
    return function


def compute(name: str, *x: Array) -> Array:
    return _engine.map_rows(name, np.stack(x, axis=-1))[:, 0]


def errors_in_ulp(y: Array, exact: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    with np.errstate(all="ignore"):
        unit = np.maximum(
            np.spacing(np.abs(exact).astype(y.dtype)), np.finfo(y.dtype).smallest_subnormal
        )
        error = np.abs(y.astype(np.longdouble) - exact) / unit
    return np.where(y == exact, 0, error)  # equal infinities


def largest_error(name: str, *x: Array) -> float:
    with np.errstate(all="ignore"):
        exact = oracle(name)(*(a.astype(np.longdouble) for a in x))
        overflows = np.abs(exact) > np.finfo(x[0].dtype).max
        exact = np.where(overflows, np.copysign(np.longdouble(np.inf), exact), exact)
    return float(errors_in_ulp(compute(name, *x), exact).max())


def uniform(low: float, high: float) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.uniform(low, high, COUNT)


def over_decades(low: float, high: float) -> Callable[[np.random.Generator], Array]:
    return lambda rng: 10 ** rng.uniform(low, high, COUNT) * rng.choice([-1.0, 1.0], COUNT)


BOUNDS = [
    ("sin", uniform(-10, 10), 1),
    ("sin", uniform(-1e6, 1e6), 1),
    ("sin", over_decades(-30, 0), 1),
    ("cos", uniform(-10, 10), 1),
    ("cos", uniform(-1e6, 1e6), 1),
    ("tan", uniform(-10, 10), 2.5),
    ("tan", uniform(-1e6, 1e6), 2.5),
    ("asin", uniform(-1, 1), 1),
    ("asin", over_decades(-30, 0), 1),
    ("acos", uniform(-1, 1), 1),
    ("acos", lambda rng: 1 - 10 ** rng.uniform(-7, -1, COUNT), 1),
    ("acos", lambda rng: 10 ** rng.uniform(-7, -1, COUNT) - 1, 1),
    ("atan", over_decades(-30, 30), 2),
    ("exp", uniform(-80, 80), 1),
    ("exp", over_decades(-30, 0), 1),
    ("log", lambda rng: 10 ** rng.uniform(-37, 37, COUNT), 1),
    ("log", uniform(0.5, 2), 1),
    ("tanh", uniform(-20, 20), 1.5),
    ("tanh", over_decades(-30, 0), 1.5),
    ("floor", over_decades(-3, 20), 0),
]


@needs_long_double
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "sample", "bound"), BOUNDS)
def test_error_stays_within_its_bound(
    name: str,
    sample: Callable[[np.random.Generator], Array],
    bound: float,
    dtype: type,
    rng: np.random.Generator,
) -> None:
    assert largest_error(name, sample(rng).astype(dtype)) <= bound


@needs_long_double
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(
    ("name", "low", "high", "bound"),
    [("exp", -745, 709.7, 1), ("log", 5e-324, 1e-300, 1), ("log", 1e300, 1.7e308, 1)],
)
def test_error_stays_within_its_bound_at_the_ends_of_double(
    name: str, low: float, high: float, bound: float, rng: np.random.Generator
) -> None:
    assert largest_error(name, rng.uniform(low, high, COUNT)) <= bound


@needs_long_double
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_error_of_functions_of_two_stays_within_its_bound(
    dtype: type, rng: np.random.Generator
) -> None:
    x: Array = over_decades(-15, 15)(rng).astype(dtype)
    y: Array = over_decades(-15, 15)(rng).astype(dtype)
    assert largest_error("atan2", y, x) <= 2
    assert largest_error("atan2", y, (y * rng.uniform(0.5, 2, COUNT)).astype(dtype)) <= 2
    assert largest_error("hypot", x, y) <= 1.5
    assert largest_error("hypot", x, (x * rng.uniform(-2, 2, COUNT)).astype(dtype)) <= 1.5
    assert largest_error("pow", abs(x), rng.uniform(-2, 2, COUNT).astype(dtype)) <= 1
    near_one: Array = (1 + 10 ** rng.uniform(-6, -1, COUNT)).astype(dtype)
    assert largest_error("pow", near_one, over_decades(0, 2)(rng).astype(dtype)) <= 1


@needs_long_double
@pytest.mark.usefixtures("isa")
def test_powers_at_the_ends_of_double(rng: np.random.Generator) -> None:
    base = rng.uniform(1.5, 2.5, COUNT)
    assert largest_error("pow", base, rng.uniform(-1100, 1100, COUNT)) <= 1
    assert largest_error("pow", rng.uniform(5e-324, 1e-310, COUNT), rng.uniform(-1, 1, COUNT)) <= 1
    assert (
        largest_error("pow", np.nextafter(np.ones(4), 2), np.array([1e15, -1e15, 1e18, 5e18])) <= 1
    )


@pytest.mark.usefixtures("isa")
def test_hypot_neither_overflows_nor_underflows_on_the_way() -> None:
    x = np.array([3e300, 3e-310, 5e-324, 1.7e308])
    y = np.array([4e300, 4e-310, 0, 1e-300])
    np.testing.assert_allclose(compute("hypot", x, y), [5e300, 5e-310, 5e-324, 1.7e308], rtol=1e-13)


@needs_long_double
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_near_multiples_of_half_pi(name: str, rng: np.random.Generator) -> None:
    largest = int(1e6 / (np.pi / 2))
    k = np.concatenate([np.arange(-4000, 4000), rng.integers(-largest, largest, COUNT)])
    x = (k * (np.arctan2(np.longdouble(1), np.longdouble(0)))).astype(np.float64)
    for nearby in (x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)):
        assert largest_error(name, nearby) <= 1


@needs_long_double
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_circular_functions_beyond_a_million(name: str, rng: np.random.Generator) -> None:
    hard = [1e6, np.nextafter(1e6, 2e6), 1e22, 1.7e308]
    assert largest_error(name, np.array([*hard, *10 ** rng.uniform(6, 300, 500)])) <= 3
    mixed = np.array([0.5, 1e9, -0.25, 3.0, -1e15, 1e6, 2e6, 0.0])  # one lane's slow path
    assert largest_error(name, mixed) <= 3


@pytest.mark.usefixtures("isa")
def test_cosine_of_the_double_closest_to_a_multiple_of_half_pi() -> None:
    # [Muller 2016, section 11.3.2]; the C library's own double cosine is off by 8 ulp there
    x = np.array([6381956970095103 * 2.0**797])
    np.testing.assert_allclose(compute("cos", x), -4.68716592425462761112e-19, rtol=3e-16)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted({name for name, _, _ in BOUNDS}))
def test_edges_of_the_domain_are_those_of_c(name: str, dtype: type) -> None:
    x: Array = np.array(EDGES, dtype)
    with np.errstate(all="ignore"):
        expected = oracle(name)(x)
    assert_same_kind(compute(name, x), expected)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["atan2", "hypot", "pow"])
def test_edges_of_functions_of_two_are_those_of_c(name: str, dtype: type) -> None:
    more = [*EDGES, 1e30, -1e30, 1e-30, 4503599627370497.0, np.nextafter(1, 2)]
    x, y = np.array(list(itertools.product(more, more)), dtype).T
    with np.errstate(all="ignore"):
        expected = oracle(name)(x, y)
    assert_same_kind(compute(name, x, y), expected)


def assert_same_kind(y: Array, expected: Array) -> None:
    """Equal to rounding, and in NaN, infinity, zero and sign."""
    number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(y), ~number)
    np.testing.assert_array_equal(np.signbit(y[number]), np.signbit(expected[number]))
    np.testing.assert_array_equal(y == 0, expected == 0)
    np.testing.assert_allclose(y, expected, rtol=4 * float(np.finfo(y.dtype).eps))


def test_exponential_overflows_and_underflows_where_c_does() -> None:
    x = np.array([709.78, 709.79, 1e5, -745.1, -745.2, -1e5])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(compute("exp", x), np.exp(x), rtol=1e-15)
    single = np.array([88.72, 88.73, 1e5, -103.9, -104.0, -1e5], np.float32)
    with np.errstate(all="ignore"):
        expected = np.exp(single.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_max_ulp(
        compute("exp", single)[np.isfinite(expected)], expected[np.isfinite(expected)], 1
    )
    np.testing.assert_array_equal(np.isinf(compute("exp", single)), np.isinf(expected))


def every_row(dtype: type, rng: np.random.Generator, columns: int) -> Array:
    """Ordinary numbers, numbers of all sizes, and edges."""
    sizes = 10 ** rng.uniform(-30, 30, (40, columns)) * rng.choice([-1.0, 1.0], (40, columns))
    edges = rng.choice(EDGES, (20, columns))
    rows = np.concatenate(
        [rng.uniform(-1, 1, (41, columns)), rng.uniform(-50, 50, (40, columns)), sizes, edges]
    )
    return rng.permutation(rows).astype(dtype)  # 141 rows: whole packs and a rest of every width


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", _engine.row_maps())
def test_a_row_has_the_same_bits_alone_and_in_any_pack(
    name: str, dtype: type, rng: np.random.Generator
) -> None:
    rows = every_row(dtype, rng, columns_of(name))
    together = _engine.map_rows(name, rows)
    alone = np.concatenate([_engine.map_rows(name, row[None]) for row in rows])
    assert_same_bits(together, alone)
    assert_same_bits(_engine.map_rows(name, rows[3:]), alone[3:])


@pytest.mark.skipif(
    not {"avx2", "avx512"} <= set(available_isas()), reason="needs AVX2 and AVX-512"
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", _engine.row_maps())
def test_avx2_and_avx512_give_the_same_bits(
    name: str, dtype: type, rng: np.random.Generator
) -> None:
    rows = every_row(dtype, rng, columns_of(name))
    results = []
    try:
        for isa in ("avx2", "avx512"):
            use_isa(isa)
            results.append(_engine.map_rows(name, rows))
    finally:
        use_isa("auto")
    assert_same_bits(*results)


def assert_same_bits(a: Array, b: Array) -> None:
    """Equal, zeros with their sign; a NaN is a NaN."""
    np.testing.assert_array_equal(a, b)
    number = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a)[number], np.signbit(b)[number])


def columns_of(name: str) -> int:
    for columns in (1, 2, 3, 4, 6, 9, 12, 16):
        try:
            _engine.map_rows(name, np.zeros((0, columns)))
        except ValueError:
            continue
        return columns
    raise AssertionError(name)


def test_an_unknown_name_and_a_wrong_width_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"^name 'sine' is not a row map$"):
        _engine.map_rows("sine", np.zeros((1, 1)))
    with pytest.raises(ValueError, match=r"^x must have shape \(rows, 2\)$"):
        _engine.map_rows("atan2", np.zeros((1, 1)))
