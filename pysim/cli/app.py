"""Command-line interface: the commands and their options, errors as one line, and the exit status.

Exit status: 0 done, 1 internal error of pysim, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, CycloptsError, Parameter
from cyclopts.exceptions import UnusedCliTokensError

from pysim import __version__
from pysim.cli import INTERRUPTED
from pysim.cli.files import existing
from pysim.cli.messages import print_message, warnings_as_lines
from pysim.cli.streams import LastingConsole, discard, flush_results, lasting_streams
from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Sequence

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

Overrides = Annotated[
    tuple[str, ...], Parameter(name="--set", consume_multiple=False, metavar="KEY=VALUE")
]
Unset = Annotated[tuple[str, ...], Parameter(name="--unset", consume_multiple=False, metavar="KEY")]
Folders = Annotated[
    tuple[Path, ...], Parameter(name="--package-dir", consume_multiple=False, metavar="FOLDER")
]
MeshFolders = Annotated[
    tuple[Path, ...], Parameter(name="--mesh-dir", consume_multiple=False, metavar="FOLDER")
]
Files = Annotated[tuple[Path, ...], Parameter(consume_multiple=False, metavar="FILE")]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=False, metavar="NAME")]
Grids = Annotated[tuple[str, ...], Parameter(consume_multiple=False, metavar="KEY=VALUES")]
Samples = Annotated[tuple[str, ...], Parameter(consume_multiple=False, metavar="KEY~DISTRIBUTION")]
Output = Annotated[Path | None, Parameter(alias="-o", metavar="FILE")]
Picture = Annotated[Path | None, Parameter(metavar="FILE")]
Seconds = Annotated[float | None, Parameter(metavar="SECONDS")]


def answer(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    with lasting_streams():
        return _status(words, debug=debug)


def _status(words: Sequence[str], *, debug: bool) -> int:
    """Run a command; errors are printed as lines."""
    try:
        if words and not words[0].startswith("-") and words[0] not in app:
            existing(words[0])  # before the arguments of a mistyped command are parsed
        with warnings_as_lines():
            status = app(words or ["--help"], exit_on_error=False, print_error=False)
            flush_results()
            return int(status or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # a plugin prints to a closed stream
        discard(sys.stdout)
        return 0
    except Exception as error:  # noqa: BLE001, the last resort
        if debug:
            traceback.print_exception(error)
        return _explain(error)


@app.default
def run(
    scene: str,
    /,
    *,
    output: Output = None,
    movie: Picture = None,
    still: Picture = None,
    duration: Seconds = None,
    step: Seconds = None,
    set_: Overrides = (),
    unset: Unset = (),
    package_dir: Folders = (),
    overwrite: bool = False,
    quiet: bool = False,
    allow_code: bool = False,
    live: bool = False,
    policy: Annotated[Path | None, Parameter(metavar="FILE")] = None,
) -> int:
    """Run a scene and write its trajectory.

    Parameters
    ----------
    scene
        Scene file (.toml).
    output
        Trajectory file to write; by default the scene's name with .h5, in the working directory.
    movie
        Also write a movie of the run, .mp4, .webm or .gif.
    still
        Also write a picture of the final state, .png.
    duration
        Simulated time [s], instead of the scene's.
    step
        Step [s], instead of the scene's.
    set_
        Override any key of the scene, such as simulation.step=1e-4; may be repeated.
    unset
        Remove a key of the scene, such as simulation.rtol; may be repeated.
    package_dir
        Folder with packages, or a package: the scene may read meshes in it; may be repeated.
    overwrite
        Replace the trajectory at --output, even an incomplete one or one of another scene.
    quiet
        Print errors and warnings only.
    allow_code
        Run Python code that the scene names. Use it for trusted scenes only.
    live
        Watch the run in a window, in step with the clock; the mouse pulls at bodies.
    policy
        Policy of `pysim learn` that acts in the scene's [environment].
    """
    from pysim.cli.run import RunOptions, run_scene  # noqa: PLC0415, each command loads its own

    options = RunOptions(
        output,
        movie,
        still,
        duration,
        set_,
        overwrite,
        quiet,
        allow_code,
        unset,
        package_dir,
        live,
        policy,
        step,
    )
    return run_scene(existing(scene, package_dir), options)


@app.command
def check(
    scene: str,
    /,
    *,
    set_: Overrides = (),
    unset: Unset = (),
    package_dir: Folders = (),
    allow_code: bool = False,
    strict: bool = False,
    tree: bool = False,
    meshes: bool = False,
    ranges: bool = False,
    linear: bool = False,
    json: bool = False,
    full: bool = False,
) -> int:
    """Read a scene or a robot and print its content and what looks wrong, without running it.

    Parameters
    ----------
    scene
        Scene (.toml) or model of another program (.urdf, …), a path or package://NAME/path.
    set_
        Override any key of the scene, such as simulation.step=1e-4; may be repeated.
    unset
        Remove a key of the scene, such as simulation.rtol; may be repeated.
    package_dir
        Folder with packages, or a package: the file may read meshes in it; may be repeated.
    allow_code
        Run Python code that the scene names, and expand a robot by xacro.
    strict
        Reject a model of another program if parts of it would be left out; exit with status 3 if there are warnings.
    tree
        Draw the tree of bodies.
    meshes
        Compare stated inertias with those of the meshes.
    ranges
        Move the joints through their ranges and report links whose collision shapes overlap.
    linear
        Linearise a scene about its start and print its poles, with frequency and damping, and what moves in each.
    json
        Print one JSON object instead of text.
    full
        Print every contact; otherwise contacts of two mechanisms share a row if their laws are equal.
    """
    from pysim.cli.check import CheckOptions, check_scene  # noqa: PLC0415

    options = CheckOptions(
        set_, unset, package_dir, allow_code, strict, tree, meshes, ranges, linear, json, full
    )
    return check_scene(existing(scene, package_dir), options)


@app.command
def convert(
    source: str,
    target: Path,
    /,
    *,
    copy_meshes: bool = False,
    partial: bool = False,
    keyframe: str | None = None,
    inertia: str = "check",
    free_base: bool = False,
    package_dir: Folders = (),
    overwrite: bool = False,
    allow_code: bool = False,
) -> None:
    """Write a scene or robot in another format: .toml or .urdf.

    Parameters
    ----------
    source
        Scene (.toml) or model of another program (.urdf, .xml, .sdf, …), a path or package://NAME/path.
    target
        File to write, a scene (.toml) or a robot (.urdf).
    copy_meshes
        Copy the meshes into a folder beside the new file.
    partial
        Leave out what the format cannot hold, with a warning each.
    keyframe
        State of the file at which the new scene starts.
    inertia
        How to treat a physically inconsistent inertia: check, strict or nearest.
    free_base
        The root link of a URDF floats.
    package_dir
        Folder with packages, or a package: the file may read meshes in it; may be repeated.
    overwrite
        Replace the file.
    allow_code
        Run Python code that a scene names, and expand a robot by xacro.
    """
    from pysim.cli.convert import convert_file  # noqa: PLC0415, each command loads its own

    convert_file(
        existing(source, package_dir),
        target,
        copy_meshes=copy_meshes,
        partial=partial,
        keyframe=keyframe,
        inertia=inertia,
        free_base=free_base,
        package_dirs=package_dir,
        overwrite=overwrite,
        allow_code=allow_code,
    )


@app.command
def schema() -> None:
    """Print the JSON Schema of scene files, for completion and checks in editors."""
    from pysim.scene import scene_schema  # noqa: PLC0415, each command loads its own

    sys.stdout.write(json.dumps(scene_schema(), indent=2) + "\n")


@app.command
def view(
    file: str,
    /,
    *others: Path,
    movie: Picture = None,
    still: Picture = None,
    plot: Names = (),
    set_: Overrides = (),
    scene: Picture = None,
    package_dir: Folders = (),
    allow_code: bool = False,
) -> None:
    """Show a trajectory in a window, or pose a scene or a robot with sliders.

    Parameters
    ----------
    file
        Trajectory (.h5), to play; scene (.toml) or robot (.urdf, .xml, …), to pose.
    others
        Further trajectories, drawn translucent to compare.
    movie
        Make a movie of a trajectory instead of opening a window, .mp4, .webm or .gif.
    still
        Write a picture of the final state instead of opening a window, .png.
    plot
        Quantity whose curve is drawn beside the scene, as "v.*" or energy; may be repeated.
    set_
        Set a key of [render], as azimuth=30; may be repeated.
    scene
        Scene file into whose [render] table the key w writes the view.
    package_dir
        Folder with packages, or a package: the file may read meshes in it; may be repeated.
    allow_code
        Run Python code that a scene names. Use it for trusted scenes only.
    """
    from pysim.cli.show import view_file  # noqa: PLC0415

    view_file(
        existing(file, package_dir),
        others=tuple(map(existing, others)),
        movie=movie,
        still=still,
        package_dirs=package_dir,
        allow_code=allow_code,
        plots=plot,
        settings=set_,
        scene=None if scene is None else existing(scene),
    )


@app.command
def movie(
    trajectory: Path,
    /,
    *others: Path,
    output: Output = None,
    size: str | None = None,
    fps: float | None = None,
    speed: float | None = None,
    set_: Overrides = (),
    compare: Files = (),
    quiet: bool = False,
) -> None:
    """Make a movie of a trajectory. No display is needed.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    others
        Further trajectories, drawn translucent to compare.
    output
        Movie to write, .mp4, .webm or .gif; otherwise the trajectory's name with .mp4, here.
    size
        Width and height [pixel], as 1280x720.
    fps
        Frames a second [1/s].
    speed
        Simulated seconds a second of the movie.
    set_
        Set a key of [render], as azimuth=30; may be repeated.
    compare
        Further trajectory, drawn translucent; may be repeated.
    quiet
        Print errors and warnings only.
    """
    from pysim.cli.show import PictureOptions, movie_of_file  # noqa: PLC0415

    options = PictureOptions(
        output, size, fps, speed, set_, tuple(map(existing, (*others, *compare))), quiet
    )
    movie_of_file(existing(trajectory), options)


@app.command
def still(
    file: str,
    /,
    *others: Path,
    at: Seconds = None,
    output: Output = None,
    size: str | None = None,
    set_: Overrides = (),
    compare: Files = (),
    package_dir: Folders = (),
    allow_code: bool = False,
    quiet: bool = False,
) -> None:
    """Make a picture of a trajectory at a time, or of the start of a scene or robot. No display is needed.

    Parameters
    ----------
    file
        Trajectory (.h5), scene (.toml) or robot (.urdf, .xml, …).
    others
        Further trajectories, drawn translucent to compare.
    at
        Time [s]; otherwise the end of the trajectory.
    output
        Picture to write, .png, .jpg or .webp; otherwise the file's name with .png, here.
    size
        Width and height [pixel], as 1280x720.
    set_
        Set a key of [render], as azimuth=30; may be repeated.
    compare
        Further trajectory, drawn translucent; may be repeated.
    package_dir
        Folder with packages, or a package: the file may read meshes in it; may be repeated.
    allow_code
        Run Python code that a scene names. Use it for trusted scenes only.
    quiet
        Print errors and warnings only.
    """
    from pysim.cli.show import PictureOptions, still_of_file  # noqa: PLC0415

    options = PictureOptions(
        output, size, settings=set_, others=tuple(map(existing, (*others, *compare))), quiet=quiet
    )
    path = existing(file, package_dir)
    still_of_file(path, options, at, package_dirs=package_dir, allow_code=allow_code)


@app.command
def web(
    trajectory: Path,
    /,
    *others: Path,
    output: Output = None,
    fps: float = 30.0,
    dark: bool | None = None,
    plot: Names = (),
    mesh_dir: MeshFolders = (),
    quiet: bool = False,
) -> None:
    """Write a web page that plays a trajectory in any browser: one file, without a server or network.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    others
        Further trajectories, drawn beside it in other colours.
    output
        Page to write, .html; otherwise the file's name with .html, here.
    fps
        Frames of a second of the run.
    dark
        Begin dark, or with --no-dark light; otherwise as the browser prefers.
    plot
        Quantity whose curve the page has, such as "v.*"; may be repeated. By default q, v, forces and energy.
    mesh_dir
        Folder with the meshes of the bodies, where they are no longer at their place; may be repeated.
    quiet
        Print errors and warnings only.
    """
    from pysim.cli.show import write_page  # noqa: PLC0415

    paths = [existing(path) for path in (trajectory, *others)]
    write_page(paths, output, fps=fps, dark=dark, plots=plot, mesh_dirs=mesh_dir, quiet=quiet)


@app.command
def gltf(
    trajectory: Path,
    /,
    *,
    output: Output = None,
    fps: float = 30.0,
    mesh_dir: MeshFolders = (),
    quiet: bool = False,
) -> None:
    """Export a trajectory as animated glTF, which Blender and other editors open.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    output
        File to write, .glb; otherwise the trajectory's name with .glb, here.
    fps
        Keyframes of a second of the run.
    mesh_dir
        Folder with the meshes of the bodies, where they are no longer at their place; may be repeated.
    quiet
        Print errors and warnings only.
    """
    from pysim.cli.show import write_export  # noqa: PLC0415

    write_export("gltf", existing(trajectory), output, fps=fps, mesh_dirs=mesh_dir, quiet=quiet)


@app.command
def usd(
    trajectory: Path,
    /,
    *,
    output: Output = None,
    fps: float = 30.0,
    mesh_dir: MeshFolders = (),
    quiet: bool = False,
) -> None:
    """Export a trajectory as Universal Scene Description, which usdview, Omniverse and Blender open.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    output
        File to write, .usd, .usda or .usdc; otherwise the trajectory's name with .usd, here.
    fps
        Samples of a second of the run, and time codes of a second.
    mesh_dir
        Folder with the meshes of the bodies, where they are no longer at their place; may be repeated.
    quiet
        Print errors and warnings only.
    """
    from pysim.cli.show import write_export  # noqa: PLC0415

    write_export("usd", existing(trajectory), output, fps=fps, mesh_dirs=mesh_dir, quiet=quiet)


@app.command
def plot(
    *words: str,
    output: Output = None,
    against: str | None = None,
    spectrum: bool = False,
    energy: bool = False,
    names: bool = False,
    quiet: bool = False,
) -> None:
    """Plot recorded quantities of a trajectory over time, or of several to compare them; or the results of a sweep.

    Parameters
    ----------
    words
        Trajectory files (.h5), then quantities: v.hinge, energy, "contacts.*.force"; otherwise q, v, forces and energy.
        Or the dataset of a sweep (.nc), then results to compare with its parameters, as q.hinge (at the end) or
        q.hinge.max.
    output
        Picture to write (.png, .pdf, .svg) instead of opening a window.
    against
        Quantity on the horizontal axis instead of the time, as q.hinge.
    spectrum
        Plot amplitudes over the frequency.
    energy
        Plot the energies, their balance, and the work of every element.
    names
        Print the names of the quantities instead.
    quiet
        Print errors and warnings only.
    """
    from pysim.cli.show import plot_files  # noqa: PLC0415

    plot_files(
        words,
        output,
        against=against,
        spectrum=spectrum,
        energy=energy,
        list_names=names,
        quiet=quiet,
    )


@app.command
def identify(
    scene: str,
    data: Path,
    /,
    *,
    output: Output = None,
    plot: Picture = None,
    body: Names = (),
    payload: str | None = None,
    resistance: Names = (),
    prior: float = 1.0,
    using: str = "torque",
    window: Seconds = 0.2,
    free_base: bool = False,
    package_dir: Folders = (),
    overwrite: bool = False,
) -> None:
    """Identify masses, inertias, friction or a payload from a recorded motion.

    Parameters
    ----------
    scene
        Scene (.toml) or robot (.urdf), a path or package://NAME/path; its parameters are the prior.
    data
        Recording (.csv: t, q.NAME, tau.NAME, and v.NAME, a.NAME where measured), or trajectory (.h5) of the scene.
    output
        File to write with the parameters found, of the scene's kind.
    plot
        Draw measured and explained torques, .png, .pdf or .svg.
    body
        Identify this body only; may be repeated.
    payload
        Frame that carries an unknown body; everything else is known.
    resistance
        Identify damping, friction, armature or offset too; may be repeated.
    prior
        Relative uncertainty of the file's parameters: 0.1 is 10 %, 1 gives them little weight.
    using
        Equations to use: torque, energy, or momentum (of a floating base).
    window
        Length of the differentiating filter [s].
    free_base
        The root link of a URDF floats.
    package_dir
        Folder with packages, or a package: the file may read meshes in it; may be repeated.
    overwrite
        Replace the file at --output.
    """
    from pysim.cli.identify import IdentifyOptions, identify_file  # noqa: PLC0415

    options = IdentifyOptions(
        output,
        plot,
        body,
        payload,
        resistance,
        prior,
        using,
        window or 0.2,
        free_base,
        overwrite,
        package_dir,
    )
    identify_file(existing(scene, package_dir), existing(data), options)


@app.command
def sweep(
    scene: str,
    /,
    *,
    grid: Grids = (),
    sample: Samples = (),
    n: Annotated[int | None, Parameter(name="-n")] = None,
    output: Output = None,
    method: str | None = None,
    seed: int | None = None,
    signal: Names = (),
    duration: Seconds = None,
    step: Seconds = None,
    set_: Overrides = (),
    threads: int = 0,
    scheduler: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    allow_code: bool = False,
) -> int:
    """Run a scene with many values of its parameters and write one dataset.

    Without --grid and --sample, the parameters are those of the scene's [sweep] table.

    Parameters
    ----------
    scene
        Scene file (.toml).
    grid
        Values of a key, such as joint.hinge.damping=0:1:21 (first, last, number) or =1,2,5; may be repeated.
    sample
        Distribution of a key, as body.rod.mass~normal(1,0.05); also uniform, loguniform, triangular; may be repeated.
    n
        Number of samples, at each combination of the grids.
    output
        Dataset to write; by default the scene's name with .nc. An unfinished sweep in it is continued.
    method
        Sampling method: random, latin_hypercube or sobol; by default that of [sweep], or random.
    seed
        Seed of the samples; by default that of [sweep], or 0.
    signal
        Signal to record over time, such as q.hinge, v.hinge, position.tool.x or energy; may be repeated.
    duration
        Simulated time of every world [s], instead of the scene's.
    step
        Step [s], instead of the scene's.
    set_
        Override any key of the scene in all worlds, such as gravity=[0,0,-1.6]; may be repeated.
    threads
        Threads that share the worlds; 0 uses every processor.
    scheduler
        Address of a Dask scheduler, as tcp://host:8786, whose workers run the worlds.
    overwrite
        Replace another sweep at --output, or start again.
    quiet
        Print errors and warnings only.
    allow_code
        Run Python code that the scene names. Use it for trusted scenes only.
    """
    from pysim.cli.sweep import SweepOptions, sweep_scene  # noqa: PLC0415

    options = SweepOptions(
        grid,
        sample,
        n,
        output,
        method,
        seed,
        signal,
        set_,
        threads,
        scheduler,
        overwrite,
        quiet,
        allow_code,
        duration,
        step,
    )
    return sweep_scene(existing(scene), options)


@app.command
def learn(
    scene: str,
    /,
    *,
    output: Output = None,
    worlds: int = 1024,
    steps: float = 10e6,
    seed: int = 0,
    threads: int = 0,
    set_: Overrides = (),
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
    allow_code: bool = False,
    double: bool = False,
) -> int:
    """Learn a policy for the [environment] of a scene, by PPO (extra `learn`).

    Parameters
    ----------
    scene
        Scene file (.toml) with an [environment] table.
    output
        Policy to write, .npz; by default the scene's name with _policy.npz. Its checkpoint has the suffix .pt.
    worlds
        Number of worlds that are stepped together.
    steps
        Control steps of all worlds together, such as 10e6.
    seed
        Of the network's start and of everything random.
    threads
        Of worlds and network; 0 uses every processor.
    set_
        Override any key of the scene, such as environment.action.scale=0.2; may be repeated.
    resume
        Go on from the checkpoint beside --output.
    overwrite
        Replace the policy at --output.
    quiet
        Print errors and warnings only.
    allow_code
        Run Python code that the scene names. Use it for trusted scenes only.
    double
        Step the worlds in double precision. By default they are in single precision where the scene allows it.
    """
    from pysim.cli.learn import LearnOptions, learn_scene  # noqa: PLC0415, torch costs seconds

    options = LearnOptions(
        output, worlds, steps, seed, threads, set_, resume, overwrite, quiet, allow_code, double
    )
    return learn_scene(existing(scene), options)


@app.command
def resume(
    trajectory: Path,
    /,
    *,
    force: bool = False,
    package_dir: Folders = (),
    quiet: bool = False,
    allow_code: bool = False,
) -> int:
    """Continue a run that was stopped or killed, in its file.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5) of the run.
    force
        Go on although the scene, its plugins, pysim or the instruction set have changed.
    package_dir
        Folder with packages, or a package: the scene may read meshes in it; may be repeated.
    quiet
        Print errors and warnings only.
    allow_code
        Run Python code that the scene names. Use it for trusted scenes only.
    """
    from pysim.cli.resume import ResumeOptions, resume_file  # noqa: PLC0415

    options = ResumeOptions(force, quiet, allow_code, package_dir)
    return resume_file(existing(trajectory), options)


@app.command
def replay(
    trajectory: Path,
    /,
    *,
    steps: int = 20,
    force: bool = False,
    package_dir: Folders = (),
    allow_code: bool = False,
) -> int:
    """Print the last steps of a run that failed, and the likely cause.

    Parameters
    ----------
    trajectory
        Trajectory file of the run (.h5); it stays as it is.
    steps
        Number of steps before the failure.
    force
        Go on although the scene, its plugins, pysim or the instruction set have changed.
    package_dir
        Folder with packages, or a package: the scene may read meshes in it; may be repeated.
    allow_code
        Run Python code that the scene names. Use it for trusted scenes only.
    """
    from pysim.cli.replay import replay_file  # noqa: PLC0415

    return replay_file(
        existing(trajectory), steps, force=force, allow_code=allow_code, package_dirs=package_dir
    )


@app.command
def joints(
    name: str | None = None,
    /,
    *,
    still: Picture = None,
    set_: Overrides = (),
    plugin: Annotated[Path | None, Parameter(metavar="FILE")] = None,
) -> None:
    """List the joint types, or describe one: coordinates, keys, units.

    Parameters
    ----------
    name
        A joint type, such as `revolute`.
    still
        Draw its motion over the range of its coordinates, .png.
    set_
        Set a key of the joint, such as lift=0.1; may be repeated.
    plugin
        Run a Python file that defines joints first.
    """
    from pysim.cli.joints import JointOptions, describe_joints  # noqa: PLC0415

    options = JointOptions(still, set_, existing(plugin) if plugin else None)
    describe_joints(name, options)


@app.command
def elements(
    name: str | None = None,
    /,
    *,
    plugin: Annotated[Path | None, Parameter(metavar="FILE")] = None,
) -> None:
    """List forces, signals, sensors, controllers and actuators, or describe one.

    Parameters
    ----------
    name
        A kind (force, signal, sensor, controller, actuator), or a type, as `pid`.
    plugin
        Run a Python file that defines some first.
    """
    from pysim.cli.elements import describe_elements  # noqa: PLC0415

    describe_elements(name, existing(plugin) if plugin else None)


@app.command
def export(
    trajectory: Path, /, *, csv: bool = False, output: Output = None, overwrite: bool = False
) -> None:
    """Write times, states, energies and signals of a trajectory as a table.

    Parameters
    ----------
    trajectory
        File that a run wrote.
    csv
        Write comma-separated values; a first line has the names of the columns.
    output
        File to write; otherwise the trajectory's name with .csv.
    overwrite
        Replace a file of that name.
    """
    from pysim.cli.export import export_csv  # noqa: PLC0415

    if not csv:
        raise PysimError("export", "no format is given; write --csv")
    export_csv(existing(trajectory), output, overwrite=overwrite)


@app.command
def new(kind: str, name: str, /) -> None:
    """Write a plugin to start from, NAME.py, and its test, test_NAME.py.

    Parameters
    ----------
    kind
        What it is: joint, force, controller or sensor.
    name
        Its type in scenes, such as `cross_wind`.
    """
    from pysim.cli.new_element import write_plugin  # noqa: PLC0415

    write_plugin(kind, name)


def _explain(error: Exception) -> int:
    """Print an error as one line and return the exit status."""
    if isinstance(error, CycloptsError):
        print_message("error", f"command line: {_usage_problem(error)}; see pysim --help")
    elif isinstance(error, OSError) and error.filename is not None:
        print_message("error", f"{error.filename}: {(error.strerror or str(error)).lower()}")
    elif isinstance(error, ValueError | OSError):  # a PysimError is a ValueError
        print_message("error", str(error))
    else:
        text = f"pysim: {type(error).__name__}: {error}"
        print_message(
            "error",
            f"{text}; this is a bug in pysim; run again with --debug and report the traceback",
        )
        return 1
    return 2


def _usage_problem(error: CycloptsError) -> str:
    """Return a usage error of cyclopts as one line."""
    if isinstance(error, UnusedCliTokensError):
        return f"unexpected {' '.join(error.unused_tokens or ())!r}"
    text = str(error).strip().rstrip(".?").replace(". Did you mean ", "; did you mean ")
    return text[:1].lower() + text[1:] + ("?" if "did you mean" in text else "")
