"""Grids of heights: a ground from an array, a table or a grey-scale image."""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import PysimError, SceneError
from pysim.files.arrays import read_bytes, read_npy
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

IMAGE = ".png"
SUFFIXES = (IMAGE, ".npy", ".csv")
MOST_NODES = 1 << 24  # nodes: their indices are exact in single precision
NODE_BYTES = 8
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG = struct.Struct(">8sI4sII")  # signature, length and name of the first chunk, width and height
MOST_DRAWN_NODES = 300  # nodes along each side of a surface in pictures


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights h(x, y) [m] at the nodes of a grid, centred at the origin; bilinear between them, nothing beyond.

    Attributes:
        heights: rows along y, columns along x (rows, columns) [m].
        size: along x and y [m].
        source: the scene's table by its kind, `file` as a path.
        middle: x of the grid's middle in the frame of that table [m].
    """

    heights: Array
    size: tuple[float, float]
    source: dict[str, dict[str, Any]] | None = None
    middle: float = 0.0

    @property
    def spacing(self) -> tuple[float, float]:
        """Distance of nodes along x and y [m]."""
        rows, columns = self.heights.shape
        return self.size[0] / (columns - 1), self.size[1] / (rows - 1)

    @cached_property
    def low(self) -> Array:
        """Lower corner of the box around the surface (3,) [m]."""
        return np.array([-self.size[0] / 2, -self.size[1] / 2, self.heights.min()])

    @cached_property
    def high(self) -> Array:
        """Upper corner (3,) [m]."""
        return np.array([self.size[0] / 2, self.size[1] / 2, self.heights.max()])

    @property
    def has_points(self) -> bool:
        """Whether it has points of its own at which it touches other fields."""
        return False

    @property
    def radius(self) -> float:
        """Radius of the ball about the origin that holds the surface [m]; the solid reaches below it without end."""
        return 1e6

    @property
    def thickness(self) -> float:
        """Depth of the solid [m]."""
        return math.inf

    @cached_property
    def content(self) -> str:
        """A hash of heights and size."""
        data = (
            np.ascontiguousarray(self.heights).tobytes()
            + repr((self.heights.shape, self.size)).encode()
        )
        return hashlib.sha256(data).hexdigest()

    def engine(self) -> _engine.Field:
        """Return the engine's record."""
        return _engine.Field(heights=self.heights, spacing=self.spacing)

    def __call__(self, points: Array) -> Array:
        """Return the distance across the surface and the unit normal (n, 4) at points (n, 3) [m].

        Beyond the grid the distance is infinite.
        """
        rows, columns = self.heights.shape
        dx, dy = self.spacing
        x, y = points[:, 0] / dx + 0.5 * (columns - 1), points[:, 1] / dy + 0.5 * (rows - 1)
        within = (x >= 0) & (x <= columns - 1) & (y >= 0) & (y <= rows - 1)
        i = np.clip(np.floor(np.where(within, x, 0)), 0, columns - 2).astype(int)
        j = np.clip(np.floor(np.where(within, y, 0)), 0, rows - 2).astype(int)
        s, t = np.where(within, x, 0) - i, np.where(within, y, 0) - j
        h = self.heights
        h00, h10, h01, h11 = h[j, i], h[j, i + 1], h[j + 1, i], h[j + 1, i + 1]
        low, high = h00 + s * (h10 - h00), h01 + s * (h11 - h01)
        by_x = ((1 - t) * (h10 - h00) + t * (h11 - h01)) / dx
        by_y = (high - low) / dy
        normal = np.column_stack([-by_x, -by_y, np.ones(len(points))])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        d = (points[:, 2] - low - t * (high - low)) * normal[:, 2]
        return np.column_stack([np.where(within, d, np.inf), normal])

    def surface(self) -> tuple[Array, NDArray[np.int64]]:
        """Return vertices (n, 3) [m] and faces (m, 3) of the surface, with at most 300 nodes along each side."""
        rows, columns = self.heights.shape
        i = np.unique(
            np.linspace(0, columns - 1, min(columns, MOST_DRAWN_NODES)).round().astype(int)
        )
        j = np.unique(np.linspace(0, rows - 1, min(rows, MOST_DRAWN_NODES)).round().astype(int))
        dx, dy = self.spacing
        x, y = np.meshgrid((i - 0.5 * (columns - 1)) * dx, (j - 0.5 * (rows - 1)) * dy)
        vertices = np.column_stack([x.ravel(), y.ravel(), self.heights[np.ix_(j, i)].ravel()])
        first = (np.arange(len(j) - 1)[:, None] * len(i) + np.arange(len(i) - 1)).ravel()
        right, above = first + 1, first + len(i)
        lower, upper = (
            np.column_stack([first, right, above + 1]),
            np.column_stack([first, above + 1, above]),
        )
        return vertices, np.vstack([lower, upper])


def read_heights(file: Path, height: float | None) -> Array:
    """Return the heights (rows, columns) [m] of a file, rows along y.

    Args:
        file: a grey-scale image, black at 0 and white at `height`, as seen from above with y upwards; or an array
            (.npy) or a table of numbers (.csv), in metres, whose first row has the least y.
        height: of white [m], for an image.

    Raises:
        SceneError: the file cannot be read, or is no grid of finite numbers.
    """
    try:
        heights = _read(file, height)
    except SceneError:
        raise
    except (OSError, ValueError) as error:
        problem = error.problem if isinstance(error, PysimError) else str(error)
        cause = " ".join(problem.split())
        raise SceneError(str(file), f"cannot be read as heights: {cause}") from None
    if heights.ndim != 2 or min(heights.shape) < 2:
        problem = f"has the shape {heights.shape}; a grid has two rows and two columns or more"
        raise SceneError(str(file), problem)
    _check_nodes(file, heights.size)
    bad = np.argwhere(~np.isfinite(heights))
    if len(bad):
        row, column = bad[0]
        problem = f"is {heights[row, column]} in row {row}, column {column}; fill in a height"
        raise SceneError(str(file), problem)
    return heights


def _read(file: Path, height: float | None) -> Array:
    if file.suffix.lower() == ".npy":
        array = read_npy(str(file), MOST_NODES * NODE_BYTES)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"it has {array.dtype} instead of numbers; write heights in metres")
        return array.astype(float)
    if file.suffix.lower() == ".csv":
        text = read_bytes(str(file)).decode("utf-8-sig")
        lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
        if not lines:
            raise ValueError("it is empty; write a row of numbers for each y")
        _check_nodes(file, text.count(",") + len(lines))
        return np.loadtxt(lines, delimiter=",", ndmin=2)
    image = _pixels(file, read_bytes(str(file)))
    if (image.ndim == 3 and image.shape[2] > 2 and (image[..., :1] == image[..., :3]).all()) or (
        image.ndim == 3 and image.shape[2] == 2
    ):
        image = image[..., 0]
    if image.ndim != 2 or image.dtype.kind not in "ub":
        raise ValueError("it has colours; save it as a grey-scale image")
    white = 1.0 if image.dtype.kind == "b" else float(np.iinfo(image.dtype).max)
    return image[::-1].astype(float) * ((height or 0.0) / white)


def _pixels(file: Path, data: bytes) -> NDArray[Any]:
    """Return the pixels of a PNG, whose size its header declares.

    Raises:
        SceneError: it has too many.
        ValueError: it is no PNG, or is damaged.
    """
    import imageio.v3 as imageio  # noqa: PLC0415, only for images

    head = data[: _PNG.size]
    if len(head) < _PNG.size or not head.startswith(_SIGNATURE):
        raise ValueError("it is no PNG; save the image as one")
    _, _, _, width, height = _PNG.unpack(head)
    _check_nodes(file, width * height)
    try:
        return np.asarray(imageio.imread(data, index=0, plugin="pillow"))
    except Exception as error:  # noqa: BLE001, whatever Pillow and zlib raise of damaged images
        raise ValueError(f"the image is damaged ({error}); save it again") from None


def _check_nodes(file: Path, nodes: int) -> None:
    if nodes > MOST_NODES:
        problem = f"has {nodes} nodes, {MOST_NODES} at most; leave some out"
        raise SceneError(str(file), problem)
