"""Constant-velocity joint of a shaft: it bends in all directions and transmits rotation at constant speed."""

from pysim.joints import Joint, Pose, joint, real


@joint("constant_velocity")
class ConstantVelocity(Joint):
    """Bends about x and y without a twist about z: two universal joints back to back, each with half the bend."""

    coordinates = real("x", "y")

    def placement(self, q):
        half = Pose.rotate_x(q.x / 2)  # rotations x y x, a palindrome, have no twist about z
        return half @ Pose.rotate_y(q.y) @ half
