"""Controllers and sources of signals written in Python: PD, PID, tables, sines and others.

    from pysim.controllers import Controller, controller, signal

    @controller("bang_bang")
    class BangBang(Controller):
        \"\"\"Full force towards the reference.\"\"\"

        inputs = signal("reference", unit="rad") * signal("q", unit="rad")
        outputs = signal("torque", unit="N·m")
        most: float  # [N·m]

        def output(self, inputs):
            return self.most * np.sign(inputs.reference - inputs.q)

`output` is called once with symbolic numbers; the recorded formulas run in the engine, which differentiates them. It
names the arguments that it uses: `t`, `inputs`, and the names of `states` or `memory`. A scene calls it by
`[[controller]] type = "bang_bang"`; with the key `period` it runs at the multiples of that period, and its outputs are
held between them.
"""

from __future__ import annotations

from pysim.elements.block import CallbackController, Controller, Source, controller, source
from pysim.elements.channels import Signal, real, signal
from pysim.tracing.implicit_equation import solve
from pysim.tracing.linear import linear
from pysim.tracing.lookup_table import table
from pysim.tracing.spline import spline

__all__ = [
    "CallbackController",
    "Controller",
    "Signal",
    "Source",
    "controller",
    "linear",
    "real",
    "signal",
    "solve",
    "source",
    "spline",
    "table",
]
