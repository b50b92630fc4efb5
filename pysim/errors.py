"""Exceptions and warnings of pysim.

Their text is `where: problem, with the value and unit; remedy`, one line, lower case, without a full stop.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class PysimError(ValueError):
    """Base class of errors that a user can fix: `where` names the place, `problem` the fault and its remedy."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by place and problem, so that a worker process can pass the error and its notes to another."""
        return type(self), (self.where, self.problem), self.__dict__


class SceneError(PysimError):
    """A scene, robot or mesh file cannot be read, or describes something that cannot be built."""


class ModelError(PysimError):
    """A mechanism, or an argument that refers to one, is invalid."""


class JointError(PysimError):
    """A joint type is unknown or invalid."""


class SimulationError(PysimError):
    """A run stopped before its end."""


class TrajectoryError(PysimError):
    """A trajectory file cannot be read or written."""


class IdentificationError(PysimError):
    """A recording does not determine the requested parameters."""


class UnknownNameError(PysimError, KeyError):
    """A name that does not exist: of a frame, a signal, an attribute, …; also a `KeyError`."""

    __str__ = PysimError.__str__  # a KeyError quotes its text


class UnknownModelNameError(UnknownNameError, ModelError):
    """A name that a mechanism does not have."""


class UnknownSimulationNameError(UnknownNameError, SimulationError):
    """A name that a scene, its worlds or its runs do not have."""


class UnknownTrajectoryNameError(UnknownNameError, TrajectoryError):
    """A name that a trajectory does not have."""


class UnknownAttributeError(UnknownNameError, AttributeError):
    """An attribute that a module or an object does not have."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem)
        self.name = ""  # Python appends no suggestion of its own


Value = TypeVar("Value")


class Named(dict[str, Value]):
    """Values by name; the error for a name that it lacks suggests one that it has."""

    def __init__(self, what: str, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self._what = what

    def __missing__(self, name: str) -> Value:
        hint = did_you_mean(str(name), self) or "; it is empty"
        raise UnknownNameError(self._what, f"has no {name!r}{hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._what, dict(self))


class PysimWarning(UserWarning):
    """A suspicious but accepted input; the text has the form of an error."""


OTHER_PROGRAMS = {  # words of MuJoCo, URDF, SDF, Simscape and textbooks, and pysim's
    "revolute": "hinge continuous pin rotary rotational revolute_joint",
    "prismatic": "slide slider linear translational sliding prismatic_joint",
    "ball": "spherical ball_joint spherical_joint",
    "free": "floating freejoint free_flyer freeflyer free_joint 6dof bushing root",
    "fixed": "weld welded rigid fixed_joint",
    "universal": "cardan hooke gimbal universal_joint",
    "helical": "screw lead_screw",
    "translation": "cartesian rectangular",
    "world": "ground worldbody universe earth map odom origin base_fixed",
    "implicit_midpoint": "implicit midpoint",
    "semi_implicit": "euler symplectic_euler semi_implicit_euler",
    "generalized_alpha": "implicitfast hht newmark generalised_alpha backward_euler",
    "dopri5": "ode45 rk45 runge_kutta",
    "offset": "torque force effort constant",
    "xyz": "pos position translation",
    "rpy": "euler rotation orientation",
    "step": "timestep dt time_step",
    "duration": "time t_end stop_time",
    "stiffness": "k spring",
    "com": "center_of_mass cog",
    "at": "origin pose frame",
    "start": "initial q0 position",
    "limits": "range limit",
    "friction": "mu friction_coefficient coefficient_of_friction",
    "restitution": "bounce coefficient_of_restitution",
    "box": "cube cuboid block",
    "sphere": "ball",
    "cylinder": "disc disk",
    "density": "rho",
    "kp": "proportional p_gain k_p",
    "ki": "integral i_gain k_i",
    "kd": "derivative d_gain k_d",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known word, or else the list of known words."""
    names = sorted(known) if isinstance(known, (set, frozenset)) else list(dict.fromkeys(known))
    other = word.lower().replace(" ", "_").replace("-", "_")
    same = [name for name in names if other in OTHER_PROGRAMS.get(name, "").split()]
    close = same[0] if same else closest(word, names)
    if close is not None:
        return f"; did you mean {close!r}?"
    if not names:
        return ""
    return "; known: " + ", ".join(names[:20]) + (", …" if len(names) > 20 else "")


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the most similar known word, None if none reaches this similarity ratio."""
    names = list(known)
    same = [name for name in names if name.lower() == word.lower()]
    return next(iter(same or difflib.get_close_matches(word, names, 1, likeness)), None)


def without_package(error: ModuleNotFoundError, package: str, extra: str) -> ModuleNotFoundError:
    """Return the error of `pysim.EXTRA` without its package; another one that is missing keeps its own message."""
    if error.name != package:
        return error
    remedy = f'is needed by pysim.{extra}; run `pip install "pysim-multibody[{extra}]"`'
    return ModuleNotFoundError(f"{package}: {remedy}", name=package)
