"""Motion of named frames: placement, Jacobian and its rate, velocity, acceleration.

A twist or a Jacobian is expressed

    "local"    in the frame's own axes, about its origin
    "world"    in the world's axes, about the world's origin
    "aligned"  in the world's axes, about the frame's origin

linear part first. Featherstone 2008, ch. 2 and 4; Siciliano et al. 2009, ch. 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pysim import _engine
from pysim.errors import UnknownModelNameError, did_you_mean
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

__all__ = [
    "frame_acceleration",
    "frame_placement",
    "frame_velocity",
    "influence_coefficients",
    "jacobian",
    "jacobian_time_derivative",
    "second_influence_coefficients",
]

Expressed: TypeAlias = Literal["local", "world", "aligned"]


def frame_placement(
    model: Model, q: ArrayLike, frame: str, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return the pose of a named frame in the world (…, 4, 4) [m].

    Raises:
        ModelError: the model has no such frame.

    >>> pysim.frame_placement(model, [0.0, 0.0], "tip")[:3, 3].round(6).tolist()  # [m]
    [0.0, 0.04, 0.2]
    """
    return _engine.frame_placement(
        model, q, *body_and_point(model, frame), threads=threads, out=out
    )


def jacobian(
    model: Model,
    q: ArrayLike,
    frame: str,
    expressed: Expressed = "local",
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return J (…, 6, nv) with V = J v, the twist of a named frame [m or 1, rad or 1 a unit of v].

    Columns of coordinates that do not move the frame are exact zeros. Where joints follow others (mimic), a column
    holds what its coordinate moves in all.

    Args:
        model: the mechanism.
        q: configuration (…, nq).
        frame: a body or a frame of the model.
        expressed: "local", "world" or "aligned".
        threads: threads that share a batch; 0 uses every processor.
        out: an array for the result.

    Raises:
        ModelError: the model has no such frame.

    >>> J = pysim.jacobian(model, q, "tip", expressed="aligned")
    >>> bool(np.allclose(J @ [1.0, 0.5], pysim.frame_velocity(model, q, [1.0, 0.5], "tip", "aligned")))
    True
    """
    return _engine.jacobian(
        model, q, *body_and_point(model, frame), axes(expressed), threads=threads, out=out
    )


def jacobian_time_derivative(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    expressed: Expressed = "local",
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return dJ/dt (…, 6, nv), the rate of the numbers `jacobian` gives while q moves with velocity v [each a second].

    Raises:
        ModelError: the model has no such frame.
    """
    where = body_and_point(model, frame)
    return _engine.jacobian_time_derivative(
        model, q, v, *where, axes(expressed), threads=threads, out=out
    )


def frame_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    expressed: Expressed = "local",
    *,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return the twist [v; ω] (…, 6) of a named frame [m/s, rad/s].

    Raises:
        ModelError: the model has no such frame.

    >>> pysim.frame_velocity(model, q, [1.0, 0.0], "tip", "aligned").shape
    (6,)
    """
    return _engine.frame_velocity(
        model, q, v, *body_and_point(model, frame), axes(expressed), threads=threads, out=out
    )


def frame_acceleration(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    expressed: Expressed = "local",
    *,
    classical: bool = False,
    threads: int = 1,
    out: Array | None = None,
) -> Array:
    """Return the acceleration (…, 6) of a named frame [m/s², rad/s²], gravity not included.

    The spatial one is the rate of the twist's numbers in the frame's axes, moved to where it is expressed as a twist
    is. The classical one has the acceleration of a point as its linear part, v̇ + ω × v: of the frame's origin, or,
    expressed "world", of the body's point at the world's origin. Featherstone 2008, section 2.11.

    Raises:
        ModelError: the model has no such frame.
    """
    where = body_and_point(model, frame)
    return _engine.frame_acceleration(
        model, q, v, a, *where, axes(expressed), classical, threads=threads, out=out
    )


def influence_coefficients(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return the unit twist of every joint coordinate in the world (…, 6, n), about its origin [m, 1; 1].

    A hinge about k has [p × k; k], a slide along k [k; 0]. Unlike a Jacobian's, a column is one joint's alone: joints
    that follow others have columns of their own, so that n is the sum of all joints' nv (`model.tree_nv`); without
    followers it is nv.
    """
    return _engine.influence_coefficients(model, q, threads=threads, out=out)


def second_influence_coefficients(
    model: Model, q: ArrayLike, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return how the unit twists turn with the coordinates (…, 6, n, n): H[:, i, k] = ∂h_i/∂q_k [h's, a unit of q].

    h are the columns of `influence_coefficients`, q_k is along q ⊕ dq. H_ik = h_k × h_i where joint k is that of i or
    above it, else an exact zero; a joint whose motion subspace depends on q adds its own. A body's acceleration is
    Σ h_i v̇_i + Σ H_ik v_i v_k over the joints that carry it. Thomas and Tesar 1982, “Dynamic modeling of serial
    manipulator arms”.

    Raises:
        ValueError: as of every algorithm; a callback joint, named.
    """
    return _engine.second_influence_coefficients(model, q, threads=threads, out=out)


def axes(expressed: object) -> str:
    """Return the axes in which a twist is expressed; the engine rejects words that it does not know.

    Raises:
        TypeError: it is not text.
    """
    if not isinstance(expressed, str):
        raise TypeError(f"expressed must be 'local', 'world' or 'aligned', got {expressed!r}")
    return expressed


def body_and_point(model: Model, frame: str) -> tuple[int, list[float]]:
    """Return the body that carries a named frame, and its pose there: rotation column-major, position.

    Raises:
        ModelError: the model has no such frame.
        TypeError: the model is none, or the frame no name.
    """
    _engine.check_model(model)
    if not isinstance(frame, str):
        raise TypeError(f"frame must be the name of a body or a frame, got {frame!r}")
    if frame not in model.frames:
        problem = f"no such frame{did_you_mean(frame, model.frame_names)}"
        raise UnknownModelNameError(f"frame {frame!r}", problem)
    body, pose = model.frames[frame]
    return body, pose[:3, :].T.ravel().tolist()
