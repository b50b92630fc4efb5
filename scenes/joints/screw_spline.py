"""Ball-screw spline, the last axis of a SCARA robot: a shaft with a thread and grooves, and a nut for each."""

from pysim.joints import Joint, Pose, joint, real


@joint("screw_spline")
class ScrewSpline(Joint):
    """Rotates the shaft with the groove nut, and moves it along z by the difference of the nuts' angles.

    The inertias of the nuts are the `armature` of the two coordinates.
    """

    pitch: float  # [m/rad] travel of the shaft along z
    coordinates = real("thread", "groove")

    def placement(self, q):
        return Pose.rotate_z(q.groove) @ Pose.translate(0, 0, self.pitch * (q.thread - q.groove))
