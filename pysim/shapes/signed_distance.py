"""`SignedDistance`, the base class of shape plugins, their registry, and the program of their distance."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np

from pysim import _engine
from pysim.errors import JointError, PysimError
from pysim.plugins.fields import field_type
from pysim.plugins.registry import PluginKind, require_method
from pysim.shapes.solids import SIZES
from pysim.tracing.author_code import call, definition_place, method_place
from pysim.tracing.derivative import Derivative
from pysim.tracing.evaluation import evaluate
from pysim.tracing.expression import Scalar
from pysim.tracing.program import emit
from pysim.tracing.repeated_call import recorded_call
from pysim.tracing.symbolic_array import symbolic_array
from pysim.tracing.tape import Tape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim._engine import Program

SAMPLES = 4000  # points within the bounds at which a distance is checked
LARGEST_SLOPE = 1.01  # |∇d| of a distance, with its error (cpp/collision/field.hpp)
MOST_REGISTERS = 1024  # of the engine (cpp/collision/field.hpp)
MOST_POINTS = 4096  # at which a field touches another one
ON_SURFACE = 1e-3  # of the thickness, within which such a point is on the surface
PROJECTIONS = 3  # of points near the surface onto it
KEYS = frozenset({"type"})  # of every field table


@dataclass_transform()
class SignedDistance:
    """Base class of shape plugins: annotated fields are keys of the scene's `field` table.

    The solid is where `distance` is negative. Its value is the distance to the surface, or less: |∇d| ≤ 1.
    """

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(cls)

    def distance(self, p: Any) -> Any:  # noqa: ANN401, ARG002, for those who write one
        """Return the signed distance [m] of the point p (3,) [m] in the shape's frame, negative in the solid."""
        raise JointError(
            definition_place(type(self)), "has no method distance; write `def distance(self, p)`"
        )

    def bounds(self) -> tuple[Any, Any]:
        """Return the lower and the upper corner (3,) [m] of the box in which the surface is drawn.

        On a body, it holds the whole solid.
        """
        raise JointError(
            definition_place(type(self)), "has no method bounds; write `def bounds(self)`"
        )

    def points(self) -> Any:  # noqa: ANN401, rows of numbers
        """Return points (n, 3) [m] of the surface at which it touches other fields; None for some spread over it."""
        return None


def _check_shape(plugin: type[SignedDistance], where: str) -> None:
    """Require a distance and bounds, and fields that are not keys of every field table."""
    require_method(plugin, SignedDistance, "distance", where, "`def distance(self, p)`")
    require_method(plugin, SignedDistance, "bounds", where, "`def bounds(self)`")
    for field in dataclasses.fields(plugin):  # type: ignore[arg-type]
        if field.name in KEYS:
            problem = f"the field {field.name!r} is a key that every shape has"
            raise PysimError(where, f"{problem}; choose another name")
        field_type(plugin, field)


Plugin = TypeVar("Plugin", bound=type[SignedDistance])
SHAPES: PluginKind[type[SignedDistance]] = PluginKind(
    "shape",
    noun="shape type",
    base=SignedDistance,
    public="pysim.shapes.SignedDistance",
    builtin=(*SIZES, "plane"),
    check=_check_shape,
    first='; write one with @shape("…") and name its file in plugins',
)


def shape(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this shape available as `field = { type = "<name>" }`.

    Raises:
        PysimError: the name is taken, a method is missing, or a field is a key of every shape.
    """
    return SHAPES.named(name)


def find_shape(name: str) -> type[SignedDistance]:
    """Return the shape plugin of a name: a user's, or one of an installed package.

    Raises:
        PysimError: there is none; the text suggests one.
    """
    return SHAPES.find(name)


class Field:
    """A signed distance, recorded: the engine's program, and the same function in NumPy.

    Args:
        plugin: the shape.

    Raises:
        JointError: `distance` cannot be recorded, or is no distance; the error names the author's line.
    """

    def __init__(self, plugin: SignedDistance) -> None:
        self.plugin = plugin
        self._tape = Tape()
        self._outputs = _outputs(plugin, self._tape)
        self.program: Program = emit(self._tape, self._outputs, [], 3)
        if self.program.registers > MOST_REGISTERS:
            problem = (
                f"is too long: {self.program.registers} numbers at once, {MOST_REGISTERS} at most"
            )
            raise JointError(method_place(plugin, "distance"), f"{problem}; compute it in fewer")
        self.low, self.high = _bounds(plugin)
        # (n, 3) of its own at which it touches other fields [m], or None
        self.points = self._read_points()

    def __call__(self, points: Array) -> Array:
        """Return distance and gradient (n, 4) at points (n, 3) [m]."""
        return np.ascontiguousarray(evaluate(self._tape, points.T, self._outputs).T)

    @property
    def content(self) -> str:
        """A hash of the formula, its numbers and the bounds."""
        p = self.program
        text = repr(
            (p.code, p.constants, p.tables, p.outputs, self.low.tolist(), self.high.tolist())
        )
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def has_points(self) -> bool:
        """Whether it has points of its own at which it touches other fields."""
        return self.points is not None

    @property
    def thickness(self) -> float:
        """Smallest extent of the bounds [m]."""
        return float((self.high - self.low).min())

    @property
    def radius(self) -> float:
        """Radius of the ball about the origin that holds the bounds [m]."""
        return float(np.linalg.norm(np.maximum(abs(self.low), abs(self.high))))

    def onto_surface(self, points: Array) -> Array:
        """Return points (n, 3) near the surface, moved onto it [m]."""
        for _ in range(PROJECTIONS):
            d = self(points)
            square = (d[:, 1:] ** 2).sum(axis=1, keepdims=True)
            points = (
                points
                - np.where(square > 0, d[:, :1] / np.where(square > 0, square, 1), 0) * d[:, 1:]
            )
        return points

    def _read_points(self) -> Array | None:
        place = method_place(self.plugin, "points")
        given = call(self.plugin, "points")
        if given is None:
            return None
        points = np.asarray(given, float)
        if points.ndim != 2 or points.shape[1] != 3 or not 0 < len(points) <= MOST_POINTS:
            problem = f"must return points (n, 3) [m], {MOST_POINTS} at most, got the shape {points.shape}"
            raise JointError(place, problem)
        d = abs(self(points)[:, 0])
        if not (d < ON_SURFACE * self.thickness).all():
            k = int(np.argmax(np.where(np.isfinite(d), d, np.inf)))
            problem = f"returns {_text(points[k])}, {d[k]:.3g} [m] off the surface"
            raise JointError(place, f"{problem}; return points where distance is 0")
        return points

    def table(self) -> dict[str, Any]:
        """Return the scene's table: type and keys of the plugin."""
        name = next(name for name, own in SHAPES.registered.items() if own is type(self.plugin))
        keys = dataclasses.fields(self.plugin)  # type: ignore[arg-type]
        return {"type": name} | {key.name: getattr(self.plugin, key.name) for key in keys}

    def engine(self) -> _engine.Field:
        """Return the engine's record."""
        return _engine.Field(program=self.program)

    def check(self, *, moves: bool = False) -> None:
        """Reject what is no signed distance within the bounds.

        Args:
            moves: whether the solid must lie within the bounds, as one on a body does.

        Raises:
            JointError: a value is not finite, |∇d| exceeds 1.01, there is no surface, or the solid reaches out.
        """
        place = method_place(self.plugin, "distance")
        points = np.random.default_rng(7).uniform(self.low, self.high, (SAMPLES, 3))
        values = self(points)
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if bad.size:
            at, value = points[bad[0]], values[bad[0]]
            what = "distance" if not np.isfinite(value[0]) else "gradient"
            problem = (
                f"has the {what} {value[0] if what == 'distance' else value[1:]} at {_text(at)}"
            )
            raise JointError(place, f"{problem}; it must be finite within the bounds")
        slope = np.linalg.norm(values[:, 1:], axis=1)
        steepest = int(slope.argmax())
        if slope[steepest] > LARGEST_SLOPE:
            problem = f"changes by {slope[steepest]:.4g} m per metre at {_text(points[steepest])}"
            remedy = f"a distance changes by 1 at most: divide it by {slope[steepest]:.3g}"
            raise JointError(place, f"{problem}; {remedy}")
        inside = values[:, 0] < 0
        if inside.all() or not inside.any():
            sign = "negative" if inside.all() else "positive"
            problem = (
                f"is {sign} everywhere within the bounds, {_text(self.low)} to {_text(self.high)}"
            )
            remedy = "it is negative in the solid; change its sign, or the bounds"
            raise JointError(place, f"{problem}; {remedy}")
        if moves:
            self._check_faces(place)

    def _check_faces(self, place: str) -> None:
        points = np.random.default_rng(8).uniform(self.low, self.high, (SAMPLES, 3))
        face = np.arange(SAMPLES) % 6
        rows = np.arange(SAMPLES)
        points[rows, face % 3] = np.where(face < 3, self.low[face % 3], self.high[face % 3])
        d = self(points)[:, 0]
        if d.min() < 0:
            at = points[int(d.argmin())]
            problem = f"reaches out of its bounds at {_text(at)}, by {-d.min():.3g} [m]"
            remedy = (
                "on a body, the bounds hold the whole solid: enlarge them, or cut the solid off"
            )
            raise JointError(place, f"{problem}; {remedy}")


def _text(point: Array) -> str:
    return f"({', '.join(f'{x:.4g}' for x in point)})"


def _outputs(plugin: SignedDistance, tape: Tape) -> list[int]:
    """Return the nodes of the distance and of its gradient."""
    point = symbolic_array([Scalar(tape, tape.input(i)) for i in range(3)])
    place = method_place(plugin, "distance")
    given = recorded_call(tape, lambda: place, lambda: call(plugin, "distance", point))
    if isinstance(given, np.ndarray) and given.size == 1:
        given = given.reshape(-1)[0]
    if not isinstance(given, Scalar):
        kind = "None; end it with `return`" if given is None else f"{given!r}"
        raise JointError(place, f"must return a number that depends on p, got {kind}")
    if given.tape is not tape:
        raise JointError(place, "returns a number of an earlier call; compute it from p")
    one = tape.const(1)
    return [given.index, *(_Gradient(tape, {i: one}).of(given.index) for i in range(3))]


class _Gradient(Derivative):
    """Derivative that is 0 for a length √(x² + y² + …) that is 0, as that of max(q, 0) is inside a box."""

    def _rule(self, index: int) -> int:
        tape, node = self.tape, self.tape.nodes[index]
        d = [self._known[a] for a in node.args]
        if node.op not in ("sqrt", "hypot") or all(tape.is_value(x, 0) for x in d):
            return super()._rule(index)
        n = tape.node
        if node.op == "sqrt":
            change = n("mul", tape.const(0.5), d[0])
        else:
            change = n("add", n("mul", node.args[0], d[0]), n("mul", node.args[1], d[1]))
        return n("div", change, n("add", index, n("equal", index, tape.const(0))))


def _bounds(plugin: SignedDistance) -> tuple[Array, Array]:
    place = method_place(plugin, "bounds")
    given = call(plugin, "bounds")
    try:
        low, high = (np.array(corner, float) for corner in given)
        fits = low.shape == high.shape == (3,) and bool(np.all(low < high))
        fits = fits and bool(np.isfinite([low, high]).all())
    except (TypeError, ValueError):
        fits = False
    if not fits:
        problem = (
            f"must return two corners of three numbers [m], the lower one first, got {given!r}"
        )
        raise JointError(place, problem)
    return low, high
