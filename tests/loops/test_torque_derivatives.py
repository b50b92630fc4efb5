"""Derivatives of the motors' torque on closed mechanisms, by the active coordinates and by where the joints lie.

Oracle: sixth-order differences of the torque of the mechanism closed again beside the state, or built again with a
joint's axes moved and closed again; for Kwon's five-bar the closed forms E3.8 to E3.10.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from pysim.joints import relation
from pysim.joints.relation import relation_derivatives
from pysim.loops import actuation_map, assemble, constraints
from pysim.mechanism.compile import start_state
from pysim.scene.spec import CouplingSpec, LoopSpec
from pysim.spatial import exp
from pysim.worlds.loading import compile_model
from tests.algorithms.test_design_derivatives import displaced, placed
from tests.joints.chains import plugin_chain
from tests.loops.mechanisms import closed, four_bar
from tests.loops.test_actuation import spherical_five_bar
from tests.oracles.differences import along
from tests.oracles.mechanisms import random_pose, random_tree

SCENES = Path(__file__).parents[2] / "scenes"


def twisted(spec, name, e):
    """The mechanism with the axes of a joint moved by e; bodies behind the joint, and their loops, are moved back."""
    child = next(j.child for j in spec.joints if j.name == name)
    back = exp(-e)
    loops = tuple(
        replace(
            loop,
            at_a=back @ loop.at_a if loop.a == child else loop.at_a,
            at_b=back @ loop.at_b if loop.b == child else loop.at_b,
        )
        for loop in spec.loops
    )
    return replace(displaced(placed(spec, name, exp(e)), name, back), loops=loops)


def closed_at(model, q, active):
    """Passive coordinates moved until the rows vanish, by Newton's steps."""
    passive = np.setdiff1d(np.arange(model.nv), active)
    for _ in range(8):
        at = constraints(model, q)
        step = np.zeros(model.nv)
        step[passive] = -np.linalg.pinv(at.jacobian[:, passive], 1e-9) @ at.residual
        q = model.integrate(q, step)
    assert np.abs(constraints(model, q).residual).max() < 1e-12
    return q


def slopes(function, n):
    """Sixth-order differences with a quarter of the usual step: passive coordinates may run fast."""
    return 4 * along(lambda x: function(x / 4), n)


class Driven:
    """A mechanism, its active coordinates and how they move."""

    def __init__(self, spec, q, active, rng):
        self.spec, self.active = spec, active
        self.model = compile_model(spec)
        self.at = [self.model.velocity_names.index(name) for name in active]
        self.q = closed_at(self.model, q, self.at)
        self.v, self.a = rng.normal(size=(2, len(active)))

    def at_rates(self, model, q, v, a):
        """τ̂, E and how far q is from this state, of a mechanism closed from q on, in a row."""
        closed_q = closed_at(model, q, self.at)
        found = actuation_map(model, closed_q, self.active)
        torque = found.equivalent_torque(found.velocity(v), found.acceleration(v, a))
        return np.concatenate([torque, found.E.ravel(), model.difference(self.q, closed_q)])

    def derivatives(self):
        return actuation_map(self.model, self.q, self.active).torque_derivatives(self.v, self.a)

    def by_rates(self, at_v, at_a):
        """Columns of τ̂ alone, by the rates of the active coordinates."""

        def torque(x):
            return self.at_rates(self.model, self.q, self.v + at_v * x, self.a + at_a * x)[:n]

        n = len(self.active)
        return slopes(torque, n)

    def by_q(self):
        def numbers(x):
            step = np.zeros(self.model.nv)
            step[self.at] = x
            return self.at_rates(self.model, self.model.integrate(self.q, step), self.v, self.a)

        return self.split(slopes(numbers, len(self.active)))

    def by_eta(self, directions):
        """Columns along directions (6·nbodies, …) of all twists."""

        def numbers(x):
            spec = self.spec
            for name, e in zip(
                self.model.joint_names, (directions @ x).reshape(-1, 6), strict=True
            ):
                spec = twisted(spec, name, e)
            return self.at_rates(compile_model(spec), self.q, self.v, self.a)

        return self.split(slopes(numbers, directions.shape[1]))

    def split(self, columns):
        """Of τ̂, of E and of q."""
        n, nv = len(self.active), self.model.nv
        torque, E, q = np.split(columns, [n, n + n * nv])
        return torque, E.reshape(nv, n, -1), q


def five_bar(rng):
    spec = spherical_five_bar(rng)
    model = compile_model(spec)
    return spec, assemble(model, rng.uniform(-0.5, 0.5, model.nq)).q, ("joint0", "joint3")


def planar(rng):
    spec = four_bar((1.0, 0.6, 1.1, 0.9))
    return spec, np.concatenate([j.start_q for j in spec.joints]), ("crank",)


def twice(rng):
    """The five-bar, its last joint said twice."""
    spec, q, active = five_bar(rng)
    return replace(spec, loops=(*spec.loops, replace(spec.loops[0], name="again"))), q, active


def scene(name, *active):
    def make(_rng):
        model = pysim.load_model(SCENES / f"{name}.toml")
        return model.spec, start_state(model).q, active

    return make


def plugins_tied_to_the_world(
    rng, kinds=("revolute", "screw_slot", "test_ellipsoid", "test_swing")
):
    """A chain of plugins that ends in a ball on the world."""
    model = plugin_chain(rng, ("revolute", "screw_slot", "test_ellipsoid", "test_swing"))
    q, end = model.random_configuration(rng), random_pose(rng)
    at_a = pysim.forward_kinematics(model, q)[-1] @ end
    loop = LoopSpec("loop", "ball", "world", model.body_names[-1], at_a, end)
    spec = replace(model.spec, loops=(loop,))
    return spec, q, leaders(compile_model(spec), q)


def tied(loop_type, kinds, *, mimic=False, **changes):
    """A chain whose last body is tied to its second."""

    def make(rng):
        tree = random_tree(rng, kinds, chain=True, mimic=mimic)
        spec, q = closed(tree, rng, loop_type, **changes)
        return spec, q, leaders(compile_model(spec), q)

    return make


def coupled(coupling):
    def make(rng):
        spec = replace(random_tree(rng, SEVEN, chain=True), couplings=(coupling,))
        model = compile_model(spec)
        return spec, rng.uniform(-1, 1, model.nq), leaders(model, rng.uniform(-1, 1, model.nq))

    return make


def leaders(model, q):
    """Coordinates from which the others follow, away from where they lock."""
    J, names = constraints(model, q).jacobian, model.velocity_names
    passive = []
    for _ in range(np.linalg.matrix_rank(J, 1e-9)):  # the best conditioned next column
        size = [
            0 if k in passive else np.linalg.svd(J[:, [*passive, k]])[1].min()
            for k in range(model.nv)
        ]
        passive.append(int(np.argmax(size)))
    return tuple(name for k, name in enumerate(names) if k not in passive)


SEVEN = ("revolute", "prismatic", "universal", "revolute", "cylindrical", "revolute", "revolute")
BALLS = ("revolute", "ball", "helical", "ball", "prismatic", "revolute")
TURNED = {"axis": (0.6, 0.0, 0.8)}
MECHANISMS = {
    "five-bar": five_bar,
    "four-bar": planar,
    "five-bar said twice": twice,
    "slider-crank": scene("slider_crank", "crank"),
    "stewart platform": scene("stewart_platform", *(f"slide{k}" for k in range(1, 7))),
    "gear": coupled(CouplingSpec("gear", {"joint0": 1.0, "joint3": 2.5, "joint1": -0.5}, 0.4)),
    "cam": coupled(CouplingSpec("cam", {"joint5": 1.0}, 0.0, "test_valve", ("joint0", "joint3"))),
    "weld": tied("weld", SEVEN),
    "revolute": tied("revolute", SEVEN, **TURNED),
    "prismatic": tied("prismatic", SEVEN, **TURNED),
    "ball": tied("ball", SEVEN),
    "universal": tied("universal", SEVEN),
    "cylindrical": tied("cylindrical", SEVEN, **TURNED),
    "planar": tied("planar", SEVEN),
    "helical": tied("helical", SEVEN, parameters={"pitch": 0.2}, **TURNED),
    "point_on_plane": tied("point_on_plane", SEVEN, **TURNED),
    "point_on_line": tied("point_on_line", SEVEN, **TURNED),
    "distance": tied("distance", SEVEN, length=2.0),
    "plugin": tied("test_ellipsoid", SEVEN),
    "lowered plugin": tied("screw_slot", SEVEN, parameters={"lift": 0.3}),
    "balls in the chain": tied("revolute", BALLS),
    "follower in the chain": tied("revolute", SEVEN, mimic=True),
    "plugins in the chain": plugins_tied_to_the_world,
}


@relation("test_valve")
def valve(x, y):
    return 0.3 * np.sin(x) * np.exp(0.4 * y) + 0.2 * x * y**2


def close(actual, expected, share=1e-9):
    atol = share * max(1e-3, np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_torque_follows_the_active_coordinates_and_their_rates(name, rng):
    x = Driven(*MECHANISMS[name](rng), rng)
    found = x.derivatives()
    torque, E, _ = x.by_q()
    close(found.torque, x.at_rates(x.model, x.q, x.v, x.a)[: len(x.active)])
    close(found.q, torque)
    close(found.E_q, E)
    close(found.v, x.by_rates(1, 0))
    close(found.a, x.by_rates(0, 1))


# components of twists that leave hinges through one point, or parallel, as they are, and others
KEPT = {"five-bar": [3, 4, 5], "five-bar said twice": [3, 4, 5], "four-bar": [0, 1, 2, 5]}
LOCKING = {"five-bar": [0, 1], "four-bar": [3, 4]}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_torque_follows_the_twists_of_joints(name, rng):
    x = Driven(*MECHANISMS[name](rng), rng)
    found = x.derivatives()
    directions = np.zeros((x.model.nbodies, 6, 2))
    kept = KEPT.get(name, list(range(6)))
    directions[:, kept] = rng.normal(size=(x.model.nbodies, len(kept), 2))
    directions = directions.reshape(-1, 2) / np.linalg.norm(directions, axis=(0, 1))
    moves = np.any(directions != 0, axis=1)
    slopes_found = (found.eta, found.E_eta, found.q_eta)
    for mine, right in zip(slopes_found, x.by_eta(directions), strict=True):
        close(mine[..., moves] @ directions[moves], right)


@pytest.mark.parametrize("name", LOCKING)
def test_twists_that_would_lock_the_mechanism_have_no_derivative(name, rng):
    x = Driven(*MECHANISMS[name](rng), rng)
    found = x.derivatives().eta.reshape(len(x.active), -1, 6)
    assert np.isnan(found[..., LOCKING[name]]).all()
    assert np.isfinite(found[..., KEPT[name]]).all()


def test_rates_that_do_not_fit_the_active_coordinates_are_rejected(rng):
    spec, q, active = planar(rng)
    found = actuation_map(compile_model(spec), q, active)
    with pytest.raises(PysimError, match=r"v_a: must have shape \(1,\), got \(2,\)"):
        found.torque_derivatives([0.1, 0.2], [0.3])
    with pytest.raises(PysimError, match=r"a_a: must be finite, got nan"):
        found.torque_derivatives([0.1], [np.nan])


def test_a_function_of_coordinates_has_its_first_three_derivatives():
    x, y = 0.7, -0.4
    first, second, third = relation_derivatives(valve, [x, y])
    s, c, e = 0.3 * np.sin(x), 0.3 * np.cos(x), np.exp(0.4 * y)
    of_x, of_y = -s * e, 0.16 * s * e + 0.4 * x
    both = 0.4 * c * e + 0.4 * y
    xxy, xyy = -0.4 * s * e, 0.16 * c * e + 0.4
    np.testing.assert_allclose(first, [c * e + 0.2 * y**2, 0.4 * s * e + 0.4 * x * y], atol=1e-15)
    np.testing.assert_allclose(second, [[of_x, both], [both, of_y]], atol=1e-15)
    np.testing.assert_allclose(
        third,
        [[[-c * e, xxy], [xxy, xyy]], [[xxy, xyy], [xyy, 0.064 * s * e]]],
        atol=1e-15,
    )


def test_a_tree_all_of_whose_coordinates_are_active_has_the_derivatives_of_inverse_dynamics(rng):
    model = compile_model(random_tree(rng, SEVEN))
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    found = actuation_map(model, q, model.velocity_names).torque_derivatives(v, a)
    expected = pysim.rnea_derivatives(model, q, v, a)
    for mine, right in zip((found.q, found.v, found.a), expected, strict=True):
        close(mine, right, 1e-12)
    close(found.eta, pysim.twist_derivatives(model, q, v, a), 1e-12)
