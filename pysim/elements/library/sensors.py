"""Sensors that come with pysim: a list, one class a sensor, long because there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Sensor, sensor
from pysim.elements.channels import real, signal
from pysim.errors import PysimError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.elements.ground import Ground
    from pysim.elements.library.noise import Noise
    from pysim.elements.quantities import (
        Acceleration,
        Contact,
        SectionForces,
        Twist,
        Wrench,
    )
    from pysim.joints.displacement import Pose

AXES = ("frame", "base")
_LEAST_SQUARE = 1e-32  # square of a number whose square root has a slope
MOST_HEIGHTS = 2000  # of a scan


@sensor("coordinates")
class Coordinates(Sensor):
    """Coordinates of joints and their rates."""

    outputs = signal("q", unit="", size="n") * signal("v", unit="", size="n")

    def measure(self, q: Any, v: Any) -> Any:
        return q, v

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        return inputs


@sensor("rates")
class Rates(Sensor):
    """Velocities of joints, such as those of rotations, which have no coordinate of their own."""

    outputs = signal("v", unit="", size="n")

    def measure(self, v: Any) -> Any:
        return v

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        return {"v": inputs["v"]}


@sensor("pose")
class PoseSensor(Sensor):
    """Position of a frame and its orientation, a quaternion (x, y, z, w) from its axes to those it is relative to."""

    outputs = signal("position", unit="m", size=3) * signal("orientation", unit="1", size=4)

    def measure(self, pose: Pose) -> Any:
        return pose.p, quaternion(np.array(pose.rotation, object))


@sensor("up")
class Up(Sensor):
    """Direction against gravity, a unit vector in the axes of a frame; (0, 0, 1) where the frame is upright."""

    outputs = signal("up", unit="1", size=3)

    def measure(self, pose: Pose, gravity: Any) -> Any:
        x, y, z = gravity
        size = np.sqrt(x * x + y * y + z * z)
        if isinstance(size, float) and size == 0:
            problem = "the scene has no gravity, and no direction is up"
            raise PysimError(
                "gravity", f"{problem}; set gravity, or read the orientation of a pose"
            )
        return np.array(pose.rotation, object).T @ (-gravity / size)


@sensor("twist")
class TwistSensor(Sensor):
    """Velocity of a frame's origin and its angular velocity, in the axes of the frame or of that it is relative to."""

    outputs = signal("velocity", unit="m/s", size=3) * signal("rate", unit="rad/s", size=3)
    axes: str = "frame"  # frame or base, whose axes the numbers are in

    def __post_init__(self) -> None:
        if self.axes not in AXES:
            raise PysimError("axes", f"unknown {self.axes!r}{did_you_mean(self.axes, AXES)}")

    def measure(self, pose: Pose, twist: Twist) -> Any:
        if self.axes == "frame":
            return twist.v, twist.w
        R = np.array(pose.rotation, object)
        return R @ np.array(twist.v, object), R @ np.array(twist.w, object)


@sensor("acceleration")
class AccelerationSensor(Sensor):
    """Classical acceleration of a point and its angular acceleration, in the axes of the frame."""

    outputs = signal("linear", unit="m/s²", size=3) * signal("angular", unit="rad/s²", size=3)

    def measure(self, acceleration: Acceleration) -> Any:
        return acceleration.linear, acceleration.angular


@sensor("imu")
class InertialMeasurementUnit(Sensor):
    """Accelerometer, gyroscope and orientation (x, y, z, w, from the sensor's axes to the world's).

    The accelerometer reads Rᵀ(a − g), +9.81 m/s² upwards at rest. Readings are step · round(x/step) of x = value + bias
    + drift + noise with a step, x without. Noise and drift need a `period`: noise is normal and independent from one
    instant to the next, and the drift, 0 at the start, changes by normal numbers, a random walk.
    """

    outputs = (
        signal("acceleration", unit="m/s²", size=3)
        * signal("rate", unit="rad/s", size=3)
        * signal("orientation", unit="1", size=4)
    )
    acceleration_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [m/s²]
    rate_bias: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [rad/s]
    acceleration_noise: float = 0.0  # [m/s²], standard deviation
    rate_noise: float = 0.0  # [rad/s], standard deviation
    acceleration_step: float = 0.0  # [m/s²], of quantisation
    rate_step: float = 0.0  # [rad/s], of quantisation
    acceleration_walk: float = 0.0  # [m/s²], standard deviation of the drift's change in a period
    rate_walk: float = 0.0  # [rad/s], standard deviation of the drift's change in a period
    not_negative = (
        "acceleration_noise",
        "rate_noise",
        "acceleration_step",
        "rate_step",
        "acceleration_walk",
        "rate_walk",
    )

    def __post_init__(self) -> None:
        if self.acceleration_walk or self.rate_walk:
            drifts = real("acceleration_drift", size=3) * real("rate_drift", size=3)
            vars(self)["memory"] = drifts
            vars(self)["measure"] = self._drifting

    def update(self, acceleration_drift: Any, rate_drift: Any, noise: Noise) -> Any:
        return (
            [_disturbed(x, self.acceleration_walk, 0.0, noise) for x in acceleration_drift],
            [_disturbed(x, self.rate_walk, 0.0, noise) for x in rate_drift],
        )

    def _drifting(
        self,
        pose: Pose,
        twist: Twist,
        acceleration: Acceleration,
        gravity: Any,
        noise: Noise,
        acceleration_drift: Any,
        rate_drift: Any,
    ) -> Any:
        drifts = acceleration_drift, rate_drift
        return self._readings(pose, twist, acceleration, gravity, noise, drifts)

    def measure(
        self, pose: Pose, twist: Twist, acceleration: Acceleration, gravity: Any, noise: Noise
    ) -> Any:
        return self._readings(pose, twist, acceleration, gravity, noise, (0.0, 0.0))

    def _readings(
        self,
        pose: Pose,
        twist: Twist,
        acceleration: Acceleration,
        gravity: Any,
        noise: Noise,
        drifts: tuple[Any, Any],
    ) -> Any:
        R = np.array(pose.rotation, object)
        force = acceleration.linear - R.T @ gravity
        force = force + np.array(self.acceleration_bias) + drifts[0]
        rate = twist.w + np.array(self.rate_bias) + drifts[1]
        return (
            [_disturbed(x, self.acceleration_noise, self.acceleration_step, noise) for x in force],
            [_disturbed(x, self.rate_noise, self.rate_step, noise) for x in rate],
            quaternion(R),
        )


@sensor("force_torque")
class ForceTorque(Sensor):
    """Wrench that the parent of a joint exerts on its child, about the joint's origin in the child's joint frame."""

    outputs = signal("force", unit="N", size=3) * signal("torque", unit="N·m", size=3)

    def measure(self, wrench: Wrench) -> Any:
        return wrench.force, wrench.torque


@sensor("moment")
class Moment(Sensor):
    """Moment within a rod at a length: the twisting one about x, and the bending ones about y and z of the section."""

    outputs = signal("moment", unit="N·m", size=3)

    def measure(self, section: SectionForces) -> Any:
        return section.moment


@sensor("tension")
class Tension(Sensor):
    """Tension within a rod at a length; negative where it is pressed."""

    outputs = signal("tension", unit="N")

    def measure(self, section: SectionForces) -> Any:
        return section.force[0]


@sensor("curvature")
class Curvature(Sensor):
    """Twist about x and curvature about y and z of the section, by stress, of a rod at a length."""

    outputs = signal("curvature", unit="1/m", size=3)

    def measure(self, section: SectionForces) -> Any:
        return section.curvature


@sensor("strain")
class Strain(Sensor):
    """Largest strain along a rod by its bending, at the outer fibre of a section."""

    outputs = signal("strain", unit="1")

    def measure(self, section: SectionForces) -> Any:
        if section.sides is None:
            problem = "the section of the rod has no shape, on which the strain depends"
            raise PysimError(
                "frame", f"{problem}; give circle, tube or rectangle, or read curvature"
            )
        about_y, about_z = section.curvature[1], section.curvature[2]
        y, z = section.sides
        if section.is_round:
            return y / 2 * np.sqrt(about_y * about_y + about_z * about_z + _LEAST_SQUARE)
        return z / 2 * np.abs(about_y) + y / 2 * np.abs(about_z)


@sensor("contact")
class ContactSensor(Sensor):
    """Contacts of the body of a frame: whether it touches, and the sum of forces on it about the frame's origin.

    `normal` is the sum of the normal forces, and `torque` includes that of rolling and spinning friction. With
    `others`, only contacts with these bodies count. The forces are those of the state where contacts are smooth, and
    after a step of `convex` its mean ones.
    """

    outputs = (
        signal("touching", unit="1")
        * signal("normal", unit="N")
        * signal("force", unit="N", size=3)
        * signal("torque", unit="N·m", size=3)
    )
    axes: str = "frame"  # frame or base, whose axes the numbers are in

    def __post_init__(self) -> None:
        if self.axes not in AXES:
            raise PysimError("axes", f"unknown {self.axes!r}{did_you_mean(self.axes, AXES)}")

    def measure(self, contact: Contact) -> Any:
        return contact.touching, contact.normal, contact.force, contact.torque


@sensor("weighted_sum")
class WeightedSum(Sensor):
    """Weighted sum of coordinates, such as the length of a tendon over pulleys at joints, and its rate."""

    outputs = signal("length", unit="") * signal("rate", unit="")
    weights: tuple[float, ...]  # of the coordinates

    def measure(self, q: Any, v: Any) -> Any:
        numbers = [list(x) if isinstance(x, np.ndarray) else [x] for x in (q, v)]
        if len(self.weights) != len(numbers[0]):
            problem = f"must have one number for each coordinate, got {len(self.weights)} for {len(numbers[0])}"
            raise PysimError("weights", f"{problem}; write as many as coordinates")
        return tuple(
            sum(c * x for c, x in zip(self.weights, values, strict=True)) for values in numbers
        )


@sensor("transmission_angle")
class TransmissionAngle(Sensor):
    """Transmission angle, from 0 to π/2: the acute one between a link and the coupler that drives it.

    The frame is on the link at their common joint, `relative_to` the coupler; `axis` and `coupler_axis` are the
    directions of their lines, from joint to joint [Norton 2011, section 2.18].
    """

    outputs = signal("angle", unit="rad")
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)  # of the link, in the frame
    coupler_axis: tuple[float, float, float] = (1.0, 0.0, 0.0)  # in `relative_to`

    def __post_init__(self) -> None:
        for name in ("axis", "coupler_axis"):
            if not (np.isfinite(getattr(self, name)).all() and np.any(getattr(self, name))):
                problem = f"must be a finite vector that is not zero, got {getattr(self, name)}"
                raise PysimError(name, f"{problem}; give the direction from joint to joint")

    def measure(self, pose: Pose) -> Any:
        link = np.array(pose.rotation, object) @ np.array(self.axis)
        across = np.cross(np.array(self.coupler_axis, object), link)
        along = np.dot(np.array(self.coupler_axis, object), link)
        sine = np.sqrt(np.dot(across, across) + _LEAST_SQUARE)
        return np.arctan2(sine, np.abs(along))


@sensor("mechanical_advantage")
class MechanicalAdvantage(Sensor):
    """Mechanical advantage: force or torque of an output over that of the input, without friction and inertia.

    It is the ratio of their speeds, v_in/v_out, of two coordinates, the input first; 0 while the mechanism rests, and
    without bound at a dead centre of the output.
    """

    outputs = signal("ratio", unit="")

    def measure(self, v: Any) -> Any:
        speeds = np.atleast_1d(np.asarray(v, object))
        if len(speeds) != 2:
            problem = f"must name the input and the output, got {len(speeds)} of them"
            raise PysimError("coordinates", f"{problem}; name two")
        rests = speeds[1] == 0
        return np.where(rests, 0.0, speeds[0] / (speeds[1] + rests))

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        return {"ratio": "1" if inputs["v"] else ""}


@sensor("power")
class Power(Sensor):
    """Power of a force, an actuator or the passive force of a joint into the mechanism."""

    outputs = signal("power", unit="W")

    def measure(self, power: Any) -> Any:
        return power


@sensor("energy")
class StoredEnergy(Sensor):
    """Energy that a force, or the springs and stops of a joint, store."""

    outputs = signal("energy", unit="J")

    def measure(self, energy: Any) -> Any:
        return energy


@sensor("distance")
class Distance(Sensor):
    """Length of a path and its rate."""

    outputs = signal("length", unit="m") * signal("rate", unit="m/s")

    def measure(self, length: Any, rate: Any) -> Any:
        return length, rate


@sensor("height_scan")
class HeightScan(Sensor):
    """Heights of the ground at a grid of points around a frame, relative to the frame's origin.

    The grid is level; its x axis is the horizontal direction of the frame's x axis. Each number is the height of the
    highest ground over the point, less that of the frame's origin, within ± `reach`; −reach where there is none. The
    numbers run along x first, from the corner at −x, −y. The ground is what is fixed to the world: grounds, and shapes
    that collide.
    """

    outputs = signal("heights", unit="m", size="n")
    size: tuple[float, float]  # [m], lengths of the grid along x and y
    spacing: float  # [m] of points
    reach: float = 2.0  # [m], largest height above and below the frame

    def __post_init__(self) -> None:
        for name, numbers in (
            ("size", self.size),
            ("spacing", [self.spacing]),
            ("reach", [self.reach]),
        ):
            if min(numbers) < 0 or (name != "size" and not min(numbers) > 0):
                wanted = "0 or more" if name == "size" else "positive"
                raise PysimError(name, f"must be {wanted} [m], got {min(numbers):g}")
        if self._count(0) * self._count(1) > MOST_HEIGHTS:
            problem = f"has {self._count(0)} by {self._count(1)} points, {MOST_HEIGHTS} at most"
            raise PysimError("spacing", f"{problem}; enlarge spacing")

    def _count(self, axis: int) -> int:
        return round(self.size[axis] / self.spacing) + 1

    def sizes(self) -> Mapping[str, int]:
        return {"n": self._count(0) * self._count(1)}

    def measure(self, pose: Pose, ground: Ground) -> Any:
        c, s = pose.rotation[0][0], pose.rotation[1][0]
        length = np.sqrt(c * c + s * s)
        length = length + (length == 0)
        along, across = (
            (np.arange(n) - (n - 1) / 2) * self.spacing for n in (self._count(0), self._count(1))
        )
        heights = []
        for b in across.tolist():
            for a in along.tolist():
                x = pose.p[0] + (c * a - s * b) / length
                y = pose.p[1] + (s * a + c * b) / length
                h = ground.height(x, y) - pose.p[2]
                heights.append(np.clip(h, -self.reach, self.reach))
        return heights


@sensor("noisy")
class Noisy(Sensor):
    """A signal with a bias, normal noise that is independent from instant to instant, and quantisation."""

    inputs = signal("value", unit="", size="n")
    outputs = signal("value", unit="", size="n")
    deviation: float  # standard deviation, in the signal's unit
    bias: float = 0.0  # in the signal's unit
    step: float = 0.0  # of quantisation, in the signal's unit
    not_negative = ("deviation", "step")

    def measure(self, inputs: Any, noise: Noise) -> Any:
        values = np.atleast_1d(np.asarray(inputs.value, object))
        return [_disturbed(x + self.bias, self.deviation, self.step, noise) for x in values]

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:
        return {"value": inputs["value"]}


def _disturbed(x: Any, deviation: float, step: float, noise: Noise) -> Any:
    """Return x with noise of a standard deviation, to the nearest multiple of a step if there is one."""
    return _quantised(x + deviation * noise.normal() if deviation else x, step)


def _quantised(x: Any, step: float) -> Any:
    """Return the nearest multiple of a step; x itself without a step."""
    if step == 0:
        return x
    from pysim.tracing.expression import record  # noqa: PLC0415

    return step * record("floor", x / step + 0.5)


def quaternion(R: Any) -> list[Any]:
    """Return the unit quaternion (x, y, z, w) of a rotation matrix, w ≥ 0, from its largest number."""
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    squares = [1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz]
    xy, zx, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    rows = [
        (squares[0], xy, zx, x),
        (xy, squares[1], yz, y),
        (zx, yz, squares[2], z),
        (x, y, z, squares[3]),
    ]
    best, row = squares[3], list(rows[3])
    for k in range(3):
        larger = squares[k] > best
        row = [np.where(larger, a, b) for a, b in zip(rows[k], row, strict=True)]
        best = np.where(larger, squares[k], best)
    sign: Any = np.where(row[3] < 0, -1.0, 1.0)
    return [sign * number / (2 * np.sqrt(best)) for number in row]
