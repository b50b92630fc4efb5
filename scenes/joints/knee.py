"""Human knee joint with one coordinate: splines of the flexion translate and rotate the shin on the thigh.

Joint frame: x to the left, y up, z forward, for a right leg. As in OpenSim's CustomJoint, the child is translated, then
rotated about x, z and y [Seth, Sherman, Eastman and Delp 2010]. The splines here are natural; those of OpenSim have
other end conditions.
"""

import numpy as np

from pysim.joints import Joint, Pose, joint, real, spline

# Rajagopal et al. 2016, model Rajagopal2016.osim, joint knee_r; after Walker et al. 1988. Every 10° of flexion.
FLEXION = np.radians(range(0, 121, 10))  # [rad]
TURN_Z = [0, 0.0126809, 0.0226969, 0.0296054, 0.0332049, 0.0335354, 0.0308779, 0.0257548, 0.0189295, 0.011407,
          0.00443314, -0.00050475, -0.0016782]  # adduction [rad]  # fmt: skip
TURN_Y = [0, 0.059461, 0.109399, 0.150618, 0.18392, 0.210107, 0.229983, 0.24435, 0.254012, 0.25977, 0.262428,
          0.262788, 0.261654]  # internal rotation [rad]  # fmt: skip
MOVE_Y = [0, 0.000479, 0.000835, 0.001086, 0.001251, 0.001346, 0.001391, 0.001403, 0.0014, 0.0014, 0.001421,
          0.001481, 0.001599]  # [m]  # fmt: skip
MOVE_Z = [0, 0.000988, 0.001899, 0.002734, 0.003492, 0.004173, 0.004777, 0.005305, 0.005756, 0.00613, 0.006427,
          0.006648, 0.006792]  # [m]  # fmt: skip

# OpenSim's model gait2392, joint knee_r (Delp et al. 1990, after Yamaguchi and Zajac 1989), from hip to shin.
# Its angle is −flexion, its x is our z.
ANGLE_Z = [-2.0944, -1.74533, -1.39626, -1.0472, -0.698132, -0.349066, -0.174533, 0.197344, 0.337395, 0.490178,
           1.52146, 2.0944]  # [rad]  # fmt: skip
HIP_Z = [-0.0032, 0.00179, 0.00411, 0.0041, 0.00212, -0.001, -0.0031, -0.005227, -0.005435, -0.005574, -0.005435,
         -0.00525]  # [m]  # fmt: skip
ANGLE_Y = [-2.0944, -1.22173, -0.523599, -0.349066, -0.174533, 0.159149, 2.0944]  # [rad]
HIP_Y = [-0.4226, -0.4082, -0.399, -0.3976, -0.3966, -0.395264, -0.396]  # [m]


@joint("knee")
class Knee(Joint):
    """Knee to shin: flexion about x, coupled with rotations about z and y and a translation, between ligaments."""

    coordinates = real("flexion")

    def placement(self, q):
        y, z = spline(q.flexion, FLEXION, MOVE_Y), spline(q.flexion, FLEXION, MOVE_Z)
        adduct = Pose.rotate_z(spline(q.flexion, FLEXION, TURN_Z))
        twist = Pose.rotate_y(spline(q.flexion, FLEXION, TURN_Y))
        return Pose.translate(0, y, z) @ Pose.rotate_x(q.flexion) @ adduct @ twist

    def limits(self):
        return {"flexion": (-0.35, 2.65)}  # [rad], wider than the range that the ligaments allow

    def force(self, q, v):
        # the moment of the ligaments [N·m], F. C. Anderson, thesis, Austin 1999, eq. 4.4 and table G.2
        straight, bent = -0.13 - q.flexion, q.flexion - 2.4
        return 6.09 * np.exp(33.94 * straight) - 11.03 * np.exp(11.33 * bent)


@joint("planar_knee")
class PlanarKnee(Knee):
    """Hip to shin: flexion about x and a translation in a plane, with the same ligaments."""

    def placement(self, q):
        y, z = spline(-q.flexion, ANGLE_Y, HIP_Y), spline(-q.flexion, ANGLE_Z, HIP_Z)
        return Pose.translate(0, y, z) @ Pose.rotate_x(q.flexion)
