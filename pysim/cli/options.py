"""Options of the commands: a record for each, whose fields have the help that the command prints.

The file is a list, one record a command, long because there are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

from cyclopts import Parameter

Record = TypeVar("Record")


def _repeated(metavar: str, **more: Any) -> Parameter:  # noqa: ANN401, see Parameter
    """Return an option that may be repeated."""
    return Parameter(consume_multiple=False, metavar=metavar, **more)


Names = Annotated[tuple[str, ...], _repeated("NAME")]
Overrides = Annotated[tuple[str, ...], _repeated("KEY=VALUE", name="--set")]
OfScene = Annotated[
    Overrides,
    Parameter(help="Override any key of the scene, such as simulation.step=1e-4; may be repeated."),
]
OfRender = Annotated[
    Overrides, Parameter(help="Set a key of [render], as azimuth=30; may be repeated.")
]
Unset = Annotated[
    tuple[str, ...],
    _repeated(
        "KEY",
        name="--unset",
        help="Remove a key of the scene, such as simulation.rtol; may be repeated.",
    ),
]
Folders = Annotated[
    tuple[Path, ...],
    _repeated(
        "FOLDER",
        name="--package-dir",
        help="Folder with packages, or a package: the file may read meshes in it; may be repeated.",
    ),
]
MeshFolders = Annotated[
    tuple[Path, ...],
    _repeated(
        "FOLDER",
        name="--mesh-dir",
        help="Folder with the meshes of the bodies, where they are no longer at their place; may be repeated.",
    ),
]
Compared = Annotated[
    tuple[Path, ...],
    _repeated(
        "FILE", name="--compare", help="Further trajectory, drawn translucent; may be repeated."
    ),
]
Output = Annotated[Path | None, Parameter(alias="-o", metavar="FILE")]
File = Annotated[Path | None, Parameter(metavar="FILE")]
Seconds = Annotated[float | None, Parameter(metavar="SECONDS")]
Step = Annotated[Seconds, Parameter(help="Step [s], instead of the scene's.")]
Size = Annotated[str | None, Parameter(help="Width and height [pixel], as 1280x720.")]
Quiet = Annotated[bool, Parameter(help="Print errors and warnings only.")]
Verbose = Annotated[
    bool,
    Parameter(
        help="Summarise the solver, the work of the largest elements and how far the balance closes, too."
    ),
]
Trusted = Annotated[
    bool,
    Parameter(help="Run Python code that the scene names. Use it for trusted scenes only."),
]
Expanded = Annotated[
    bool,
    Parameter(help="Run Python code that the scene names, and expand a robot by xacro."),
]
Forced = Annotated[
    bool,
    Parameter(
        help="Go on although the scene, its plugins, pysim or the instruction set have changed."
    ),
]
FreeBase = Annotated[bool, Parameter(help="The root link of a URDF floats.")]


@dataclass_transform(frozen_default=True)
def _options(record: type[Record]) -> type[Record]:
    return Parameter(name="*")(dataclass(frozen=True)(record))


@_options
class RunOptions:
    """Options of the default command."""

    output: Output = None
    """Trajectory file to write; by default the scene's name with .h5, in the working directory."""
    movie: File = None
    """Also write a movie of the run, .mp4, .webm or .gif."""
    still: File = None
    """Also write a picture of the final state, .png."""
    duration: Seconds = None
    """Simulated time [s], instead of the scene's."""
    step: Step = None
    overrides: OfScene = ()
    unset: Unset = ()
    package_dirs: Folders = ()
    overwrite: bool = False
    """Replace the trajectory at --output, even an incomplete one or one of another scene."""
    quiet: Quiet = False
    verbose: Verbose = False
    allow_code: Trusted = False
    live: bool = False
    """Watch the run in a window, in step with the clock; the mouse pulls at bodies."""
    policy: File = None
    """Policy of `pysim learn` that acts in the scene's [environment]."""


@_options
class CheckOptions:
    """Options of `pysim check`."""

    overrides: OfScene = ()
    unset: Unset = ()
    package_dirs: Folders = ()
    allow_code: Expanded = False
    strict: bool = False
    """Reject a model of another program if parts would be left out; exit with status 3 if there are warnings."""
    tree: bool = False
    """Draw the tree of bodies."""
    meshes: bool = False
    """Compare stated inertias with those of the meshes."""
    ranges: bool = False
    """Move the joints through their ranges and report links whose collision shapes overlap."""
    linear: bool = False
    """Linearise a scene about its start and print its poles, with frequency and damping, and what moves in each."""
    json: bool = False
    """Print one JSON object instead of text."""
    full: bool = False
    """Print every contact; otherwise contacts of two mechanisms share a row if their laws are equal."""


@_options
class FormatOptions:
    """Options of `pysim convert`."""

    copy_meshes: bool = False
    """Copy the meshes into a folder beside the new file."""
    partial: bool = False
    """Leave out what the format cannot hold, with a warning each."""
    keyframe: str | None = None
    """State of the file at which the new scene starts."""
    inertia: str = "check"
    """How to treat a physically inconsistent inertia: check, strict or nearest."""
    free_base: FreeBase = False
    package_dirs: Folders = ()
    overwrite: bool = False
    """Replace the file."""
    allow_code: Expanded = False


@_options
class ViewOptions:
    """Options of `pysim view`."""

    movie: File = None
    """Make a movie of a trajectory instead of opening a window, .mp4, .webm or .gif."""
    still: File = None
    """Write a picture of the final state instead of opening a window, .png."""
    plot: Names = ()
    """Quantity whose curve is drawn beside the scene, as "v.*" or energy; may be repeated."""
    settings: OfRender = ()
    scene: File = None
    """Scene file into whose [render] table the key w writes the view."""
    package_dirs: Folders = ()
    allow_code: Trusted = False


@_options
class MovieOptions:
    """Options of `pysim movie`."""

    output: Output = None
    """Movie to write, .mp4, .webm or .gif; otherwise the trajectory's name with .mp4, here."""
    size: Size = None
    fps: float | None = None
    """Frames a second [1/s]."""
    speed: float | None = None
    """Simulated seconds a second of the movie."""
    settings: OfRender = ()
    compare: Compared = ()
    quiet: Quiet = False


@_options
class StillOptions:
    """Options of `pysim still`."""

    at: Seconds = None
    """Time [s]; otherwise the end of the trajectory."""
    output: Output = None
    """Picture to write, .png, .jpg or .webp; otherwise the file's name with .png, here."""
    size: Size = None
    settings: OfRender = ()
    compare: Compared = ()
    package_dirs: Folders = ()
    allow_code: Trusted = False
    quiet: Quiet = False


@_options
class PageOptions:
    """Options of `pysim web`."""

    output: Output = None
    """Page to write, .html; otherwise the file's name with .html, here."""
    fps: float = 30.0
    """Frames of a second of the run."""
    dark: bool | None = None
    """Begin dark, or with --no-dark light; otherwise as the browser prefers."""
    plot: Names = ()
    """Quantity whose curve the page has, such as "v.*"; may be repeated. By default q, v, forces and energy."""
    mesh_dirs: MeshFolders = ()
    quiet: Quiet = False


@_options
class ExportOptions:
    """Options of the commands that export a trajectory, such as `pysim gltf`."""

    output: Output = None
    """File to write, such as run.glb or run.usda; otherwise the trajectory's name with the format's suffix, here."""
    fps: float = 30.0
    """Keyframes, or samples and time codes, of a second of the run."""
    mesh_dirs: MeshFolders = ()
    quiet: Quiet = False


@_options
class FmuOptions:
    """Options of `pysim fmu`."""

    output: Output = None
    """FMU to write; otherwise the scene's name with .fmu, here."""
    fmi: Annotated[int, Parameter(name="--version")] = 2
    """Version of the FMI standard, 2 or 3."""
    inputs: Names = ()
    """Input that the FMU has, or a pattern as "target*"; all by default; may be repeated."""
    outputs: Names = ()
    """Output that the FMU has, or a pattern as "q.*"; all by default; may be repeated."""
    parameters: Names = ()
    """Number of the scene that may be set, or a pattern as "body.*.mass"; none by default; may be repeated."""
    model_exchange: bool = False
    """Write it for model exchange, too, which integrators of the master step."""
    overrides: OfScene = ()
    unset: Unset = ()
    package_dirs: Folders = ()
    allow_code: Expanded = False
    overwrite: bool = False
    """Replace the file."""
    quiet: Quiet = False


@_options
class PlotOptions:
    """Options of `pysim plot`."""

    output: Output = None
    """Picture to write (.png, .pdf, .svg) instead of opening a window."""
    against: str | None = None
    """Quantity on the horizontal axis instead of the time, as q.hinge."""
    spectrum: bool = False
    """Plot amplitudes over the frequency."""
    energy: bool = False
    """Plot the energies, their balance, and the work of every element."""
    names: bool = False
    """Print the names of the quantities instead."""
    quiet: Quiet = False


@_options
class IdentifyOptions:
    """Options of `pysim identify`."""

    output: Output = None
    """File to write with the parameters found, of the scene's kind."""
    plot: File = None
    """Draw measured and explained torques, .png, .pdf or .svg."""
    body: Names = ()
    """Identify this body only; may be repeated."""
    payload: str | None = None
    """Frame that carries an unknown body; everything else is known."""
    resistance: Names = ()
    """Identify damping, friction, armature or offset too; may be repeated."""
    prior: float = 1.0
    """Relative uncertainty of the file's parameters: 0.1 is 10 %, 1 gives them little weight."""
    using: str = "torque"
    """Equations to use: torque, energy, or momentum (of a floating base)."""
    window: Annotated[float, Parameter(metavar="SECONDS")] = 0.2
    """Length of the differentiating filter [s]."""
    free_base: FreeBase = False
    package_dirs: Folders = ()
    overwrite: bool = False
    """Replace the file at --output."""


@_options
class SweepOptions:
    """Options of `pysim sweep`."""

    grid: Annotated[tuple[str, ...], _repeated("KEY=VALUES")] = ()
    """Values of a key, such as joint.hinge.damping=0:1:21 (first, last, number) or =1,2,5; may be repeated."""
    sample: Annotated[tuple[str, ...], _repeated("KEY~DISTRIBUTION")] = ()
    """Distribution of a key, as body.rod.mass~normal(1,0.05); also uniform, loguniform, triangular; may be repeated."""
    n: Annotated[int | None, Parameter(name="-n")] = None
    """Number of samples, at each combination of the grids."""
    output: Output = None
    """Dataset to write; by default the scene's name with .nc. An unfinished sweep in it is continued."""
    method: str | None = None
    """Sampling method: random, latin_hypercube or sobol; by default that of [sweep], or random."""
    seed: int | None = None
    """Seed of the samples; by default that of [sweep], or 0."""
    signal: Names = ()
    """Signal to record over time, such as q.hinge, v.hinge, position.tool.x or energy; may be repeated."""
    duration: Seconds = None
    """Simulated time of every world [s], instead of the scene's."""
    step: Step = None
    overrides: Overrides = ()
    """Override any key of the scene in all worlds, such as gravity=[0,0,-1.6]; may be repeated."""
    threads: int = 0
    """Threads that share the worlds; 0 uses every processor."""
    policy: File = None
    """Policy of `pysim learn` that acts in the scene's [environment]."""
    scheduler: str | None = None
    """Address of a Dask scheduler, as tcp://host:8786, whose workers run the worlds."""
    overwrite: bool = False
    """Replace another sweep at --output, or start again."""
    quiet: Quiet = False
    allow_code: Trusted = False


@_options
class OptimiseOptions:
    """Options of `pysim optimise`."""

    number: Annotated[tuple[str, ...], _repeated("KEY=LOWER:UPPER")] = ()
    """Bounds of a number, as parameters.crank=0.05:0.2, or =0.05:0.2:0.1 with a start; may be repeated."""
    minimise: str | None = None
    """Quantity to minimise, SIGNAL.STATISTIC, as energy.end or q.hinge.max."""
    residual: Names = ()
    """Signal, half the sum of whose squares over all outputs is minimised instead; may be repeated."""
    constraint: Annotated[tuple[str, ...], _repeated("QUANTITY=LOWER:UPPER")] = ()
    """Bounds of a quantity, as force.load.max=-inf:200; may be repeated."""
    method: str = "local"
    """local, by slopes from the start, or global, by differential evolution first."""
    starts: int = 1
    """Number of starts of local searches within the bounds; the best end counts."""
    seed: int = 0
    """Seed of further starts and of the global method."""
    output: Output = None
    """Scene to write with the numbers that were found, .toml."""
    overrides: Overrides = ()
    threads: int = 0
    """Threads that share the worlds; 0 uses every processor."""
    overwrite: bool = False
    """Replace the file at --output."""
    quiet: Quiet = False
    allow_code: Trusted = False


@_options
class LearnOptions:
    """Options of `pysim learn`."""

    output: Output = None
    """Policy to write, .npz; by default the scene's name with _policy.npz. Its checkpoint is written beside it."""
    learner: str = "rsl_rl"
    """Program whose PPO learns: rsl_rl, or sb3 (stable-baselines3, extra `sb3`), whose checkpoint is a .zip."""
    worlds: int = 1024
    """Number of worlds that are stepped together."""
    steps: float = 10e6
    """Control steps of all worlds together, such as 10e6."""
    settle: float = 0.0
    """Last share of the steps, in which the policy changes ever less, such as 0.33."""
    seed: int = 0
    """Of the network's start and of everything random."""
    threads: int = 0
    """Processes that share the worlds; 0 uses every processor. Their number changes the policy, as the seed does."""
    overrides: Overrides = ()
    """Override any key of the scene, such as environment.action.scale=0.2; may be repeated."""
    resume: bool = False
    """Go on from the checkpoint beside --output."""
    overwrite: bool = False
    """Replace the policy at --output."""
    quiet: Quiet = False
    allow_code: Trusted = False
    double: bool = False
    """Step the worlds in double precision. By default they are in single precision where the scene allows it."""


@_options
class ResumeOptions:
    """Options of `pysim resume`."""

    force: Forced = False
    package_dirs: Folders = ()
    quiet: Quiet = False
    verbose: Verbose = False
    allow_code: Trusted = False


@_options
class ReplayOptions:
    """Options of `pysim replay`."""

    steps: int = 20
    """Number of steps before the failure."""
    force: Forced = False
    package_dirs: Folders = ()
    allow_code: Trusted = False


@_options
class JointOptions:
    """Options of `pysim joints`."""

    still: File = None
    """Draw its motion over the range of its coordinates, .png."""
    values: Overrides = ()
    """Set a key of the joint, such as lift=0.1; may be repeated."""
    plugin: File = None
    """Run a Python file that defines joints first."""


@_options
class MarkerOptions:
    """Options of `pysim ik`."""

    weight: Annotated[tuple[str, ...], Parameter(metavar="NAME=WEIGHT")] = ()
    """Weight of a marker, 1 by default; 0 leaves it out. May be given several times."""
    output: Output = None
    """File to write; otherwise the markers' name with .mot."""
    overwrite: bool = False
    """Replace a file of that name."""


@_options
class InverseDynamicsOptions:
    """Options of `pysim id`."""

    cutoff: Annotated[float | None, Parameter(metavar="HZ")] = None
    """Cutoff of a low-pass filter on the motion [Hz]; none by default."""
    loads: File = None
    """Table of measured loads (.mot, .sto), or OpenSim's file of external loads (.xml)."""
    on: Annotated[tuple[str, ...], Parameter(metavar="BODY=FORCE,POINT,TORQUE")] = ()
    """A load of that table: its body, and the beginnings of the names of its columns, which end with x, y and z."""
    output: Output = None
    """File to write; otherwise the motion's name with .sto."""
    overwrite: bool = False
    """Replace a file of that name."""


@_options
class ActivationOptions(InverseDynamicsOptions):
    """Options of `pysim so`."""

    reserve: Annotated[tuple[str, ...], Parameter(metavar="NAME=STRENGTH")] = ()
    """Strength of an ideal actuator on a velocity [N or N·m]; 1 of those that are not named."""
    forces: File = None
    """File to write the tensions of the muscles to; none by default."""


@_options
class TableOptions:
    """Options of `pysim export`."""

    csv: bool = False
    """Write comma-separated values; a first line has the names of the columns."""
    dxf: bool = False
    """Draw the paths of frames as curves [mm] in a DXF file."""
    frames: Annotated[tuple[str, ...], _repeated("NAME", name="--frame")] = ()
    """Frame or body whose places in the world are written; all frames by default with --dxf. May be given again."""
    output: Output = None
    """File to write; otherwise the trajectory's name with .csv or .dxf."""
    overwrite: bool = False
    """Replace a file of that name."""
