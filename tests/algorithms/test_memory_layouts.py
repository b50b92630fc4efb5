"""An array's place and order in memory change no result. Oracle: the same numbers in a fresh array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.inertia import mesh_inertia
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def misaligned(x: Array) -> Array:
    memory = bytearray(x.nbytes + 1)
    copy: Array = np.ndarray(x.shape, x.dtype, buffer=memory, offset=1)
    copy[...] = x
    return copy


def read_only(x: Array) -> Array:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def padded(x: Array) -> Array:
    unread = np.nan if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).max
    wide = np.full((*x.shape[:-1], x.shape[-1] + 3), unread, x.dtype)
    wide[..., :-3] = x
    return wide[..., :-3]


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "misaligned": misaligned,
    "read only": read_only,
    "padded rows": padded,
    "Fortran order": np.asfortranarray,
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (5,)], ids=["one", "batch"])
def test_every_layout_of_every_argument_gives_the_same_bits(
    rng: np.random.Generator, layout: str, dtype: type, shape: tuple[int, ...]
) -> None:
    model = compile_model(random_tree(rng, ["free", "revolute", "ball"], chain=True))
    q = np.broadcast_to(model.random_configuration(rng), (*shape, model.nq))
    sizes = [(*shape, model.nv), (*shape, model.nv), (*shape, model.nbodies, 6)]
    arguments: list[Array] = [x.astype(dtype) for x in (q, *(rng.normal(size=n) for n in sizes))]
    expected = pysim.aba(model, *arguments)
    for k in range(4):
        rearranged = [LAYOUTS[layout](x) if i == k else x for i, x in enumerate(arguments)]
        np.testing.assert_array_equal(pysim.aba(model, *rearranged), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(6,), (5, 6)], ids=["one", "batch"])
def test_every_layout_of_rows_and_pairs_gives_the_same_bits(
    rng: np.random.Generator, layout: str, shape: tuple[int, ...]
) -> None:
    """A function of rows, the exponential of SE(3), and one of pairs of rows, the cross product."""
    x, y = rng.normal(size=(2, *shape))
    rearranged = LAYOUTS[layout](x)
    np.testing.assert_array_equal(pysim.spatial.exp(rearranged), pysim.spatial.exp(x))
    np.testing.assert_array_equal(
        pysim.spatial.cross_twist(rearranged, y), pysim.spatial.cross_twist(x, y)
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_a_mesh_gives_the_same_bits(layout: str) -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float64)
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    expected = mesh_inertia(vertices, faces, 1000.0)
    found = mesh_inertia(LAYOUTS[layout](vertices), LAYOUTS[layout](faces), 1000.0)
    np.testing.assert_array_equal(found, expected)
