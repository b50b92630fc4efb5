"""Identification: the parameters of a mechanism from a recorded motion.

    samples = read_samples(model, "recording.csv")        # or make_samples(model, t, q, tau)
    found = identify(model, samples, resistances=("damping", "friction"))
    found.model                                           # every body physically consistent, whatever the data

    found = fit(scene, t, q, {"materials.rubber.friction": (0.1, 1.5)})    # friction, stiffness, restitution, gains

Columns of the equations are in `unknowns`, their compression in `regression`, the physically consistent estimate in
`estimate`. SciPy loads when something is first computed.
"""

from __future__ import annotations

from pysim.identify.base_parameters import BaseParameters, base_parameters
from pysim.identify.differentiation import differentiated
from pysim.identify.excitation import Excitation, exciting_trajectory
from pysim.identify.fitting import Fit, fit
from pysim.identify.identification import Identification, identify, predicted_torque
from pysim.identify.reading import read_run, read_samples
from pysim.identify.samples import Samples, make_samples
from pysim.identify.unknowns import Unknowns
from pysim.identify.writing import write_found

__all__ = [
    "BaseParameters",
    "Excitation",
    "Fit",
    "Identification",
    "Samples",
    "Unknowns",
    "base_parameters",
    "differentiated",
    "exciting_trajectory",
    "fit",
    "identify",
    "make_samples",
    "predicted_torque",
    "read_run",
    "read_samples",
    "write_found",
]
