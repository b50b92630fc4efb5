"""Rolling joint: two cylinders that roll on each other without slipping, as in some finger and knee prostheses."""

from pysim.joints import Joint, Pose, joint, real


@joint("rolling")
class Rolling(Joint):
    """Rolls a cylinder around a fixed one, both along y; the coordinate is the angle of the line of centres from z."""

    fixed: float  # [m] radius of the parent's cylinder
    moving: float  # [m] radius of the child's cylinder
    coordinates = real("centres")

    def placement(self, q):
        # arcs of equal length: fixed · centres = moving · roll
        roll = Pose.rotate_y(self.fixed / self.moving * q.centres)
        return Pose.rotate_y(q.centres) @ Pose.translate(0, 0, self.fixed + self.moving) @ roll
