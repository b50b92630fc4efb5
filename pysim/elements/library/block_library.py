"""Registration of the signals, sensors, controllers and actuators that come with pysim."""

from __future__ import annotations

import pysim.elements.library.actuators
import pysim.elements.library.affine_actuators
import pysim.elements.library.controllers
import pysim.elements.library.cylinders
import pysim.elements.library.lookup_blocks
import pysim.elements.library.mujoco_muscle
import pysim.elements.library.multirotor
import pysim.elements.library.policy
import pysim.elements.library.sensors
import pysim.elements.library.series_elastic
import pysim.elements.library.signal_blocks
import pysim.elements.library.sources  # noqa: F401
