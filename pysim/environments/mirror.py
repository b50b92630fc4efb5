"""Mirror images of samples [Mittal et al. 2024]: observations and actions with left and right exchanged.

A mechanism that is its own mirror image about a plane through the world's origin moves, mirrored, as its image does:

    v' = P v,  q' = home ⊕ P (q ⊖ home),  u' = Q u,  s' = S s

with matrices that have one entry ±1 in each row and column. They are found from the mechanism at the start of its
episodes, `home`:

    P   from the velocities of all centres of mass, where each body is exchanged with that at its mirror image
    Q   from what each number of the action's input changes in v within a control period
    S   of signals, from states drawn at random and their images

and are checked at these states: accelerations and rewards of images have to be those of what they are images of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.algorithms import forward_kinematics, jacobian
from pysim.simulation.worlds import Worlds
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.environments.observed import Observed
    from pysim.worlds.loading import Scene

    Fault = Callable[[str], Exception]

STATES = 16  # drawn at random
DISPLACED, MOVING = 0.05, 0.5  # their deviations from home [m, rad], and velocities [m/s, rad/s]
PUSH = 1e-3  # of a number of the action's input
ROUNDED = 0.2  # by which entries of P may differ from −1, 0 and 1: robots are built nearly alike
UNLIKE = 0.3  # relative difference of what a number of the action and its image change
IMAGE_DISTANCE = 0.05  # of the mechanism's size, from a body to the mirror image of another
IMAGE_TOLERANCE = 0.1  # relative difference of masses, and of changes of velocity in a control step
EQUAL = 0.02  # relative difference of signals and rewards


class SignedPlaces(NamedTuple):
    """Number k of an image is factor[k] times number place[k] of what it is the image of."""

    place: NDArray[np.intp]
    factor: Array

    def of(self, x: Array) -> Array:
        """Return the images of rows x (…, size)."""
        return np.asarray(x[..., self.place] * self.factor)


class Mirror(NamedTuple):
    """Images of an environment's observations, of what its critic sees, and of its actions."""

    observation: SignedPlaces
    critic: SignedPlaces
    action: SignedPlaces


class MirroredStates:
    """Random states of a mechanism, and their mirror images.

    Args:
        scene: the mechanism.
        keyframe: at which episodes start, which is its own image; the scene's start by default.
        axis: normal of the plane, 0, 1 or 2.
        action: the input that actions set, and its values at action 0.
        signs: of the numbers of other inputs in a mirror; 1 by default.
        steps: of a control period.
        fault: makes an error of a problem.
    """

    def __init__(
        self,
        scene: Scene,
        keyframe: str | None,
        axis: int,
        action: tuple[str, Array],
        signs: Mapping[str, Sequence[int]],
        steps: int,
        fault: Fault,
    ) -> None:
        self._fault, self._steps, self._axis = fault, steps, axis
        self._input, self._offset = action
        self._keyframe = keyframe
        self._scene = scene
        self._velocity = self._of_velocities()
        self.action = self._of_actions()
        self.worlds, self.actions = self._drawn(signs)

    def _worlds(self, n: int) -> Worlds:
        """Return worlds at the start, all with the same random numbers."""
        worlds = Worlds(self._scene, n, numbers=[0] * n)
        worlds.reset(keyframe=self._keyframe)
        worlds.inputs[self._input][:] = self._offset
        return worlds

    def _counterparts(self, centre: Array, mass: Array) -> NDArray[np.intp]:
        """Return the body at the mirror image of each."""
        image = centre.copy()
        image[:, self._axis] *= -1
        names = self._scene.model.body_names
        distance = np.linalg.norm(image[:, None] - centre, axis=2)
        unlike = np.abs(mass[:, None] - mass) > IMAGE_TOLERANCE * np.maximum(mass[:, None], mass)
        images = np.where(unlike, np.inf, distance).argmin(axis=1)
        size = np.ptp(centre, axis=0).max()
        for k, other in enumerate(images):
            nearest = int(distance[k].argmin())
            if unlike[k, other] or (size and distance[k, other] > IMAGE_DISTANCE * size):
                apart = f"{distance[k, nearest]:.3g} m from it and of {mass[nearest]:.3g} kg"
                raise self._fault(
                    f"body {names[k]!r} of {mass[k]:.3g} kg has no mirror image: the nearest body,"
                    f" {names[nearest]!r}, is {apart}"
                )
        return np.asarray(images)

    def _of_velocities(self) -> SignedPlaces:
        """Return what velocities become."""
        model, q = self._scene.model, self._worlds(1).q[0]
        pose = np.asarray(forward_kinematics(model, q))
        theta = model.parameters
        mass = theta[:, 0]
        arm = theta[:, 1:4] / np.where(mass > 0, mass, 1.0)[:, None]
        arm = np.einsum("bij,bj->bi", pose[:, :3, :3], arm)
        counterparts = self._counterparts(pose[:, :3, 3] + arm, mass)
        twists = np.stack(
            [np.asarray(jacobian(model, q, name, expressed="aligned")) for name in model.body_names]
        )
        twists[:, :3] += np.cross(twists[:, 3:], arm[:, :, None], axis=1)  # v of the centre of mass
        sign = np.ones(6)
        sign[self._axis] = -1.0
        sign[3:] = -sign[:3]
        sign[3 + self._axis] = 1.0
        image = (sign[:, None] * twists).reshape(-1, twists.shape[2])
        return self._rounded(
            np.linalg.lstsq(twists[counterparts].reshape(image.shape), image, rcond=None)[0],
            [f"velocity {name!r}" for name in model.velocity_names],
        )

    def _of_actions(self) -> SignedPlaces:
        """Return what numbers of the action's input become."""
        size = len(self._offset)
        worlds = self._worlds(size + 1)
        worlds.inputs[self._input][1:] += PUSH * np.eye(size)
        worlds.step(steps=self._steps)
        change = worlds.v[1:] - worlds.v[0]
        image = self._velocity.of(change)
        place, sign = np.zeros(size, np.intp), np.zeros(size)
        for k in range(size):
            apart = np.linalg.norm(image[k] - np.stack([change, -change]), axis=2)
            mirrored, place[k] = np.unravel_index(apart.argmin(), apart.shape)
            sign[k] = -1.0 if mirrored else 1.0
            if not apart[int(mirrored), place[k]] < UNLIKE * np.linalg.norm(image[k]):
                raise self._fault(
                    f"the effect of number {k} of the input {self._input!r}, mirrored, is that of no number"
                )
        found = SignedPlaces(place, sign)
        if len(set(place.tolist())) < size:
            raise self._fault(
                f"two numbers of the input {self._input!r} have the same mirror image"
            )
        if np.abs(found.of(self._offset) - self._offset).max() > EQUAL:
            raise self._fault("environment.action.offset is not its own mirror image")
        return found

    def _rounded(self, matrix: NDArray[np.floating[Any]], names: Sequence[str]) -> SignedPlaces:
        """Return places and signs of a matrix that has nearly one entry ±1 in each row and column."""
        place = np.abs(matrix).argmax(axis=1)
        sign = np.sign(np.take_along_axis(matrix, place[:, None], axis=1)[:, 0])
        exact = np.zeros_like(matrix)
        exact[np.arange(len(place)), place] = sign
        wrong = np.flatnonzero(np.abs(matrix - exact).max(axis=1) > ROUNDED)
        if len(wrong) or len(set(place.tolist())) < len(place):
            name = names[int(wrong[0])] if len(wrong) else names[0]
            raise self._fault(f"{name} is no other one with a sign in the mirror")
        return SignedPlaces(place, sign)

    def _drawn(self, signs: Mapping[str, Sequence[int]]) -> tuple[Worlds, Array]:
        """Return worlds at states, followed by their images, and their actions."""
        worlds, rng = self._worlds(2 * STATES), np.random.default_rng(0)
        model, home = self._scene.model, worlds.q[0].copy()
        original, image = slice(STATES), slice(STATES, None)
        dq = DISPLACED * rng.standard_normal((STATES, worlds.v.shape[1]))
        worlds.q[original] = model.integrate(np.tile(home, (STATES, 1)), dq)
        worlds.q[image] = model.integrate(np.tile(home, (STATES, 1)), self._velocity.of(dq))
        worlds.v[original] = MOVING * rng.standard_normal(dq.shape)
        worlds.v[image] = self._velocity.of(worlds.v[original])
        actions = rng.standard_normal((2 * STATES, len(self._offset)))
        actions[image] = self.action.of(actions[original])
        for name, values in worlds.inputs.items():
            if name == self._input:
                continue
            values[original] += rng.standard_normal(values[original].shape)
            values[image] = values[original] * np.asarray(signs.get(name, 1.0))
        worlds.signals.end_call()
        return worlds, actions

    def check_accelerations(self, scale: Array) -> None:
        """Require that a control step changes velocities of images as those of what they are images of."""
        worlds = self.worlds
        before = worlds.v.copy()
        worlds.inputs[self._input][:] = self._offset + PUSH * scale * self.actions
        worlds.step(steps=1)
        change = worlds.v - before
        wrong = np.abs(change[STATES:] - self._velocity.of(change[:STATES])).max(axis=0)
        size = np.abs(change).max()
        worst = int(wrong.argmax())
        if wrong[worst] > IMAGE_TOLERANCE * size:
            name = self._scene.model.velocity_names[worst]
            raise self._fault(
                f"the mechanism's mirror image accelerates otherwise, most in {name!r}, by"
                f" {wrong[worst] / size:.0%} of the largest change of a velocity"
            )

    def of_signal(self, rows: Array, columns: NDArray[np.intp], name: str) -> SignedPlaces:
        """Return the image of a signal, whose numbers are columns of rows (2 states, …) at states and images."""
        x, y = rows[:STATES, columns], rows[STATES:, columns]
        size = max(float(np.abs(rows[:, columns]).max()), 1e-12)
        place, factor = np.zeros(len(columns), np.intp), np.zeros(len(columns))
        left = set(range(len(columns)))
        for k in range(len(columns)):
            found = [
                (float(np.abs(y[:, k] - sign * x[:, j]).max()), j != k, j, sign)
                for j in left
                for sign in (1.0, -1.0)
            ]
            wrong, _, place[k], factor[k] = min(found)
            if wrong > EQUAL * size:
                raise self._fault(f"{name}: number {k} of it is no other one with a sign there")
            left.remove(int(place[k]))
        return SignedPlaces(place, factor)

    def check_reward(self, values: Array, name: str) -> None:
        """Require that a reward (2 states,) is that of the images."""
        x, y = values[:STATES], values[STATES:]
        worst = int(np.abs(x - y).argmax())
        if abs(x[worst] - y[worst]) > EQUAL * np.abs(values).max():
            problem = f"is {x[worst]:.3g} at a state and {y[worst]:.3g} at its mirror image"
            raise self._fault(f"reward {name!r} {problem}; give signs of the inputs it depends on")


def joined(
    parts: Sequence[SignedPlaces], scales: Array | None = None, frames: int = 1
) -> SignedPlaces:
    """Return the mirror image of parts side by side, scaled, and repeated for a number of frames."""
    sizes = np.cumsum([0, *(len(part.place) for part in parts)])
    place = np.concatenate(
        [np.zeros(0, np.intp), *(p.place + at for p, at in zip(parts, sizes[:-1], strict=True))]
    ).astype(np.intp)
    factor = np.concatenate([np.zeros(0), *(part.factor for part in parts)])
    if scales is not None:
        factor = factor * scales / scales[place]
    places = (place + sizes[-1] * np.arange(frames)[:, None]).ravel()
    return SignedPlaces(places, np.tile(factor, frames))


def mirrored_rows(states: MirroredStates, observed: Observed) -> Array:
    """Return the numbers that `observed` reads at states and at their images."""
    return observed.of(states.worlds).rows(states.actions, states.actions)
