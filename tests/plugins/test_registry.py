"""Registration of plugins by decorators, installed packages and files that a scene names. The oracle is the text."""

from __future__ import annotations

import importlib
import re
from importlib.metadata import EntryPoint, PathDistribution
from pathlib import Path

import pytest

import pysim
from pysim.cli import main
from pysim.joints import Joint, Pose, find_joint, joint, joint_types, real
from pysim.joints.registry import JOINTS
from tests.joints.one_joint import scene_of

MODULE = """
from pysim.joints import Joint, Pose, real

class Hinge(Joint):
    \"\"\"A hinge of a package.\"\"\"
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_x(q.angle)

class NoJoint:
    pass
"""


def offer(monkeypatch, tmp_path, *offers):
    """Let installed packages offer entry points (distribution, name, value)."""
    entries = []
    for distribution, name, value in offers:
        folder = tmp_path / f"{distribution}-1.0.dist-info"
        folder.mkdir(exist_ok=True)
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", "utf-8"
        )
        entry = EntryPoint(name, value, "pysim.joints")
        entries.append(entry._for(PathDistribution(folder)))
    monkeypatch.setattr("pysim.plugins.registry.entry_points", lambda **_: entries)
    monkeypatch.setattr(JOINTS, "registered", dict(JOINTS.registered))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture
def package(tmp_path):
    """A module that an entry point may name."""
    (tmp_path / "hinges_of_a_package.py").write_text(MODULE, "utf-8")
    return "hinges_of_a_package"


def refusal(kind):
    with pytest.raises(pysim.JointError) as caught:
        find_joint(kind)
    return str(caught.value)


def test_a_joint_of_an_installed_package_is_found_by_name(monkeypatch, tmp_path, package):
    offer(monkeypatch, tmp_path, ("hinges", "packed_hinge", f"{package}:Hinge"))
    assert "packed_hinge" in joint_types()
    kind = find_joint("packed_hinge")
    assert kind.doc == "A hinge of a package."
    assert kind.motion == f"traced from {package}.Hinge.placement"


BROKEN = [
    (
        "nowhere_at_all:Hinge",
        "cannot be loaded, ModuleNotFoundError: No module named 'nowhere_at_all'; fix or uninstall it",
    ),
    (
        "hinges_of_a_package:Henge",
        (
            "cannot be loaded, AttributeError: module 'hinges_of_a_package' has no attribute 'Henge'; "
            "fix or uninstall it"
        ),
    ),
    (
        "hinges_of_a_package:NoJoint",
        (
            "joint type 'packed_hinge' is not a subclass of pysim.joints.Joint, got "
            "<class 'hinges_of_a_package.NoJoint'>"
        ),
    ),
]


@pytest.mark.parametrize(("value", "problem"), BROKEN)
@pytest.mark.usefixtures("package")
def test_a_broken_entry_point_names_its_distribution(monkeypatch, tmp_path, value, problem):
    offer(monkeypatch, tmp_path, ("bad-hinges", "packed_hinge", value))
    expected = f"entry point packed_hinge = {value!r} of bad-hinges: {problem}"
    assert refusal("packed_hinge") == expected
    scene = tmp_path / "s.toml"
    scene.write_text(scene_of("packed_hinge"), "utf-8")
    with pytest.raises(pysim.SceneError) as caught:
        pysim.load_scene(scene)
    assert str(caught.value) == f"{scene}:8:8: joint[0].type: {expected}"


def test_two_packages_that_offer_one_name_are_both_named(monkeypatch, tmp_path, package):
    offer(
        monkeypatch,
        tmp_path,
        ("hinges", "packed_hinge", f"{package}:Hinge"),
        ("other-hinges", "packed_hinge", "others:Hinge"),
    )
    assert refusal("packed_hinge") == (
        f"entry points pysim.joints: joint type 'packed_hinge' is offered by {package}:Hinge of "
        "hinges and by others:Hinge of other-hinges; uninstall one"
    )


def test_an_unknown_type_is_likened_to_those_of_packages(monkeypatch, tmp_path, package):
    offer(monkeypatch, tmp_path, ("hinges", "packed_hinge", f"{package}:Hinge"))
    text = "joint: unknown joint type 'packd_hinge'; did you mean 'packed_hinge'?"
    assert refusal("packd_hinge") == text


PLUGIN = """from pysim.joints import Joint, Pose, joint, real

@joint("registry_screw")
class Screw(Joint):
    travel: float  # [m/rad] along the axis
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, self.travel * q.angle)
"""


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A scene that names a plugin, as the working directory's only file of its kind."""
    monkeypatch.setattr(JOINTS, "registered", dict(JOINTS.registered))
    monkeypatch.chdir(tmp_path)
    Path("screw.py").write_text(PLUGIN, "utf-8")
    text = scene_of("registry_screw", "screw.py")
    Path("s.toml").write_text(text + "travel = 0.1\n", "utf-8")
    return Path("s.toml")


def test_code_that_a_scene_names_is_rejected_and_named(scene, capsys):
    assert main(["check", "s.toml"]) == 2
    assert capsys.readouterr().err == (
        "error: s.toml:1:11: plugins: would run the Python code of screw.py; read it, then allow it "
        "with --allow-code, or allow_code=True from Python\n"
    )
    assert main(["s.toml"]) == 2
    assert "would run the Python code of screw.py" in capsys.readouterr().err
    assert "registry_screw" not in JOINTS.registered


def test_code_that_is_allowed_runs_and_check_lists_it(scene, capsys):
    assert main(["check", "s.toml", "--allow-code"]) == 0
    out = capsys.readouterr().out
    assert "  plugin      j: registry_screw runs as the built-in helical\n" in out


def test_check_counts_the_instructions_of_a_program(scene, capsys):
    code = PLUGIN.replace("self.travel * q.angle)", "self.travel * q.angle**2)")
    Path("screw.py").write_text(code, "utf-8")
    text = scene.read_text("utf-8") + "start = { q = 0.1 }\n"
    scene.write_text(text, "utf-8")
    assert main(["check", "s.toml", "--allow-code"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"  plugin      j: registry_screw runs as a program of \d+ instructions, \d+ for pose and "
        r"subspace, \d+ for the bias\n",
        out,
    )


WRONG = [
    ("travl = 0.1", "s.toml:10:1: joint[0].travl: unknown key; did you mean 'travel'?"),
    ('travel = "far"', "s.toml:10:10: joint[0].travel: must be float, got 'far'"),
    ("", "s.toml:6:1: joint[0]: Screw needs the key travel; write travel = …"),
]


@pytest.mark.parametrize(("line", "problem"), WRONG)
def test_a_wrong_key_of_a_plugin_is_reported_where_it_stands(scene, line, problem, capsys):
    text = scene.read_text("utf-8").replace("travel = 0.1", line)
    scene.write_text(text, "utf-8")
    assert main(["check", "s.toml", "--allow-code"]) == 2
    assert capsys.readouterr().err == f"error: {problem}\n"


FILES = [
    (
        "def f(:\n",
        r"error: \S+/screw\.py:1: SyntaxError: invalid syntax .*; fix the plugin s\.toml:1",
    ),
    (
        "\n1 / 0\n",
        r"error: \S+/screw\.py:2: ZeroDivisionError: division by zero; fix the plugin s\.toml:1",
    ),
    (
        PLUGIN.replace("travel: float", "damping: float"),
        r"error: \S+/screw\.py:4: Screw: the field 'damping' is a key that every joint has; ",
    ),
    (
        PLUGIN.replace("registry_screw", "registry_scrw"),
        (
            r"s\.toml:8:8: joint\[0\]\.type: unknown joint type 'registry_screw'; did you mean "
            r"'registry_scrw'\?\n$"
        ),
    ),
]


@pytest.mark.parametrize(("code", "problem"), FILES)
def test_a_plugin_file_that_fails_names_its_line(scene, code, problem, capsys):
    Path("screw.py").write_text(code, "utf-8")
    assert main(["check", "s.toml", "--allow-code"]) == 2
    assert re.search(problem, capsys.readouterr().err)


def test_a_plugin_file_that_is_missing_is_named(scene, capsys):
    Path("screw.py").unlink()
    assert main(["check", "s.toml", "--allow-code"]) == 2
    assert capsys.readouterr().err == (
        "error: s.toml:1:12: plugins[0]: there is no file 'screw.py'; paths are relative to the "
        "scene\n"
    )


def test_two_files_that_define_one_name_are_both_named(scene, capsys):
    Path("copy.py").write_text(PLUGIN, "utf-8")
    text = scene.read_text("utf-8").replace('["screw.py"]', '["screw.py", "copy.py"]')
    scene.write_text(text, "utf-8")
    assert main(["check", "s.toml", "--allow-code"]) == 2
    assert re.fullmatch(
        r"error: .*copy\.py:\d+: Screw: joint type 'registry_screw' is already taken by "
        r".*screw\.py:\d+: Screw; choose another name\n",
        capsys.readouterr().err,
    )


@pytest.mark.parametrize(
    ("code", "reported"),
    [
        (PLUGIN.replace('@joint("registry_screw")\n', ""), '@joint("name")'),
        (
            "from pysim.integrators import Integrator\nclass Mine(Integrator):\n    pass\n",
            '@integrator("name")',
        ),
        ("from pysim.events import Event\nclass Mine(Event):\n    pass\n", '@event("name")'),
    ],
    ids=["joint", "integrator", "event"],
)
def test_a_file_whose_classes_no_decorator_names_is_rejected(scene, capsys, code, reported):
    Path("screw.py").write_text(code, "utf-8")
    assert main(["check", "s.toml", "--allow-code"]) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(
        rf"error: .*screw\.py:\d+: (Screw|Mine): has no name for scenes; write {re.escape(reported)} above the class\n",
        error,
    )


@pytest.mark.parametrize("kind", ["integrator", "event"])
def test_a_decorator_without_a_name_or_on_another_class_is_an_error(scene, capsys, kind):
    head = f"from pysim.{kind}s import {kind}\n"
    for code, reported in (
        (
            f"@{kind}\nclass Mine:\n    pass\n",
            f'@{kind}: needs a name, got .*; write @{kind}\\("name"\\) above',
        ),
        (
            f'@{kind}("mine")\nclass Mine:\n    pass\n',
            f"@{kind}: .* is not a subclass of pysim.{kind}s.{kind.title()}",
        ),
    ):
        Path("screw.py").write_text(head + code, "utf-8")
        assert main(["check", "s.toml", "--allow-code"]) == 2
        assert re.search(rf"screw\.py:\d+: {reported}", capsys.readouterr().err)


OTHER_PLUGINS = {
    "integrator": """from pysim.integrators import Integrator, integrator

@integrator("NAME")
class Mine(Integrator):
    def step(self, system, t, h, q, v):
        return q, v
""",
    "event": """from pysim.events import Event, event

@event("NAME")
class Mine(Event):
    def value(self, q, v):
        return q.j
""",
    "relation": """from pysim.joints import relation

@relation("NAME")
def mine(angle):
    return angle
""",
}


@pytest.mark.parametrize("order", ["import first", "scene first"])
@pytest.mark.parametrize("kind", OTHER_PLUGINS)
def test_a_test_may_import_a_plugin_file_of_any_kind(tmp_path, monkeypatch, kind, order):
    """As of joints: one file under two module names is one owner, and a copy of it is another."""
    stem = f"own_{kind}_{order.partition(' ')[0]}"
    code = OTHER_PLUGINS[kind].replace("NAME", stem)
    for name in (stem, f"{stem}_copy"):
        (tmp_path / f"{name}.py").write_text(code, "utf-8")
    scene = tmp_path / "s.toml"
    scene.write_text(scene_of("revolute", f"{stem}.py"), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    runs = [
        lambda: importlib.import_module(stem),
        lambda: pysim.load_scene(scene, allow_code=True),
    ]
    for run in runs if order == "import first" else reversed(runs):
        run()
    scene.write_text(scene_of("revolute", f"{stem}_copy.py"), "utf-8")
    with pytest.raises(
        pysim.PysimError, match=rf"{kind}( type)? '{stem}' is already taken by .*{stem}"
    ):
        pysim.load_scene(scene, allow_code=True)


def test_a_class_defined_by_hand_can_be_registered(monkeypatch):
    monkeypatch.setattr(JOINTS, "registered", dict(JOINTS.registered))

    class ByHand(Joint):
        """By hand."""

        coordinates = real("angle")

        def placement(self, q):
            return Pose.rotate_x(q.angle)

    joint("by_hand")(ByHand)
    assert find_joint("by_hand").plugin is ByHand
