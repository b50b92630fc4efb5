"""Command-line interface: the commands and their options, errors as one line, and the exit status.

Exit status: 0 done, 1 internal error of pysim, 2 bad input, 130 interrupted. The file is long as a list of commands,
each a function of a few lines that hands its options to a module of its own.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import CycloptsError
from cyclopts.exceptions import UnusedCliTokensError

from pysim.cli.application import app
from pysim.cli.exit_status import INTERRUPTED
from pysim.cli.files import existing
from pysim.cli.messages import print_message, warnings_as_lines
from pysim.cli.options import (
    ActivationOptions,
    CheckOptions,
    ExportOptions,
    File,
    FmuOptions,
    FormatOptions,
    IdentifyOptions,
    InverseDynamicsOptions,
    JointOptions,
    LearnOptions,
    MarkerOptions,
    MovieOptions,
    OptimiseOptions,
    PageOptions,
    PlotOptions,
    ReplayOptions,
    ResumeOptions,
    RunOptions,
    StillOptions,
    SweepOptions,
    TableOptions,
    ViewOptions,
)
from pysim.cli.streams import discard, flush_results, lasting_streams
from pysim.trajectory.exporter import exporter_commands

if TYPE_CHECKING:
    from collections.abc import Sequence


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
def run(scene: str, /, *, options: RunOptions = RunOptions()) -> int:
    """Run a scene and write its trajectory.

    Parameters
    ----------
    scene
        Scene file (.toml).
    """
    from pysim.cli.run import run_scene  # noqa: PLC0415, each command loads its own

    return run_scene(existing(scene, options.package_dirs), options)


@app.command
def check(scene: str, /, *, options: CheckOptions = CheckOptions()) -> int:
    """Read a scene or a robot and print its content and what looks wrong, without running it.

    Parameters
    ----------
    scene
        Scene (.toml) or model of another program (.urdf, …), a path or package://NAME/path.
    """
    from pysim.cli.checks.command import check_scene  # noqa: PLC0415

    return check_scene(existing(scene, options.package_dirs), options)


@app.command
def convert(source: str, target: Path, /, *, options: FormatOptions = FormatOptions()) -> None:
    """Write a scene or robot in another format: .toml or .urdf.

    Parameters
    ----------
    source
        Scene (.toml) or model of another program (.urdf, .xml, .sdf, …), a path or package://NAME/path.
    target
        File to write, a scene (.toml) or a robot (.urdf).
    """
    from pysim.cli.convert import convert_file  # noqa: PLC0415

    convert_file(existing(source, options.package_dirs), target, options)


@app.command(name="ik")
def inverse_kinematics(
    model: Path, markers: Path, /, *, options: MarkerOptions = MarkerOptions()
) -> None:
    """Fit a model to measured markers, and write its motion as a .mot file.

    Parameters
    ----------
    model
        Model (.osim, .toml, .urdf, …) with frames that are named like the markers.
    markers
        Positions of the markers (.trc).
    """
    from pysim.cli.motions import fit_file  # noqa: PLC0415

    fit_file(existing(model), existing(markers), options)


@app.command(name="id")
def inverse_dynamics(
    model: Path, motion: Path, /, *, options: InverseDynamicsOptions = InverseDynamicsOptions()
) -> None:
    """Compute the generalised forces that a motion needs, and write them as a .sto file.

    Parameters
    ----------
    model
        Model (.osim, .toml, .urdf, …).
    motion
        Motion of its coordinates (.mot, .sto).
    """
    from pysim.cli.motions import force_file  # noqa: PLC0415

    force_file(existing(model), existing(motion), options)


@app.command(name="so")
def static_optimization(
    model: Path, motion: Path, /, *, options: ActivationOptions = ActivationOptions()
) -> None:
    """Compute the activations of least effort with which muscles give a motion, and write them as a .sto file.

    Parameters
    ----------
    model
        Model with muscles (.osim, .toml).
    motion
        Motion of its coordinates (.mot, .sto).
    """
    from pysim.cli.motions import activation_file  # noqa: PLC0415

    activation_file(existing(model), existing(motion), options)


@app.command
def schema() -> None:
    """Print the JSON Schema of scene files, for completion and checks in editors."""
    from pysim.scene import scene_schema  # noqa: PLC0415

    sys.stdout.write(json.dumps(scene_schema(), indent=2) + "\n")


@app.command
def view(file: str, /, *others: Path, options: ViewOptions = ViewOptions()) -> None:
    """Show a trajectory in a window, or pose a scene or a robot with sliders.

    Parameters
    ----------
    file
        Trajectory (.h5), to play; scene (.toml) or robot (.urdf, .xml, …), to pose.
    others
        Further trajectories, drawn translucent to compare.
    """
    from pysim.cli.show import view_file  # noqa: PLC0415

    view_file(existing(file, options.package_dirs), tuple(map(existing, others)), options)


@app.command
def movie(trajectory: Path, /, *others: Path, options: MovieOptions = MovieOptions()) -> None:
    """Make a movie of a trajectory. No display is needed.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    others
        Further trajectories, drawn translucent to compare.
    """
    from pysim.cli.show import movie_of_file  # noqa: PLC0415

    movie_of_file(existing(trajectory), tuple(map(existing, others)), options)


@app.command
def still(file: str, /, *others: Path, options: StillOptions = StillOptions()) -> None:
    """Make a picture of a trajectory at a time, or of the start of a scene or robot. No display is needed.

    Parameters
    ----------
    file
        Trajectory (.h5), scene (.toml) or robot (.urdf, .xml, …).
    others
        Further trajectories, drawn translucent to compare.
    """
    from pysim.cli.show import still_of_file  # noqa: PLC0415

    still_of_file(existing(file, options.package_dirs), tuple(map(existing, others)), options)


@app.command
def web(trajectory: Path, /, *others: Path, options: PageOptions = PageOptions()) -> None:
    """Write a web page that plays a trajectory in any browser: one file, without a server or network.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    others
        Further trajectories, drawn beside it in other colours.
    """
    from pysim.cli.show import write_page  # noqa: PLC0415

    write_page([existing(path) for path in (trajectory, *others)], options)


def _add_exporter(name: str, text: str) -> None:
    """Add the command of an exporter, with the line of help of its module."""

    def write(trajectory: Path, /, *, options: ExportOptions = ExportOptions()) -> None:
        from pysim.cli.show import write_export  # noqa: PLC0415

        write_export(name, existing(trajectory), options)

    write.__doc__ = f"""Export a trajectory. {text}

    Parameters
    ----------
    trajectory
        Trajectory file (.h5).
    """
    app.command(write, name=name)


for _name, _text in exporter_commands().items():
    _add_exporter(_name, _text)


@app.command
def fmu(scene: str, /, *, options: FmuOptions = FmuOptions()) -> None:
    """Write a scene as a functional mock-up unit for co-simulation, which needs no Python where it runs.

    Parameters
    ----------
    scene
        Scene (.toml) or model of another program (.urdf, .xml, .sdf, …), a path or package://NAME/path.
    """
    from pysim.cli.fmu import write_scene  # noqa: PLC0415

    write_scene(existing(scene, options.package_dirs), options)


@app.command
def plot(*words: str, options: PlotOptions = PlotOptions()) -> None:
    """Plot recorded quantities of a trajectory over time, or of several to compare them; or the results of a sweep.

    Parameters
    ----------
    words
        Trajectory files (.h5), then quantities: v.hinge, energy, "contacts.*.force"; otherwise q, v, forces and energy.
        Or the dataset of a sweep (.nc), then results to compare with its parameters, as q.hinge (at the end) or
        q.hinge.max; with the trajectory of a nominal run behind it, deviations from that run.
    """
    from pysim.cli.show import plot_files  # noqa: PLC0415

    plot_files(words, options)


@app.command
def identify(scene: str, data: Path, /, *, options: IdentifyOptions = IdentifyOptions()) -> None:
    """Identify masses, inertias, friction or a payload from a recorded motion.

    Parameters
    ----------
    scene
        Scene (.toml) or robot (.urdf), a path or package://NAME/path; its parameters are the prior.
    data
        Recording (.csv: t, q.NAME, tau.NAME, and v.NAME, a.NAME where measured), or trajectory (.h5) of the scene.
    """
    from pysim.cli.identify import identify_file  # noqa: PLC0415

    identify_file(existing(scene, options.package_dirs), existing(data), options)


@app.command
def optimise(scene: str, /, *, options: OptimiseOptions = OptimiseOptions()) -> int:
    """Find the numbers of a scene that minimise a quantity of its run, within bounds and constraints.

    What is not given is taken from the scene's [optimise] table.

    Parameters
    ----------
    scene
        Scene file (.toml).
    """
    from pysim.cli.optimise import optimise_scene  # noqa: PLC0415

    return optimise_scene(existing(scene), options)


@app.command
def sweep(scene: str, /, *, options: SweepOptions = SweepOptions()) -> int:
    """Run a scene with many values of its parameters and write one dataset.

    Without --grid and --sample, the parameters are those of the scene's [sweep] table.

    Parameters
    ----------
    scene
        Scene file (.toml).
    """
    from pysim.cli.sweep import sweep_scene  # noqa: PLC0415

    return sweep_scene(existing(scene), options)


@app.command
def learn(scene: str, /, *, options: LearnOptions = LearnOptions()) -> int:
    """Learn a policy for the [environment] of a scene, by PPO (extra `learn`).

    Parameters
    ----------
    scene
        Scene file (.toml) with an [environment] table.
    """
    from pysim.cli.learn import learn_scene  # noqa: PLC0415, torch costs seconds

    return learn_scene(existing(scene), options)


@app.command
def resume(trajectory: Path, /, *, options: ResumeOptions = ResumeOptions()) -> int:
    """Continue a run that was stopped or killed, in its file.

    Parameters
    ----------
    trajectory
        Trajectory file (.h5) of the run.
    """
    from pysim.cli.resume import resume_file  # noqa: PLC0415

    return resume_file(existing(trajectory), options)


@app.command
def replay(trajectory: Path, /, *, options: ReplayOptions = ReplayOptions()) -> int:
    """Print the last steps of a run that failed, and the likely cause.

    Parameters
    ----------
    trajectory
        Trajectory file of the run (.h5); it stays as it is.
    """
    from pysim.cli.replay import replay_file  # noqa: PLC0415

    return replay_file(existing(trajectory), options)


@app.command
def joints(name: str | None = None, /, *, options: JointOptions = JointOptions()) -> None:
    """List the joint types, or describe one: coordinates, keys, units.

    Parameters
    ----------
    name
        A joint type, such as `revolute`.
    """
    from pysim.cli.joints import describe_joints  # noqa: PLC0415

    describe_joints(name, options)


@app.command
def elements(
    name: str | None = None,
    /,
    *,
    plugin: File = None,
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

    describe_elements(name, plugin)


@app.command
def export(trajectory: Path, /, *, options: TableOptions = TableOptions()) -> None:
    """Write times, states, energies and signals of a trajectory as a table, or the paths of frames as curves.

    Parameters
    ----------
    trajectory
        File that a run wrote.
    """
    from pysim.cli.export import export_numbers  # noqa: PLC0415

    export_numbers(existing(trajectory), options)


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
