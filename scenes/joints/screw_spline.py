"""The last axis of a SCARA robot: one shaft with a thread and with grooves, held by a nut for each."""

from pysim.joints import Joint, Pose, joint, real


@joint("screw_spline")
class ScrewSpline(Joint):
    """The groove nut turns the shaft; the thread nut moves it along z by what it turns more than the groove nut.

    The nuts' own inertias are the `armature` of the two coordinates.
    """

    pitch: float  # [m/rad] travel of the shaft along z
    coordinates = real("thread", "groove")

    def placement(self, q):
        return Pose.rotate_z(q.groove) @ Pose.translate(0, 0, self.pitch * (q.thread - q.groove))
