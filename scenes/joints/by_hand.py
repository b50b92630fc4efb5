"""A hinge and a ball joint written as plugins; pysim recognises both as built-in joints."""

from pysim.joints import Joint, Pose, joint, real, rotation


@joint("my_hinge")
class MyHinge(Joint):
    """Rotates about x."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_x(q.angle)


@joint("my_ball")
class MyBall(Joint):
    """Rotates about a point."""

    coordinates = rotation("attitude")

    def placement(self, q):
        return Pose.rotate_quaternion(q.attitude)
