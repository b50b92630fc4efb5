"""A shaft joint that bends every way and hands every turn on at the same speed."""

from pysim.joints import Joint, Pose, joint, real


@joint("constant_velocity")
class ConstantVelocity(Joint):
    """Bends about x and y, never twists about z: two universal joints back to back that share the bend evenly."""

    coordinates = real("x", "y")

    def placement(self, q):
        half = Pose.rotate_x(q.x / 2)  # a palindrome of turns about x and y has no turn about z
        return half @ Pose.rotate_y(q.y) @ half
