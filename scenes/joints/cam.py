"""A cam that lifts a follower."""

import numpy as np

from pysim.joints import Joint, Pose, joint, real


@joint("cam_follower")
class CamFollower(Joint):
    """Slides along z on an eccentric disc that rotates about y; `mimic` couples its coordinate to the disc's joint."""

    eccentricity: float  # [m] from the axis to the disc's centre
    reach: float  # [m] sum of the radii of disc and roller
    coordinates = real("cam")

    def placement(self, q):
        # the centres of disc and roller stay `reach` apart
        across, up = self.eccentricity * np.sin(q.cam), self.eccentricity * np.cos(q.cam)
        return Pose.translate(0, 0, up + np.sqrt(self.reach**2 - across**2))
