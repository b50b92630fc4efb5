"""Registration of the signals, sensors, controllers and actuators that come with pysim."""

from __future__ import annotations

import pysim.elements.actuators
import pysim.elements.affine_actuators
import pysim.elements.controllers
import pysim.elements.cylinders
import pysim.elements.lookup_blocks
import pysim.elements.mujoco_muscle
import pysim.elements.multirotor
import pysim.elements.policy
import pysim.elements.sensors
import pysim.elements.series_elastic
import pysim.elements.signal_blocks
import pysim.elements.sources  # noqa: F401
