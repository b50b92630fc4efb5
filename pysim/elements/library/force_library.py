"""Registration of the forces that come with pysim."""

from __future__ import annotations

import pysim.elements.library.fluid
import pysim.elements.library.forces
import pysim.elements.library.friction
import pysim.elements.library.impedance
import pysim.elements.library.millard_muscle
import pysim.elements.library.propeller
import pysim.elements.library.stops
import pysim.elements.library.tendons
import pysim.elements.library.thelen_muscle
import pysim.elements.library.thruster
import pysim.elements.library.tyres  # noqa: F401
