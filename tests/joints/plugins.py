"""Joints as authors write them, for the tests: twins of built-in shapes, and some that only a plugin can be."""

from __future__ import annotations

import numpy as np

from pysim.joints import Joint, Pose, joint, pose, real, rotation, spline


@joint("twin_revolute")
class TwinRevolute(Joint):
    """A hinge about x."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_x(q.angle)


@joint("twin_prismatic")
class TwinPrismatic(Joint):
    """A slide along z."""

    coordinates = real("slide", unit="m")

    def placement(self, q):
        return Pose.translate(0, 0, q.slide)


@joint("twin_helical")
class TwinHelical(Joint):
    """A screw about z."""

    pitch: float
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, self.pitch * q.angle)


@joint("twin_cylindrical")
class TwinCylindrical(Joint):
    """Slides along z and turns about it."""

    coordinates = real("slide", unit="m") * real("angle")

    def placement(self, q):
        return Pose.translate(0, 0, q.slide) @ Pose.rotate_z(q.angle)


@joint("twin_universal")
class TwinUniversal(Joint):
    """Two crossed hinges."""

    coordinates = real("first", "second")

    def placement(self, q):
        return Pose.rotate_x(q.first) @ Pose.rotate_y(q.second)


@joint("twin_planar")
class TwinPlanar(Joint):
    """Slides on a plane and turns."""

    coordinates = real("x", "y", unit="m") * real("angle")

    def placement(self, q):
        return Pose.translate(q.x, q.y, 0) @ Pose.rotate_z(q.angle)


@joint("twin_ball")
class TwinBall(Joint):
    """A ball by its quaternion."""

    coordinates = rotation("turn")

    def placement(self, q):
        return Pose.rotate_quaternion(q.turn)


@joint("twin_free")
class TwinFree(Joint):
    """Everything free."""

    coordinates = pose("at")

    def placement(self, q):
        return q.at


@joint("twin_translation")
class TwinTranslation(Joint):
    """Slides every way."""

    coordinates = real("x", "y", "z", unit="m")

    def placement(self, q):
        return Pose.translate(q.x, q.y, q.z)


@joint("screw_slot")
class ScrewSlot(Joint):
    """Turns about z while a cam curve lifts it."""

    lift: float
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, self.lift * np.sin(2 * q.angle))


@joint("test_ellipsoid")
class Ellipsoid(Joint):
    """The child's origin stays on an ellipsoid, z along its normal (Seth et al. 2010)."""

    a: float = 0.5
    b: float = 0.7
    c: float = 0.3
    coordinates = real("x", "y", "z")

    def placement(self, q):
        turn = Pose.rotate_x(q.x) @ Pose.rotate_y(q.y) @ Pose.rotate_z(q.z)
        n = [row[2] for row in turn.rotation]
        return Pose.translate(self.a * n[0], self.b * n[1], self.c * n[2]) @ turn


@joint("test_knee")
class Knee(Joint):
    """One coordinate; translation and a second rotation follow splines of it."""

    coordinates = real("flexion")

    def placement(self, q):
        knots = [-2.0, -1.0, 0.0, 1.0, 2.0]
        x = spline(q.flexion, knots, [-0.03, -0.01, 0.0, 0.02, 0.01])
        y = spline(q.flexion, knots, [0.02, 0.0, -0.01, 0.0, 0.03])
        tilt = spline(q.flexion, knots, [0.1, 0.05, 0.0, -0.1, -0.3])
        return Pose.translate(x, y, 0) @ Pose.rotate_z(q.flexion) @ Pose.rotate_x(tilt)


@joint("test_swing")
class Swing(Joint):
    """A ball on a slide that its own tilt pushes: a rotation and a real coordinate, mixed."""

    coordinates = rotation("turn") * real("slide", unit="m")

    def placement(self, q):
        turn = Pose.rotate_quaternion(q.turn)
        push = np.exp(-(turn.rotation[0][2] ** 2)) * np.tanh(q.slide)
        return Pose.translate(push, q.slide, 0.1 * np.sqrt(1 + q.slide**2)) @ turn
