"""Checks of array arguments: shape, dtype, finite values, rotations and displacements. Errors name the argument.

Results are float64, or float32 if every argument is float32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import PysimError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]  # float64 or float32

_PAIR_MAPS = _engine.pair_maps()
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def checked(
    x: ArrayLike, name: str, *rows: tuple[int, ...], unit: str = "", alone: bool = False
) -> Array:
    """Return x as finite floats whose last axes are one of `rows`; without leading axes if it is `alone`.

    Raises:
        PysimError: x has a wrong shape, complex or non-numeric entries, NaN or infinite values.
    """
    a = shaped(x, name, *rows, unit=unit, alone=alone)
    finite = np.isfinite(a)
    if not _all(finite):
        index = _first(~finite)
        raise PysimError(name, f"must be finite, got {a[index]}{_at(index)}")
    return a


def real_numbers(x: ArrayLike, name: str) -> Array:
    """Return an array of real numbers of any shape, float64 unless it is one of floats.

    Raises:
        PysimError: x has rows of different lengths, a mask, or complex or non-numeric entries.
    """
    refuse_mask(x, name)
    try:
        a = np.asarray(x)
    except ValueError as error:
        raise PysimError(name, "must be an array of numbers") from error
    if a.dtype.kind not in "fiu":
        raise PysimError(name, f"must hold real numbers, got dtype {a.dtype}")
    return a if a.dtype in _FLOATS else a.astype(np.float64)


def shaped(
    x: ArrayLike, name: str, *rows: tuple[int, ...], unit: str = "", alone: bool = False
) -> Array:
    """Check an array as `checked` does, but allow NaN and infinite values."""
    a = real_numbers(x, name)
    shape = a.shape
    for row in rows:
        if shape == row or (not alone and shape[max(len(shape) - len(row), 0) :] == row):
            return a
    batches = [str(row) if alone else f"({', '.join(['…', *map(str, row)])})" for row in rows]
    wanted = " or ".join(batches)
    raise PysimError(name, f"must have shape {wanted}{unit and f' [{unit}]'}, got {shape}")


def refuse_mask(x: object, name: str) -> None:
    """Reject a masked array with masked entries, which would otherwise enter the computation.

    Raises:
        PysimError: an entry is masked.
    """
    mask = getattr(x, "mask", None)
    if isinstance(mask, np.ndarray) and mask.any():
        problem = f"has masked numbers, {np.count_nonzero(mask)} of {np.size(mask)}; replace them, as in x.filled(0)"
        raise PysimError(name, problem)


def checked_double(
    x: ArrayLike, name: str, *rows: tuple[int, ...], unit: str = "", alone: bool = False
) -> Array:
    """Check an array as `checked` does, and convert it to float64."""
    return checked(x, name, *rows, unit=unit, alone=alone).astype(np.float64, copy=False)


def checked_number(x: float, name: str, unit: str = "") -> float:
    """Return x as a float; PysimError if it is not one finite number."""
    if type(x) is float and math.isfinite(x):
        return x
    return float(checked(x, name, (), unit=unit, alone=True))


def checked_symmetric(
    x: ArrayLike, name: str, symbol: str, n: int, unit: str = "", *, alone: bool = False
) -> Array:
    """Return a matrix (…, n, n) that errors write as `symbol`; PysimError if it is not symmetric."""
    a = checked(x, name, (n, n), unit=unit, alone=alone)
    skew = a - np.swapaxes(a, -1, -2)
    if not np.count_nonzero(skew):
        return a
    off = abs(skew).max(axis=(-1, -2))
    if (off > tolerance(a) * abs(a).max(axis=(-1, -2))).any():
        reach = f"{symbol} − {symbol}ᵀ reaches {off.max():.3g}{unit and f' [{unit}]'}"
        raise PysimError(name, f"must be symmetric, {reach}")
    return a


def tolerance(a: Array) -> float:
    """Return the tolerance on unit lengths and orthogonality."""
    return 1e-4 if a.dtype == np.float32 else 1e-6


def checked_rotation(R: ArrayLike, name: str = "R") -> Array:
    """Return R (…, 3, 3) as contiguous floats; PysimError if it is not a rotation."""
    a = np.ascontiguousarray(checked(R, name, (3, 3)))
    _check_orthonormal(a, name)
    return a


def checked_pose(X: ArrayLike, name: str = "X") -> Array:
    """Return X (…, 4, 4) as floats; PysimError if it is not a displacement."""
    a = checked(X, name, (4, 4))
    check_last_row(a, name)
    _check_orthonormal(a[..., :3, :3], name)
    return a


def checked_element(X: ArrayLike, name: str = "X") -> Array:
    """Return a rotation (…, 3, 3) or a displacement (…, 4, 4) as floats; PysimError if it is neither."""
    a = checked(X, name, (3, 3), (4, 4))
    if a.shape[-1] == 4:
        check_last_row(a, name)
    _check_orthonormal(a[..., :3, :3], name)
    return a


def checked_record(X: ArrayLike, name: str = "X") -> Array:
    """Return the record (…, 12), rotation column-major, then position, of a displacement (…, 4, 4) or of a record."""
    a = checked(X, name, (4, 4), (12,))
    if a.shape[-2:] == (4, 4):
        check_last_row(a, name)
        a = np.swapaxes(a[..., :3, :], -1, -2).reshape(*a.shape[:-2], 12)
    _check_orthonormal(a[..., :9].reshape(*a.shape[:-1], 3, 3), name)
    return a


def checked_unit(a: Array, name: str, what: str = "") -> Array:
    """Return a (…, n); PysimError if its norm is not 1."""
    with np.errstate(over="ignore"):
        length = np.sqrt((a * a).sum(-1))
    worst = _worst(abs(length - 1), a)
    if worst is not None:
        raise PysimError(name, f"{what}must have length 1, got {length[worst]:.9g}{_at(worst)}")
    return a


def check_last_row(X: Array, name: str, row: tuple[int, int, int, int] = (0, 0, 0, 1)) -> None:
    """Raise PysimError unless the last row of X (…, 4, 4) is (0, 0, 0, 1)."""
    bottom = X[..., 3, :]
    if X.ndim == 2 and tuple(bottom.tolist()) == row:  # exactly so, as most are
        return
    worst = _worst(abs(bottom - np.array(row)).max(-1), X)
    if worst is not None:
        got = ", ".join(f"{float(x):g}" for x in bottom[worst])
        raise PysimError(name, f"must have the last row {row}, got ({got}){_at(worst)}")


def leading(A: Array, a_rank: int, a_name: str, B: Array, b_rank: int, b_name: str) -> None:
    """Check that the leading axes of A and B broadcast, given the ranks of one element of each."""
    first, second = A.shape[: A.ndim - a_rank], B.shape[: B.ndim - b_rank]
    if first == second:
        return
    try:
        np.broadcast_shapes(first, second)
    except ValueError as error:
        raise PysimError(b_name, f"leading axes {second} do not fit {first} of {a_name}") from error


def checked_out(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return the caller's array for a result, or a new one.

    Raises:
        PysimError: the caller's array has another type, shape, dtype or memory layout than the result.
    """
    if out is None:
        return np.empty(shape, dtype)
    given: object = out
    if not isinstance(given, np.ndarray):
        raise PysimError("out", f"must be an array of {dtype}, got {type(given).__name__}")
    if given.dtype != dtype:
        raise PysimError("out", f"must have dtype {dtype}, got {given.dtype}")
    if given.shape != shape:
        raise PysimError("out", f"must have shape {shape}, got {given.shape}")
    if not (given.flags.carray and given.dtype.isnative):
        raise PysimError("out", "must be C-contiguous, aligned, native and writeable")
    return out


def placed(result: Array, out: Array | None) -> Array:
    """Return a result, written to the caller's array if one is given; PysimError as in `checked_out`."""
    if out is None:
        return result
    place = checked_out(out, result.shape, result.dtype)
    place[...] = result
    return place


def map_rows(
    function: str,
    x: Array,
    rank: int,
    row: tuple[int, ...],
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Apply one of the engine's row maps to the last `rank` axes of x; the result's last axes are `row`.

    Raises:
        PysimError: `out` cannot take the result.
    """
    batch = x.shape[: x.ndim - rank]
    size = math.prod(x.shape[x.ndim - rank :])
    y = checked_out(out, (*batch, *row), x.dtype)
    rows = np.ascontiguousarray(x).reshape(-1, size)
    _engine.map_rows(function, rows, threads=threads, out=y.reshape(len(rows), math.prod(row)))
    return y


def map_pairs(function: str, a: Array, b: Array, out: Array | None = None) -> Array:
    """Apply one of the engine's pair maps to rows a (…, n) and b (…, m) whose leading axes broadcast.

    Args:
        function: its name.
        a: first argument.
        b: second argument.
        out: where the result (…, k) goes, contiguous; it may be a itself.
    """
    batch, other = a.shape[:-1], b.shape[:-1]
    if batch != other:
        batch = np.broadcast_shapes(batch, other)
    if out is None:
        out = np.empty((*batch, _PAIR_MAPS[function][2]), np.result_type(a, b))
    rows = out.reshape(-1, out.shape[-1])
    _engine.map_pairs(
        function, _batch_rows(a, batch, rows.dtype), _batch_rows(b, batch, rows.dtype), rows
    )
    return out


def _batch_rows(x: Array, batch: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return x as rows: one for each element of the batch, or a single one that all elements share."""
    n = x.shape[-1]
    alone = x.size == n
    rows = x.reshape(1, n) if alone else np.broadcast_to(x, (*batch, n)).reshape(-1, n)
    return np.ascontiguousarray(rows, dtype)


def _check_orthonormal(R: Array, name: str) -> None:
    defect = map_rows("rotation_defect", R, 2, (7,))
    off, determinant = abs(defect[..., :6]), defect[..., 6:]
    orthonormal, proper = off <= tolerance(R), determinant >= 0
    if _all(orthonormal) and _all(proper):
        return
    at = _first(~(orthonormal.all(-1) & proper[..., 0]))
    problem = "got a reflection"
    if not _all(orthonormal[at]):
        problem = f"RᵀR differs from 1 by {off[at].max():.3g}"
    raise PysimError(name, f"must be a rotation, {problem}{_at(at)}")


def _worst(off: Array, a: Array) -> tuple[int, ...] | None:
    """Return the index of the first element whose error exceeds the tolerance."""
    right = off <= tolerance(a)
    return None if _all(right) else _first(~right)


def _all(flags: NDArray[np.bool_]) -> bool:
    """Return `flags.all()`, faster for small arrays."""
    return int(np.count_nonzero(flags)) == flags.size


def _first(wrong: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def _at(index: tuple[int, ...]) -> str:
    return f" at {list(index)}" if index else ""
