"""The command line as a user sees it: messages word for word, exit status, files, no traceback.

Everything runs in its own process or through `main`, in a folder of its own.
"""

from __future__ import annotations

import math
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.cli.checks.scene_content import actuator_text
from pysim.cli.messages import print_line, warnings_as_lines
from pysim.cli.progress import state_of
from pysim.cli.show import state_of_movie
from pysim.cli.summary import event_line
from pysim.scene.spec import ActuatorSpec
from pysim.simulation import Update
from pysim.simulation.summary import EventSummary
from pysim.worlds.interrupt import interrupts_held_back

SCENE = """# A stone on a spring.  See: it swings.  Conserved: energy.
name = "stone"

[[body]]
name = "stone"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
child = "stone"
axis = [0, 0, 1]
stiffness = 50.0
start = { q = 0.5 }

[simulation]
duration = 0.5
step = 0.001

[output]
every = 0.05
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scene, as the working directory."""
    (tmp_path / "stone.toml").write_text(SCENE, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_a_run_sums_up_and_writes_the_trajectory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stone.toml"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "stone"
    assert re.fullmatch(r"  simulated   0\.5 s in \S+ s of wall time", lines[1])
    assert re.fullmatch(r"  steps       500, [\d,]+ per second", lines[2])
    assert re.fullmatch(r"  energy      drift \S+ J, \S+ of the largest kinetic energy", lines[3])
    assert lines[4].startswith("  tool        stone at x 0.0000  y 0.0000  z -")
    assert lines[5] == "  trajectory  stone.h5, 11 instants"
    assert pysim.load_trajectory("stone.h5").complete


@pytest.mark.usefixtures("here")
def test_a_second_run_replaces_the_first_and_reports_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stone.toml", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["stone.toml", "--duration", "0.2"]) == 0
    assert capsys.readouterr().out.endswith("stone.h5, 5 instants, replaces the one before\n")
    assert pysim.load_trajectory("stone.h5").t[-1] == 0.2


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("as_written", [True, False])
def test_a_run_that_was_cut_short_is_replaced_only_on_request(
    capsys: pytest.CaptureFixture[str], *, as_written: bool
) -> None:
    assert main(["stone.toml", "--quiet"]) == 0
    with h5py.File("stone.h5", "r+") as file:  # also changes its pages, so that a child reads it
        file.attrs["complete"] = np.False_
    if as_written:
        with pytest.raises(KeyboardInterrupt):
            pysim.simulate(pysim.load_scene("stone.toml"), "stone.h5", interrupted, overwrite=True)
    before = Path("stone.h5").read_bytes()
    for options in ([], ["--quiet"], ["--duration", "0.2"], ["-o", "stone.h5"]):
        assert main(["stone.toml", *options]) == 2
        problem = "stone.h5: holds a run of this scene that was cut short"
        go_on = "go on with pysim resume stone.h5"
        remedy = f"{go_on}, choose another name with --output, or replace it with --overwrite"
        assert capsys.readouterr() == ("", f"error: {problem}; {remedy}\n")
    assert Path("stone.h5").read_bytes() == before
    assert main(["stone.toml", "--quiet", "--overwrite"]) == 0
    assert pysim.load_trajectory("stone.h5").complete
    assert main(["stone.toml", "--quiet"]) == 0


@pytest.mark.usefixtures("here")
def test_a_step_of_the_command_line_is_that_of_the_scene_set_so() -> None:
    assert main(["stone.toml", "--step", "0.025", "--quiet"]) == 0
    given = pysim.load_trajectory("stone.h5")
    scene = pysim.load_scene("stone.toml", {"simulation.step": 0.025})
    assert given.header.step == scene.settings.step == 0.025


def interrupted(_: Update) -> None:
    """End a run as Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.mark.usefixtures("here")
def test_keys_are_overridden_and_recorded() -> None:
    arguments = ["--set", "simulation.step=0.05", "--set", "joint.slide.start.q=0.25", "-o", "a.h5"]
    assert main(["stone.toml", "--quiet", *arguments]) == 0
    trajectory = pysim.load_trajectory("a.h5")
    assert trajectory.q[0, 0] == 0.25
    assert trajectory.header.step == 0.05
    assert set(trajectory.header.overrides) == {"simulation.step", "joint.slide.start.q"}


ERRORS = [
    ("chekc", "chekc: no such command or file; did you mean 'check'?"),
    ("chekc stone.toml --foo", "chekc: no such command or file; did you mean 'check'?"),
    ("stne.toml", "stne.toml: no such file; did you mean 'stone.toml'?"),
    ("check stne.toml", "stne.toml: no such file; did you mean 'stone.toml'?"),
    (".", ".: is a folder; give a file in it"),
    ("stone.toml more", "command line: unexpected 'more'; see pysim --help"),
    (
        "stone.toml --durtion 1",
        "command line: unknown option: --durtion; did you mean --duration?; see pysim --help",
    ),
    ("stone.toml --duration -1", "--duration: must be positive [s], got -1"),
    ("stone.toml --duration nan", "--duration: must be positive [s], got nan"),
    ("stone.toml --step 0", "--step: must be positive [s], got 0"),
    ("sweep stone.toml --step -1", "--step: must be positive [s], got -1"),
    (
        "stone.toml --set step",
        "--set: needs key=value, got 'step'; write for example simulation.step=1e-4",
    ),
    ("stone.toml --set simulation.step=0", "--set simulation.step: must be positive [s], got 0"),
    (
        "stone.toml --set simulation.stp=1",
        "--set simulation.stp: unknown key; did you mean 'step'?",
    ),
    (
        "stone.toml -o no/a.h5",
        "no/a.h5: the folder 'no' does not exist; make it or choose another",
    ),
    ("stone.toml -o stone.toml", "stone.toml: unknown suffix '.toml' of a trajectory; use .h5"),
    (
        "stone.toml -o note.h5",
        "note.h5: exists and is not a pysim trajectory, so it is not overwritten; choose another name",
    ),
    (
        "check package://nowhere/robot.urdf",
        (
            "'package://nowhere/robot.urdf': there is no package 'nowhere'; list the folder that holds it in "
            "--package-dir, in Python package_dirs"
        ),
    ),
    (
        "stone.toml -o other.h5",
        "other.h5: holds a trajectory of another scene, 'other'; choose another or --overwrite",
    ),
    (
        "stone.toml --movie a.avi",
        "a.avi: unknown kind of picture '.avi'; use one of .mp4, .gif, .webm",
    ),
    ("other.h5", "other.h5: is a trajectory; open it with pysim view"),
    (
        "robot.urdf",
        "robot.urdf: is a model, not a scene; give a scene with a [[model]] table that names it",
    ),
    ("view note.h5", "note.h5: is not an HDF5 file; give a trajectory that pysim wrote"),
    ("movie stone.toml", "stone.toml: is not an HDF5 file; give a trajectory that pysim wrote"),
    (
        "movie other.h5 -o a.png",
        "a.png: unknown kind of picture '.png'; use one of .mp4, .gif, .webm",
    ),
    (
        "movie other.h5 --size big",
        "--size: needs width x height [pixel], got 'big'; write for example 1280x720",
    ),
    (
        "movie other.h5 --size 0x720",
        "render: size: width and height must lie between 16 and 8192 [pixel], got (0, 720)",
    ),
    (
        "movie other.h5 --set azimuth",
        "--set: needs key=value, got 'azimuth'; write for example azimuth=30",
    ),
    (
        "movie other.h5 --set azimut=3",
        "render: azimut: unknown option; did you mean 'azimuth'?",
    ),
    ("still other.h5 --at 99", "other.h5: has no t = 99 s; give a time from 0 to 0.5 s"),
    ("plot", "plot: needs a trajectory; give one that pysim wrote, such as run.h5"),
    ("plot q.x", "plot: q.x: no such file; give one that pysim wrote, such as run.h5"),
    (
        "plot other.h5 q.slid -o a.png",
        "other.h5: unknown quantity 'q.slid'; did you mean 'q.slide'?",
    ),
    ("export other.h5", "export: no format is given; write --csv or --dxf"),
    (
        "view stone.toml other.h5",
        "stone.toml: is posed alone; leave out the other files, or give trajectories to compare",
    ),
    (
        "stone.toml --set simulation.step=1e-4 --unset simulation.step",
        "--unset: 'simulation.step' is set by --set as well; leave one of them out",
    ),
    (
        "check robot.urdf --set simulation.step=1e-4",
        "robot.urdf: --set is for scenes; a robot file has no such keys",
    ),
    ("joints helicl", "joints: unknown joint type 'helicl'; did you mean 'helical'?"),
    (
        "bad.toml",
        "bad.toml:11:8: joint[0].type: unknown joint type 'prismatc'; did you mean 'prismatic'?",
    ),
]


@pytest.mark.parametrize(("line", "message"), ERRORS)
def test_bad_input_is_one_line_and_status_2(
    here: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    (here / "bad.toml").write_text(SCENE.replace("prismatic", "prismatc"), "utf-8")
    (here / "other.toml").write_text(SCENE.replace('name = "stone"', 'name = "other"', 1), "utf-8")
    (here / "robot.urdf").write_text("<robot/>", "utf-8")
    (here / "note.h5").write_text("a note", "utf-8")
    main(["other.toml", "--quiet"])
    before = sorted(here.iterdir())
    assert main(line.split()) == 2
    assert capsys.readouterr() == ("", f"error: {message}\n")
    assert sorted(here.iterdir()) == before


@pytest.mark.usefixtures("here")
def test_overwrite_replaces_the_trajectory_of_another_scene() -> None:
    Path("other.toml").write_text(SCENE.replace('name = "stone"', 'name = "other"', 1), "utf-8")
    assert main(["other.toml", "--quiet"]) == 0
    assert main(["stone.toml", "--quiet", "-o", "other.h5", "--overwrite"]) == 0
    assert pysim.load_trajectory("other.h5").header.name == "stone"


@pytest.mark.usefixtures("here")
def test_a_run_that_blows_up_says_when_and_where_and_keeps_the_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["stone.toml", "--set", "joint.slide.stiffness=1e9"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    pattern = (
        r"error: stone\.toml: joint 'slide' reaches NaN or infinite values at t = \S+ s; the last valid state, "
        r"at \S+ s, has max \|q\| = \S+ and max \|v\| = \S+; reduce simulation\.step, now 0\.001 "
        r"\[s\]\n"
    )
    warning, error = err.splitlines(keepends=True)
    assert re.fullmatch(pattern, error)
    assert warning.startswith("warning: simulation.step is 0.001 [s], beyond the 0.000126 [s]")
    with h5py.File("stone.h5") as file:
        assert not file.attrs["complete"]
        assert len(file["time"]) > 0


def test_debug_shows_the_traceback(here: Path) -> None:
    command = [sys.executable, "-m", "pysim", "nothing.toml"]
    plain = subprocess.run(command, check=False, capture_output=True, text=True, cwd=here)
    assert (plain.returncode, plain.stdout) == (2, "")
    assert plain.stderr == "error: nothing.toml: no such file; did you mean 'stone.toml'?\n"
    command.append("--debug")
    debug = subprocess.run(command, check=False, capture_output=True, text=True, cwd=here)
    assert debug.returncode == 2
    assert debug.stderr.endswith(plain.stderr)
    assert "Traceback (most recent call last):" in debug.stderr


@pytest.mark.usefixtures("received")
def test_an_interrupt_is_one_line_status_130_and_a_readable_file(here: Path) -> None:
    command = [sys.executable, "-m", "pysim", "stone.toml", "--duration", "1e7"]
    with subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True) as run:
        while run.poll() is None and not (here / "stone.h5").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        try:
            _, err = run.communicate(timeout=60)
        finally:
            run.kill()  # else a lost signal would hold the tests up for ever
    assert run.returncode == 130
    pattern = r"interrupted: at t = \S+ s; stone\.h5 holds the run so far; go on with pysim resume stone\.h5\n"
    assert re.fullmatch(pattern, err)
    with pytest.warns(pysim.PysimWarning, match="incomplete"):
        assert len(pysim.load_trajectory(here / "stone.h5")) > 1


@pytest.mark.usefixtures("received")
def test_an_interrupt_inside_a_destructor_is_handled() -> None:
    """There Python prints a KeyboardInterrupt and forgets it, as files' handles have made it do."""

    class Handle:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    with interrupts_held_back() as check:
        handle = Handle()
        del handle
        with pytest.raises(KeyboardInterrupt):
            check()
        with pytest.raises(KeyboardInterrupt):  # the second is not held back
            signal.raise_signal(signal.SIGINT)


INTERRUPTED_IMPORT = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from pysim.cli import main
sys.exit(main(["stone.toml"]))
"""


@pytest.mark.parametrize("module", ["cyclopts", "rich", "pysim.cli.run", "pydantic"])
def test_an_interrupt_while_the_command_loads_is_status_130_without_a_traceback(
    here: Path, module: str
) -> None:
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module]
    run = subprocess.run(command, check=False, capture_output=True, text=True, cwd=here)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "0"),
        ({"offset": -2.5}, "-2.5"),
        ({"amplitude": 1.5, "frequency": 3.6}, "1.5 sin(3.6 t)"),
        (
            {"offset": 1.0, "amplitude": 2.0, "frequency": 3.0, "phase": -0.5},
            "1 + 2 sin(3 t - 0.5)",
        ),
        ({"amplitude": 2.0, "phase": 0.5}, "2 sin(0.5)"),
        ({"amplitude": 2.0, "phase": -0.5}, "2 sin(-0.5)"),
    ],
)
def test_check_prints_the_force_of_an_actuator_without_zero_terms(
    given: dict[str, float], text: str
) -> None:
    assert actuator_text(ActuatorSpec("motor", "hinge", **given)) == text  # type: ignore[arg-type]


@pytest.mark.usefixtures("here")
def test_check_says_what_was_understood(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "stone.toml", "--set", "simulation.duration=2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == (
        "stone.toml: stone\n"
        "  bodies      1 moving; 2 kg\n"
        "  sizes       nq 1, nv 1\n"
        "  gravity     0 0 -9.81 m/s²\n"
        "\n"
        "  body   mass [kg]  parent  joint  type       with\n"
        "  stone  2          world   slide  prismatic  spring\n"
        "\n"
        "  run         2 s, rk4 0.001 s, output every 0.05 s\n"
        "  fastest     5 rad/s, period 1.26 s, mostly slide\n"
        "  step        0.063 s or less to be accurate, 0.566 s at most to be stable with rk4, about the start\n"
    )
    assert not Path("stone.h5").exists()


def test_an_inertia_replaced_on_request_is_a_note_of_check_and_no_line_of_a_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCENE.replace("zz = 0.1", "zz = 0.5")
    (here / "stone.toml").write_text('inertia = "nearest"\n' + text, "utf-8")
    assert main(["stone.toml", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["check", "stone.toml"]) == 0
    pattern = r"note: stone\.toml:\d+:\d+: body\[0\]\.inertia: .*; taken instead: .*\n"
    assert re.fullmatch(pattern, capsys.readouterr().err)
    assert main(["check", "stone.toml", "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_the_solver_is_summarised_on_request(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCENE.replace("[[joint]]", "collision = { sphere = { radius = 0.1 } }\n\n[[joint]]", 1)
    ground = "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0 }\n"
    (here / "stone.toml").write_text(f"{text}\n{ground}", "utf-8")
    convex = ["stone.toml", "--set", 'simulation.integrator="convex"']
    assert main(convex) == 0
    assert "Newton" not in capsys.readouterr().out
    assert main([*convex, "--verbose"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"^  Newton      \S+ a step, 0 steps repeated with shorter ones$", out, re.MULTILINE
    )
    assert "; the balance closes to " in out


@pytest.mark.usefixtures("here")
def test_check_says_that_a_scheme_adapts_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--set", 'simulation.integrator="dopri5"', "--unset", "simulation.step"]
    assert main(["check", "stone.toml", *options]) == 0
    assert " s, dopri5 in adaptive steps, output every " in capsys.readouterr().out


def limited(limits: str, start: float) -> None:
    text = f"limits = {{ {limits} }}\nstart = {{ q = {start!r} }}"
    Path("s.toml").write_text(SCENE.replace("start = { q = 0.5 }", text), "utf-8")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", [["check", "s.toml"], ["s.toml"]])
@pytest.mark.parametrize(
    ("limits", "start", "reported"),
    [
        ("lower = -1, upper = 1", 90.0, "89 [m] beyond its upper limit 1 [m]"),
        ("lower = 0.5", 0.25, "0.25 [m] beyond its lower limit 0.5 [m]"),
    ],
)
def test_a_start_beyond_a_limit_is_warned_of(
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    limits: str,
    start: float,
    reported: str,
) -> None:
    limited(limits, start)
    assert main(command) == 0
    remedy = "and its stop will throw it back; start it within its limits"
    line = f"warning: s.toml:9:1: joint[0]: 'slide' starts {reported}, {remedy}\n"
    assert capsys.readouterr().err == line


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("limits", "start"),
    [
        ("lower = -1, upper = 1", 1.0),
        ("lower = 0.5, stiffness = 0", 0.25),
        ("lower = -0.25, stiffness = 1e3", -0.25 - (2 * 9.81 - 50 * 0.25) / 1050),  # k d = weight
    ],
)
def test_a_start_within_limits_or_at_rest_on_a_stop_is_not(
    capsys: pytest.CaptureFixture[str], limits: str, start: float
) -> None:
    limited(limits, start)
    assert main(["check", "s.toml"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("here")
def test_a_motor_that_holds_a_joint_against_its_stop_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    push = 1e3 * 0.25 - 2 * 9.81 - 50 * (-1.25)
    limited("lower = -1, stiffness = 1e3", -1.25)
    text = Path("s.toml").read_text("utf-8")
    motor = f'[[actuator]]\njoint = "slide"\noffset = {-push!r}\n'
    Path("s.toml").write_text(text.replace("[simulation]", motor + "[simulation]"), "utf-8")
    assert main(["check", "s.toml"]) == 0
    assert capsys.readouterr().err == ""


def test_check_names_the_coordinate_that_an_actuator_drives(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ball = SCENE.replace('"prismatic"', '"ball"').replace(
        "axis = [0, 0, 1]\nstiffness = 50.0\nstart = { q = 0.5 }\n", ""
    )
    motors = (
        '[[actuator]]\njoint = "slide"\n[[actuator]]\njoint = "slide"\ncoordinate = 2\noffset = 3\n'
    )
    (here / "ball.toml").write_text(ball + motors, "utf-8")
    assert main(["check", "ball.toml"]) == 0
    reported = [
        line.split()[1] for line in capsys.readouterr().out.splitlines() if "actuator" in line
    ]
    assert reported == ["slide.wx:", "slide.wz:"]


def test_check_reads_a_robot_of_a_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "package://ur_description/urdf/ur5_robot.urdf"]) == 0
    assert "sizes       nq 6, nv 6" in capsys.readouterr().out


def test_joints_lists_every_type(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["joints"]) == 0
    out = capsys.readouterr().out
    for kind in ("fixed", "revolute", "prismatic", "helical", "cylindrical", "universal"):
        assert f"\n  {kind} " in out
    for kind in ("ball", "planar", "translation", "free"):
        assert f"\n  {kind} " in out


def test_joints_explains_one_with_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["joints", "helical"]) == 0
    out = capsys.readouterr().out
    assert "  q       angle [rad]\n" in out
    assert (
        "  pitch  float      [m/rad]  required   travel along the axis per radian of rotation\n"
        in out
    )


@pytest.mark.render
def test_stills_movies_and_plots_are_commands(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "shape = { box = [0.2, 0.2, 0.2] }"
    (here / "stone.toml").write_text(SCENE.replace("mass = 2.0", f"mass = 2.0\n{body}"), "utf-8")
    assert main(["stone.toml", "--quiet"]) == 0
    small = ["--size", "64x48", "--set", "supersample=1", "--set", "label=false"]
    assert main(["still", "stone.h5", "--at", "0.25", *small]) == 0
    assert main(["still", "stone.toml", "-o", "start.png", *small]) == 0
    assert main(["movie", "stone.h5", "--fps", "4", "--quiet", *small]) == 0
    assert main(["plot", "stone.h5", "q.*", "energy", "-o", "a.svg"]) == 0
    assert main(["plot", "stone.h5", "q.*", "-o", "b.svg", "--quiet"]) == 0
    assert main(["plot", "stone.h5", "--names", "v"]) == 0
    out, err = capsys.readouterr()
    lines = ["  still       stone.png", "  still       start.png", "  plot        a.svg"]
    assert out.splitlines() == [*lines, "  quantity  unit", "  v.slide   m/s"]
    assert err == ""
    assert all((here / name).stat().st_size > 300 for name in ("stone.mp4", "a.svg"))
    from PIL import Image

    pictures = []
    for name in ("stone.png", "start.png"):
        with Image.open(here / name) as picture:
            assert picture.size == (64, 48)
            pictures.append(picture.tobytes())
    assert pictures[0] != pictures[1]


def test_pictures_take_several_trajectories(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "shape = { box = [0.2, 0.2, 0.2] }"
    (here / "stone.toml").write_text(SCENE.replace("mass = 2.0", f"mass = 2.0\n{body}"), "utf-8")
    for name, start in (("a", "0.0"), ("b", "0.5")):
        assert (
            main(
                ["stone.toml", "--quiet", "-o", f"{name}.h5", "--set", f"joint.slide.start={start}"]
            )
            == 0
        )
    small = ["--size", "96x64", "--set", "label=false", "--quiet"]
    assert main(["still", "a.h5", "b.h5", "-o", "both.png", *small]) == 0
    assert main(["still", "a.h5", "--compare", "b.h5", "-o", "same.png", *small]) == 0
    assert main(["still", "a.h5", "-o", "one.png", *small]) == 0
    assert main(["movie", "a.h5", "b.h5", "--fps", "4", *small]) == 0
    assert (here / "both.png").read_bytes() == (here / "same.png").read_bytes()
    assert (here / "both.png").read_bytes() != (here / "one.png").read_bytes()
    assert (here / "a.mp4").stat().st_size > 300
    assert capsys.readouterr() == ("", "")
    assert main(["still", "stone.toml", "--at", "0.25", *small]) == 2
    problem = "stone.toml is a scene, which has no motion yet; run it, and draw the trajectory"
    assert capsys.readouterr().err == f"error: --at: {problem}\n"


def test_view_makes_pictures_or_opens_a_window(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows are replaced by the record of what they are opened on."""
    from pysim import render
    from pysim.render.windows import interactive, posing

    body = "shape = { box = [0.2, 0.2, 0.2] }"
    (here / "stone.toml").write_text(SCENE.replace("mass = 2.0", f"mass = 2.0\n{body}"), "utf-8")
    assert main(["stone.toml", "--quiet"]) == 0
    small = ["--set", "size=[64, 48]", "--set", "label=false", "--set", "fps=4"]
    assert main(["view", "stone.h5", "--still", "a.png", "--movie", "a.gif", *small]) == 0
    assert capsys.readouterr().out == "  still       a.png\n  movie       a.gif\n"
    opened: list[tuple[str, dict[str, object]]] = []

    def view(trajectory: pysim.Trajectory, **wishes: object) -> None:
        opened.append((trajectory.header.name, wishes))

    def pose(model: pysim.Model, state: pysim.State, **wishes: object) -> None:
        opened.append((model.name, {"q": state.q.tolist(), "azimuth": wishes["azimuth"]}))

    monkeypatch.setattr(render, "view", view)
    monkeypatch.setattr(posing, "pose", pose)
    monkeypatch.setattr(interactive, "check_display", lambda: None)
    assert main(["view", "stone.h5", "--plot", "energy", "--set", "azimuth=30"]) == 0
    assert opened.pop() == (
        "stone",
        {"others": [], "scene": None, "plots": ("energy",), "azimuth": 30},
    )
    assert main(["view", "stone.toml", "--set", "azimuth=30"]) == 0
    assert opened.pop() == ("stone", {"q": [0.5], "azimuth": 30})
    assert main(["convert", "stone.toml", "stone.urdf", "--partial"]) == 0
    assert main(["view", "stone.urdf", "--set", "azimuth=30"]) == 0
    assert opened.pop() == ("stone", {"q": [0.0], "azimuth": 30})
    capsys.readouterr()
    assert main(["view", "stone.toml", "stone.h5"]) == 2
    problem = (
        "stone.toml: is posed alone; leave out the other files, or give trajectories to compare"
    )
    assert capsys.readouterr().err == f"error: {problem}\n"


def test_check_prints_forces_and_events_of_a_scene(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = """
[[force]]
name = "air"
type = "linear_drag"
b = "stone"
coefficient = 0.1
[[force]]
name = "rubber"
type = "coordinate_spring"
coordinates = ["slide"]
stiffness = 1.0
[[event]]
name = "top"
joint = "slide"
at = 0.4
stop = true
"""
    text = SCENE.replace("step = 0.001", 'integrator = "dopri5"')
    (here / "stone.toml").write_text(text + more, "utf-8")
    assert main(["check", "stone.toml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith(("  air", "  rubber"))] == [
        ["air", "linear_drag", "world", "stone"],
        ["rubber", "coordinate_spring", "slide"],
    ]
    assert "  event       top: slide, both, stops the run" in lines


def test_a_plot_of_energies_draws_all_of_them(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stone.toml", "--quiet"]) == 0
    assert main(["plot", "stone.h5", "--energy", "-o", "energy.svg"]) == 0
    assert capsys.readouterr().out == "  plot        energy.svg\n"
    drawn = (here / "energy.svg").read_text("utf-8")
    assert "energy" in drawn


def test_a_summary_says_how_often_an_event_happened() -> None:
    once, twice = (EventSummary("e", count, 0.25, 0.75) for count in (1, 2))
    assert event_line(EventSummary("e", 0, math.nan, math.nan)) == "never"
    assert event_line(once) == "once, at 0.25 s"
    assert event_line(twice) == "2 times, first at 0.25 s, last at 0.75 s"


def test_the_state_of_a_movie_has_the_time_left() -> None:
    assert state_of_movie(30, 300, 5.0) == "30 of 300 frames, 6 a second, 45 s left"
    assert state_of_movie(0, 300, 0.0) == "0 of 300 frames, 0 a second"


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{pysim.__version__}\n"
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert main([]) == 0
    assert capsys.readouterr().out == shown
    words = [
        "check",
        "joints",
        "new",
        "plot",
        "view",
        "--output",
        "-o",
        "--movie",
        "--still",
        "--set",
    ]
    for word in [*words, "--duration", "--overwrite", "--quiet", "--allow-code", "--debug"]:
        assert word in shown


def test_brackets_and_colons_come_out_as_they_went_in(capsys: pytest.CaptureFixture[str]) -> None:
    text = "[N·m] [bold]x[/bold] :smile: " + "long " * 60
    print_line(text)
    assert capsys.readouterr().out == text + "\n"


def test_a_terminal_obeys_nothing_that_a_file_or_its_name_says(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scene without a name goes by its file's, and a robot's names are the file's own."""
    text = SCENE.replace('name = "stone"', "", 1)
    (here / "a\x1b[2Jb.toml").write_text(text, "utf-8")
    assert main(["a\x1b[2Jb.toml"]) == 0
    assert main(["c\x9b2J.toml"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("a\\x1b[2Jb\n  simulated ")
    assert err.startswith("error: c\\x9b2J.toml: no such file; did you mean ")
    assert not {"\x1b", "\x9b"} & {*out, *err}


def test_progress_shows_simulated_time_wall_time_and_speed() -> None:
    update = Update(time=3.2, duration=10.0, wall=1.6, steps=3200)
    assert state_of(update) == "3.20 of 10 s, 1.6 s spent, 2 × real time"


def test_a_warning_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings_as_lines():
        for text in ("low", "high", "low"):
            warnings.warn(pysim.PysimWarning(text), stacklevel=1)
    assert capsys.readouterr().err == "warning: low\nwarning: high\n"
