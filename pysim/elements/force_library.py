"""Registration of the forces that come with pysim."""

from __future__ import annotations

import pysim.elements.friction
import pysim.elements.library
import pysim.elements.tendons
import pysim.elements.thruster  # noqa: F401
