"""Contact in Drake on scenes of contact_table, where its wheel is installed.

    pip install drake && python -m tests.benchmarks.drake_contact

Steps of 1 ms and Drake's defaults: lagged convex contact of points. Boxes have small spheres at their corners, because
a box has a single contact point with a half space there.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from tests.benchmarks.report import print_line

G, STEP, BALL = 9.81, 1e-3, 1e-3  # [m/s²], [s], radius [m] of the spheres at corners


class World:
    """A body with friction μ on a half space, or without one between two pads."""

    def __init__(self, mu: float, gravity: tuple[float, float, float], ground: bool = True) -> None:
        self.drake: Any = import_module("pydrake.all")
        self.builder = self.drake.DiagramBuilder()
        self.plant, _ = self.drake.AddMultibodyPlantSceneGraph(self.builder, time_step=STEP)
        self.plant.mutable_gravity_field().set_gravity_vector(list(gravity))
        self.friction = self.drake.CoulombFriction(mu, mu)
        if ground:
            self.collide(self.plant.world_body(), (0, 0, 0), self.drake.HalfSpace())

    def collide(self, body: Any, p: tuple[float, float, float], shape: Any) -> None:
        """Add a shape that collides."""
        pose, name = self.drake.RigidTransform(list(p)), f"{body.name()} {p}"
        self.plant.RegisterCollisionGeometry(body, pose, shape, name, self.friction)

    def box(self, mass: float, size: tuple[float, float, float], ends: Any = None) -> Any:
        """Add a box with spheres at its corners, or at those of a smaller box."""
        inertia = self.drake.SpatialInertia.SolidBoxWithMass(mass, *size)
        body = self.plant.AddRigidBody("box", inertia)
        x, y, z = (s / 2 - BALL for s in (ends or size))
        for corner in ((i * x, j * y, k * z) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)):
            self.collide(body, corner, self.drake.Sphere(BALL))
        return body

    def start(self) -> None:
        """Make the simulator."""
        self.plant.Finalize()
        self.simulator = self.drake.Simulator(self.builder.Build())
        self.context = self.plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())

    def place(self, body: Any, height: float, speed: float = 0.0) -> None:
        """Set the height of a free body and its velocity along x."""
        self.plant.SetFreeBodyPose(self.context, body, self.drake.RigidTransform([0, 0, height]))
        velocity = self.drake.SpatialVelocity([0, 0, 0], [speed, 0, 0])
        self.plant.SetFreeBodySpatialVelocity(self.context, body, velocity)

    def position(self, body: Any, time: float) -> Any:
        """Position at a time [m]."""
        self.simulator.AdvanceTo(time)
        return self.plant.EvalBodyPoseInWorld(self.context, body).translation().copy()


def creep() -> float:
    """Speed [m/s] of a box on a slope at 0.9 of the angle of friction."""
    angle = 0.9 * math.atan(0.5)
    world = World(0.5, (G * math.sin(angle), 0.0, -G * math.cos(angle)))
    body = world.box(1.0, (0.2, 0.2, 0.1))
    world.start()
    world.place(body, 0.05)
    before = world.position(body, 5.0)[0]
    return float(world.position(body, 10.0)[0] - before) / 5


def stopping() -> float:
    """Relative error of the stopping distance of a box at 1 m/s."""
    world = World(0.5, (0.0, 0.0, -G))
    body = world.box(1.0, (0.2, 0.2, 0.1))
    world.start()
    world.place(body, 0.05, 1.0)
    return float(world.position(body, 1.0)[0]) * G - 1


def rolling() -> float:
    """Relative error of the rolling speed of a ball that slips at first."""
    world = World(0.3, (0.0, 0.0, -G))
    inertia = world.drake.SpatialInertia.SolidSphereWithMass(1.0, 0.1)
    body = world.plant.AddRigidBody("ball", inertia)
    world.collide(body, (0, 0, 0), world.drake.Sphere(0.1))
    world.start()
    world.place(body, 0.1, 3.0)
    before = world.position(body, 2.0)[0]
    return float(world.position(body, 3.0)[0] - before) / (15 / 7) - 1


def gripper() -> float:
    """Speed [m/s] at which a box of 0.5 kg sinks between two pads that press with 10 N, μ = 0.5."""
    world = World(0.5, (0.0, 0.0, -G), ground=False)
    drake, plant = world.drake, world.plant
    body = world.box(0.5, (0.06, 0.06, 0.06), (0.06, 0.04 + 2 * BALL, 0.04 + 2 * BALL))
    joints = []
    for name in ("left", "right"):
        inertia = drake.SpatialInertia.SolidBoxWithMass(0.5, 0.02, 0.06, 0.06)
        pad = plant.AddRigidBody(name, inertia)
        world.collide(pad, (0, 0, 0), drake.Box(0.02, 0.08, 0.08))
        joint = drake.PrismaticJoint(name, plant.world_frame(), pad.body_frame(), [1, 0, 0])
        joints.append(plant.AddJoint(joint))
        plant.AddJointActuator(name, joints[-1])
    world.start()
    for joint, x in zip(joints, (-0.04, 0.04), strict=True):
        joint.set_translation(world.context, x)
    world.place(body, 0.0)
    plant.get_actuation_input_port().FixValue(world.context, [10.0, -10.0])
    before = world.position(body, 1.0)[2]
    return float(before - world.position(body, 10.0)[2]) / 9


def main() -> None:
    """Print the figures."""
    print_line(f"creep on a slope          {creep():.1e} m/s")
    print_line(f"stopping distance, error  {stopping():+.1e}")
    print_line(f"rolling speed, error      {rolling():+.1e}")
    print_line(f"creep in a gripper        {gripper():.1e} m/s")


if __name__ == "__main__":
    main()
