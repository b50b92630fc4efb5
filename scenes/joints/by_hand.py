"""A hinge and a ball joint as a user writes them; pysim recognises the built-in shapes behind both."""

from pysim.joints import Joint, Pose, joint, real, rotation


@joint("my_hinge")
class MyHinge(Joint):
    """Turns about x."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_x(q.angle)


@joint("my_ball")
class MyBall(Joint):
    """Turns every way."""

    coordinates = rotation("turn")

    def placement(self, q):
        return Pose.rotate_quaternion(q.turn)
