"""Closed loops and implicit steps beside Exudyn's, and a batch of loops beside single runs of them.

Exudyn's bodies have six coordinates each and its joints are constraints; the peer for a four-bar is its Lie-group
node of rotation vectors with generalised α, for a chain its KinematicTree of minimal coordinates with RK44. Both
programs are held to the same motion before they are timed.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim.inertia import Inertia, theta_to_packed
from pysim.scene import read_scene
from pysim.worlds.loading import compile_scene
from tests.benchmarks.chains import chain_urdf
from tests.benchmarks.peers import no_forces
from tests.benchmarks.report import print_line, row
from tests.benchmarks.timing import take_turns
from tests.engine_steps import make_steps
from tests.oracles.model_variations import Variation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.worlds.loading import Scene

SCENES = Path(__file__).parents[2] / "scenes"
STEP = 1e-3  # [s]
STEPS = 1000
CHAIN_STEPS = 200  # a chain of ten is chaotic
ROUNDS = 9
THREADS = os.cpu_count() or 1


def loop_rows() -> None:
    """Print every comparison; those with a peer only where Exudyn is installed."""
    if find_spec("exudyn"):
        _four_bar_row()
        _chain_row("chain10", planar=False)
        _chain_row("chain10 in a plane", planar=True)
        _chain_row("chain10", planar=False, states=1024)
    else:
        print_line("Exudyn is not installed; no peer.")
    for scheme, step in (("rk4", 1e-5), ("generalized_alpha", 1e-5)):
        _batch_rows(scheme, step)
        _worlds_rows(scheme, step)


def _four_bar_row() -> None:
    """Generalised α of spectral radius 0.9 at 1 ms, µs a step."""
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    state = scene.state

    def mine() -> Any:
        return make_steps(
            scene.model, state.q, state.v, 0.0, STEP, STEPS, "generalized_alpha",
            scene.actuation, loop_q=state.loop_q.copy(), spectral_radius=0.9,
        )  # fmt: skip

    system, crank = _exudyn_four_bar(scene)
    settings = _settings()

    def theirs() -> Any:
        import exudyn

        system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.GeneralizedAlpha)
        return system.GetObjectOutputBody(crank, exudyn.OutputVariableType.RotationMatrix)

    tip = np.reshape(theirs(), (3, 3))[:, 0]
    angle = mine()[0][0]
    np.testing.assert_allclose(tip, [np.cos(angle), 0, np.sin(angle)], rtol=0, atol=0.02)
    times = take_turns({"mine": mine, "peer": theirs}, rounds=ROUNDS)
    how = "Exudyn, RotationRotationVector, GeneralizedAlpha"
    row(
        "four-bar",
        "generalized_alpha",
        1e6 * times["mine"] / STEPS,
        1e6 * times["peer"] / STEPS,
        how,
    )


def _chain_row(name: str, *, planar: bool, states: int = 1) -> None:
    """Ten revolute joints by explicit Runge-Kutta of order 4, µs a step and state; the peer has no batches."""
    model = _free_chain(10, planar=planar)
    v = np.linspace(-1, 1, model.nv)
    q0, v0 = np.tile(model.neutral(), (states, 1)), np.tile(v, (states, 1))
    forces = no_forces(model)

    def mine() -> Any:
        return make_steps(model, q0, v0, 0.0, STEP, CHAIN_STEPS, "rk4", forces)

    system, tree = _exudyn_chain(model, v)
    settings = _settings(CHAIN_STEPS)

    def theirs() -> Any:
        import exudyn

        system.SolveDynamic(settings, solverType=exudyn.DynamicSolverType.RK44)
        return system.GetNodeOutput(tree, exudyn.OutputVariableType.Coordinates)

    end = np.broadcast_to(theirs(), q0.shape)
    np.testing.assert_allclose(mine()[0], end, rtol=0, atol=1e-9)
    times = take_turns({"mine": mine, "peer": theirs}, rounds=ROUNDS)
    row(
        name,
        "rk4" if states == 1 else f"rk4, {states}",
        1e6 * times["mine"] / (CHAIN_STEPS * states),
        1e6 * times["peer"] / CHAIN_STEPS,
        "Exudyn, KinematicTree, RK44",
    )


def _free_chain(n: int, *, planar: bool) -> pysim.Model:
    """The chain of chains.py without its limits, which Exudyn's KinematicTree does not have."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.urdf"
        path.write_text(chain_urdf(n, planar=planar).replace("revolute", "continuous"), "utf-8")
        return pysim.load_model(path)


def _batch_rows(scheme: str, step: float) -> None:
    """1024 states of Andrews' mechanism in one call against a call each, µs a step of a world.

    The mechanism's motor torque is given as controls, one a world.
    """
    scene, worlds, steps = pysim.load_scene(SCENES / "andrews.toml"), 1024, 200
    model, state = scene.model, scene.state
    torque = np.outer(np.linspace(0.5, 1.5, worlds), scene.actuation.offset)
    controls = np.repeat(torque[:, None], steps, axis=1)

    def together(threads: int) -> Any:
        return pysim.rollout(model, state.q, state.v, controls, step, scheme, threads=threads)

    def one_by_one() -> Any:
        return [pysim.rollout(model, state.q, state.v, own, step, scheme) for own in controls]

    _compare("andrews", scheme, together, one_by_one, worlds * steps)


def _worlds_rows(scheme: str, step: float) -> None:
    """1024 of Andrews' mechanisms, as above, each with different masses, lengths and spring, under one torque."""
    rng, worlds, steps = np.random.default_rng(0), 1024, 200
    spec = read_scene(SCENES / "andrews.toml")
    specs = [replace(spec, model=Variation(rng).model(spec.model)) for _ in range(worlds)]
    scenes = [compile_scene(each) for each in specs]
    models, q0 = [scene.model for scene in scenes], np.array([scene.state.q for scene in scenes])
    controls = np.tile(scenes[0].actuation.offset, (worlds, steps, 1))

    def together(threads: int) -> Any:
        return pysim.rollout(models, q0, 0 * q0, controls, step, scheme, threads=threads)

    def one_by_one() -> Any:
        return [
            pysim.rollout(model, q, 0 * q, own, step, scheme)
            for model, q, own in zip(models, q0, controls, strict=True)
        ]

    _compare("andrews, a model each", scheme, together, one_by_one, worlds * steps)


def _compare(
    name: str,
    scheme: str,
    together: Callable[[int], Any],
    one_by_one: Callable[[], Any],
    steps: int,
) -> None:
    """Print a batch, on one thread and on all, beside the same worlds one by one, with bit-identical results.

    `steps` are those of all worlds.
    """
    expected = [q for q, _ in one_by_one()]
    for threads in sorted({1, THREADS}):
        np.testing.assert_array_equal(together(threads)[0], expected)
        clock = time.process_time if threads == 1 else time.perf_counter
        candidates: dict[str, Callable[[], Any]] = {
            "mine": partial(together, threads),
            "peer": one_by_one,
        }
        times = take_turns(candidates, rounds=5, clock=clock)
        mine, peer = (1e6 * times[who] / steps for who in ("mine", "peer"))
        where = name if threads == 1 else f"{name}, {threads} threads"
        row(where, f"{scheme}, 1024", mine, peer, "pysim, one by one")


def _settings(steps: int = STEPS) -> Any:
    import exudyn

    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = steps * STEP
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.explicit.computeEndOfStepAccelerations = False
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    return settings


def _inertia(theta: Any) -> Any:
    """A body's inertia about its own origin, as Exudyn takes it."""
    from exudyn import utilities as items

    own = Inertia(theta_to_packed(theta))
    return items.RigidBodyInertia(
        mass=float(own.mass), com=own.com, inertiaTensor=own.about_origin, inertiaTensorAtCOM=False
    )


def _exudyn_four_bar(scene: Scene) -> tuple[Any, Any]:
    """Three bodies on hinges; the hinge that closes the loop constrains the two directions of the plane only.

    Its other rows depend on those of the tree's hinges, which Exudyn's solver does not accept.
    """
    import exudyn

    model, (q, v) = scene.model, (scene.state.q, scene.state.v)
    system = exudyn.SystemContainer().AddSystem()
    ground = system.CreateGround()
    poses = np.asarray(pysim.forward_kinematics(model, q))
    after = np.asarray(pysim.forward_kinematics(model, model.integrate(q, 1e-7 * v)))
    before = np.asarray(pysim.forward_kinematics(model, model.integrate(q, -1e-7 * v)))
    rate = (after - before) / 2e-7
    bodies = []
    for body, X, X_t in zip(model.bodies, poses, rate, strict=True):
        spin = X_t[:3, :3] @ X[:3, :3].T
        number = system.CreateRigidBody(
            referencePosition=X[:3, 3],
            referenceRotationMatrix=X[:3, :3],
            initialVelocity=X_t[:3, 3],
            initialAngularVelocity=[spin[2, 1], spin[0, 2], spin[1, 0]],
            inertia=_inertia(body.theta),
            gravity=list(model.gravity),
            nodeType=exudyn.NodeType.RotationRotationVector,
        )
        bodies.append(number)
    for joint, place in zip(model.joints, poses, strict=True):
        parent = ground if joint.parent == "world" else bodies[_index(model, joint.parent)]
        child = bodies[_index(model, joint.child)]
        system.CreateRevoluteJoint(
            itemNumbers=[parent, child], position=place[:3, 3], axis=[0, 1, 0]
        )
    coupler, rocker = _index(model, "coupler"), _index(model, "rocker")
    tip = poses[rocker] @ [0.6, 0, 0, 1]
    system.CreateGenericJoint(
        itemNumbers=[bodies[coupler], bodies[rocker]],
        position=tip[:3],
        rotationMatrixAxes=np.eye(3),
        constrainedAxes=[1, 0, 1, 0, 0, 0],
        useGlobalFrame=True,
    )
    system.Assemble()
    return system, bodies[_index(model, "crank")]


def _index(model: Any, body: str) -> int:
    return [each.name for each in model.bodies].index(body)


def _exudyn_chain(model: Any, v: Any) -> tuple[Any, int]:
    """The same chain as a KinematicTree; every axis is one of its frame."""
    import exudyn
    from exudyn import utilities as items

    kinds = (
        exudyn.JointType.RevoluteX,
        exudyn.JointType.RevoluteY,
        exudyn.JointType.RevoluteZ,
    )
    links = [
        items.TreeLink(
            _inertia(body.theta),
            jointType=kinds[int(np.argmax(joint.axis))],
            jointHT=np.array(joint.at),
            graphicsDataList=[],
        )
        for body, joint in zip(model.bodies, model.joints, strict=True)
    ]
    system = exudyn.SystemContainer().AddSystem()
    tree = system.CreateKinematicTree(
        listOfTreeLinks=links,
        referenceCoordinates=[0.0] * model.nv,
        initialCoordinates=[0.0] * model.nv,
        initialCoordinates_t=list(v),
        gravity=list(model.gravity),
    )
    node = system.GetObject(tree)["nodeNumber"]
    system.Assemble()
    return system, node
