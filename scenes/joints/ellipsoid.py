"""Shoulder-blade joint: a body that rotates freely while its origin stays on an ellipsoid.

Source: [Seth, Sherman, Eastman and Delp 2010].
"""

from pysim.joints import Joint, Pose, joint, real


@joint("ellipsoid")
class Ellipsoid(Joint):
    """Rotates about x, then about the new y and z; the direction of z determines the point of the ellipsoid."""

    a: float  # [m] semi-axis along x
    b: float  # [m] semi-axis along y
    c: float  # [m] semi-axis along z
    coordinates = real("x", "y", "z")

    def placement(self, q):
        turn = Pose.rotate_x(q.x) @ Pose.rotate_y(q.y) @ Pose.rotate_z(q.z)
        nx, ny, nz = (row[2] for row in turn.rotation)  # z of the child
        return Pose.translate(self.a * nx, self.b * ny, self.c * nz) @ turn
