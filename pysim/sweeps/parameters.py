"""Parameters of a sweep: grids of values and samples of distributions for the keys of a scene.

    "0:1:21"            21 values at equal distances from 0 to 1
    "1, 2, 5"           these values; a list or an array in Python
    "normal(1, 0.05)"   mean and standard deviation
    "uniform(0, 1)"     lower and upper end; "loguniform(1, 100)" has a uniform logarithm
    "triangular(0, 0.5, 1)"  lower end, mode and upper end

The worlds are all combinations of grid values, in the order of the keys with the last one varying fastest, each with
the same n samples. Samples are inverse distribution functions of points of the unit cube: random, of a Latin
hypercube, or of a scrambled Sobol sequence (scipy.stats.qmc).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import SimulationError, did_you_mean
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

METHODS = ("random", "latin_hypercube", "sobol")
MOST_WORLDS = 10**8
SHARED = ("simulation", "output")  # tables that are the same in all worlds
_RANGE = re.compile(r"^([^:,()]+):([^:,()]+):([^:,()]+)$")
_CALL = re.compile(r"^\s*(\w+)\s*\(([^()]*)\)\s*$")
_OPEN_INTERVAL = 2.0**-53  # distance of samples from 0 and 1


@dataclass(frozen=True)
class Distribution:
    """A probability distribution of a number."""

    kind: str
    arguments: tuple[float, ...]

    def values(self, u: Array) -> Array:
        """Return the quantiles at u (n,), between 0 and 1."""
        return _engine.quantiles(self.kind, self.arguments, u)

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(repr, self.arguments))})"


@dataclass(frozen=True)
class Plan:
    """Worlds of a sweep."""

    grids: dict[str, Array]
    distributions: dict[str, Distribution]
    samples: int  # at each point of the grid
    method: str
    seed: int

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return (
            int(np.prod([len(grid) for grid in self.grids.values()], dtype=object)) * self.samples
        )

    def values(self) -> dict[str, Array]:
        """Return the values of every key, (worlds,) each."""
        points = np.meshgrid(*self.grids.values(), indexing="ij")
        found = {
            key: np.repeat(point.ravel(), self.samples)
            for key, point in zip(self.grids, points, strict=True)
        }
        if self.distributions:
            u = unit_samples(self.method, self.samples, len(self.distributions), self.seed)
            u = np.clip(u, _OPEN_INTERVAL, 1 - _OPEN_INTERVAL)
            for (key, kind), column in zip(self.distributions.items(), u.T, strict=True):
                found[key] = np.tile(kind.values(column), self.worlds // self.samples)
        return found

    def describe(self) -> dict[str, object]:
        """Return what distinguishes this plan from others, as JSON."""
        return {
            "grids": {key: grid.tolist() for key, grid in self.grids.items()},
            "distributions": {key: str(kind) for key, kind in self.distributions.items()},
            "samples": self.samples,
            "method": self.method,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class _Kind:
    arguments: tuple[str, ...]
    valid: Callable[..., bool]
    condition: str


_KINDS = {
    "normal": _Kind(
        ("mean", "deviation"), lambda _, d: d >= 0, "the deviation must not be negative"
    ),
    "uniform": _Kind(("lower", "upper"), lambda a, b: a <= b, "lower must not exceed upper"),
    "loguniform": _Kind(
        ("lower", "upper"),
        lambda a, b: 0 < a <= b,
        "lower must be positive and not exceed upper",
    ),
    "triangular": _Kind(
        ("lower", "mode", "upper"),
        lambda a, m, b: a <= m <= b and a < b,
        "lower, mode and upper must ascend",
    ),
}


def unit_samples(method: str, n: int, d: int, seed: int) -> Array:
    """Return n points (n, d) of the unit cube by one of METHODS."""
    if method == "random":
        return np.random.default_rng(seed).random((n, d))
    from scipy.stats import qmc  # noqa: PLC0415, takes a second to import

    if method == "latin_hypercube":
        return np.asarray(qmc.LatinHypercube(d, seed=seed).random(n))
    whole = 1 << (n - 1).bit_length()  # a Sobol sequence is balanced at powers of 2
    return np.asarray(qmc.Sobol(d, seed=seed).random(whole)[:n])


def plan_of(
    parameters: Mapping[str, ArrayLike | str | Distribution], n: int | None, method: str, seed: int
) -> Plan:
    """Return the plan of given parameters.

    Args:
        parameters: by the path of a key, a grid or a distribution.
        n: samples at each point of the grid; needed with distributions, 1 without.
        method: one of METHODS.
        seed: of the samples.

    Raises:
        SimulationError: a parameter that is neither, or numbers that do not suit it.
    """
    if method not in METHODS:
        raise SimulationError("method", f"there is no {method!r}{did_you_mean(method, METHODS)}")
    given_kind: object = parameters
    if not isinstance(given_kind, Mapping):
        problem = f"must map keys to values, got {type(parameters).__name__}"
        raise SimulationError("parameters", f'{problem}; write {{"body.rod.mass": [1, 2]}}')
    if not parameters:
        raise SimulationError(
            "parameters",
            "there are none; give a value or distribution by key, or write a [sweep] table",
        )
    grids, distributions = {}, {}
    for key, given in parameters.items():
        if key.split(".")[0] in SHARED:
            raise SimulationError(key, "is the same in all worlds of a sweep; set it in the scene")
        found = given if isinstance(given, Distribution) else _parameter(key, given)
        if isinstance(found, Distribution):
            distributions[key] = found
        else:
            grids[key] = found
    if distributions and n is None:
        raise SimulationError("n", "is missing; give the number of samples of the distributions")
    if not distributions and n not in (None, 1):
        raise SimulationError("n", f"is {n}, but no key has a distribution; leave it out")
    samples = 1 if n is None else whole_number("n", n, 1)
    plan = Plan(grids, distributions, samples, method, whole_number("seed", seed, 0))
    if plan.worlds > MOST_WORLDS:
        raise SimulationError(
            "parameters", f"make {plan.worlds} worlds, more than the {MOST_WORLDS} allowed"
        )
    return plan


def whole_number(name: str, given: object, least: int) -> int:
    """Return a whole number that is not too small."""
    try:
        number = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise SimulationError(name, f"is {given!r}; give a whole number, {least} or more") from None
    if number < least:
        raise SimulationError(name, f"is {number}; give {least} or more")
    return number


def distribution_of(where: str, written: str | float) -> Distribution | float:
    """Return the distribution that a text names, or the number that it is.

    Raises:
        SimulationError: it is neither.
    """
    if not isinstance(written, str):
        return float(written)
    call = _CALL.match(written)
    if call:
        return _distribution(where, call[1], _parse_numbers(where, written, call[2].split(",")))
    try:
        return float(written)
    except ValueError:
        problem = (
            f"{written!r} is no distribution; write uniform(-1, 1) or one of {', '.join(_KINDS)}"
        )
        raise SimulationError(where, problem) from None


def _parameter(key: str, written: ArrayLike | str) -> Array | Distribution:
    if not isinstance(written, str):
        return _grid(key, np.atleast_1d(np.asarray(written)))
    call, steps = _CALL.match(written), _RANGE.match(written)
    if call:
        return _distribution(key, call[1], _parse_numbers(key, written, call[2].split(",")))
    if steps:
        first, last, count = _parse_numbers(key, written, list(steps.groups()))
        if count != int(count) or not 1 <= count <= MOST_WORLDS:
            raise SimulationError(
                key, f"{written!r} has no whole number of values; give FIRST:LAST:COUNT"
            )
        return np.linspace(first, last, int(count))
    return _grid(key, np.array(_parse_numbers(key, written, written.split(","))))


def _grid(key: str, values: NDArray[np.generic]) -> Array:
    if values.ndim != 1 or not values.size or values.dtype.kind not in "iuf":
        raise SimulationError(key, "must be a list of numbers, FIRST:LAST:COUNT or a distribution")
    if not np.isfinite(values.astype(float)).all():
        raise SimulationError(key, "must be finite, got nan or inf")
    return values.astype(float)


def _parse_numbers(key: str, text: str, words: list[str]) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        from pysim.scene.toml.units import read_unit, split_quantity  # noqa: PLC0415, for this text alone

        for word in words:
            found = split_quantity(word)
            if found is not None and read_unit(found[1]) is not None:
                problem = (
                    f"{word.strip()!r} has a unit; give the number alone, in SI units and radians"
                )
                raise SimulationError(key, problem) from None
        problem = f"{text!r} is neither a grid nor a distribution; give FIRST:LAST:COUNT, A,B,… or KIND(…)"
        raise SimulationError(key, problem) from None
    if not np.isfinite(numbers).all():
        raise SimulationError(key, f"{text!r} must be finite")
    return numbers


def _distribution(key: str, kind: str, arguments: list[float]) -> Distribution:
    if kind not in _KINDS:
        problem = f"there is no distribution {kind!r}; choose one of {', '.join(_KINDS)}"
        raise SimulationError(key, problem)
    names, given = _KINDS[kind].arguments, tuple(arguments)
    if len(given) != len(names):
        problem = (
            f"{kind} takes {len(names)} numbers, got {len(given)}; give {kind}({', '.join(names)})"
        )
        raise SimulationError(key, problem)
    if not _KINDS[kind].valid(*given):
        raise SimulationError(key, f"{Distribution(kind, given)}: {_KINDS[kind].condition}")
    return Distribution(kind, given)
