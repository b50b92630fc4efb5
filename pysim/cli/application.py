"""Application of the command line, without its commands: app.py adds them."""

from __future__ import annotations

from cyclopts import App, Parameter

from pysim import __version__
from pysim.cli.streams import LastingConsole

app = App(
    name="pysim",
    help="Simulate multibody scenes: `pysim scene.toml` runs one.",
    help_epilogue="With any command, --debug shows the traceback of an error.",
    usage="Usage: pysim SCENE [OPTIONS]  or  pysim COMMAND [OPTIONS]",
    help_format="plaintext",
    version=__version__,
    default_parameter=Parameter(negative=(), show_default=False),
    suppress_keyboard_interrupt=False,
    result_action="return_value",
    console=LastingConsole(),
)
