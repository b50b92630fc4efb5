"""Registration of the forces that come with pysim."""

from __future__ import annotations

import pysim.elements.fluid
import pysim.elements.friction
import pysim.elements.impedance
import pysim.elements.library
import pysim.elements.millard_muscle
import pysim.elements.propeller
import pysim.elements.stops
import pysim.elements.tendons
import pysim.elements.thelen_muscle
import pysim.elements.thruster
import pysim.elements.tyres  # noqa: F401
