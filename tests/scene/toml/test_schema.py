"""The JSON Schema of scene files, as an editor applies it. Oracle: the loader, which takes or refuses the same text."""

# ruff: noqa: E501, an example stays as it is

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from pysim.errors import SceneError
from pysim.events import Event, event
from pysim.integrators import Integrator, integrator
from pysim.joints import Joint, Pose, joint, real
from pysim.scene import read_scene, scene_schema
from pysim.scene.toml.records.tables import Scene

ROOT = Path(__file__).parents[3]
SCENES = sorted((ROOT / "scenes").rglob("*.toml"))
# the example of the design document, section 7
DESIGN = """\
# A driven pendulum.  See: the swing grows.  Conserved: nothing, the motor works.
name = "driven pendulum"
gravity = [0, 0, -9.81]                     # [m/s²]

[[body]]
name = "rod"
shape = { capsule = { radius = 0.02, length = 1.0 }, density = 2700 }   # or mesh = "rod.stl" with a density, or numbers:
# mass = 3.4                                # [kg]
# com = [0, 0, -0.5]                        # [m] in the body frame
# inertia = { xx = 0.3, yy = 0.3, zz = 0.01, xy = 0, xz = 0, yz = 0 }    # [kg·m²] about the centre of mass, body axes

[[joint]]
name = "hinge"
type = "revolute"                           # any built-in or plugin
parent = "world"
child = "rod"
at = { xyz = [0, 0, 1], rpy = [0, 0, 0] }   # joint frame in the parent
axis = [0, 1, 0]
damping = 0.01                              # [N·m·s/rad]
start = { q = 0.3, v = 0.0 }

[simulation]
duration = 10.0                             # [s]
step = 1e-3                                 # [s]
integrator = "rk4"

[output]
every = 0.01                                # [s]
"""
ARM = """\
<robot name="arm"><link name="base"/><link name="one"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="one"/></joint></robot>
"""
BODY = '[[body]]\nname = "b"\nmass = 1\n'
JOINT = '[[joint]]\nname = "j"\nchild = "b"\ntype = "revolute"\n'
PLUGIN = '[[joint]]\nname = "j"\nchild = "b"\ntype = "test_lift"\nlift = 3.0\n'
SLIDE = '[[joint]]\nname = "j"\nchild = "b"\ntype = "planar"\n'
FREE = '[[joint]]\nname = "j"\nchild = "b"\ntype = "free"\n'
MODEL = '[[model]]\nfile = "arm.urdf"\n'
EVENT = '[simulation]\nintegrator = "dopri5"\n[[event]]\nname = "e"\n'
LOOP = '[[loop]]\nname = "l"\na = "b"\n'


@joint("test_lift")
class Lift(Joint):
    """A slide whose fields have names that other joints have for something else."""

    lift: float
    axis: str = "up"
    length: float = 0.0
    coordinates = real("x")

    def placement(self, q):
        return Pose.translate(0, 0, self.lift + q.x)


@event("test_lifted")
class Lifted(Event):
    level: float = 0.0

    def value(self, q, v):
        return q.j - self.level


@integrator("test_blended")
class Blended(Integrator):
    blend: float = 0.5

    def step(self, system, t, h, q, v):
        return q, v


TAKEN = [
    *(BODY + FREE + f"[[body.{kind}]]\n{shape}" for kind in ("shape", "visual") for shape in (
        "box = [1, 2, 3]", "box = { x = 1, y = 2, z = 3 }", "ellipsoid = [1, 2, 3]",
        "ellipsoid = { a = 1, b = 2, c = 3 }",
        'sphere = { radius = 1 }\ncolor = "teal"', 'sphere = { radius = 1 }\ncolor = "#aaBB01"',
        'sphere = { radius = 1 }\ncolor = "#aabb0180"', "sphere.radius = 1\ncolor = [1, 0.5, 0]",
        "sphere.radius = 1\ncolor = [0, 0, 0, 1]",
    )),
    BODY + "shape = { sphere = { radius = 1 } }\n" + FREE,
    BODY + "visual = { sphere = { radius = 1 } }\n" + FREE,
    BODY + "shape = []\n" + FREE,
    *(BODY + JOINT + line for line in (
        "start = 0.3", "start = [0.3]", "start = { q = 0.3, v = 1 }", "start = { q = [0.3], v = [1] }",
        "stiffness = 1\nrest = 0", "stiffness = 1\nrest = [0.1]", "stiffness = 1\nrest = { q = 0.1 }", "damping = 1", "damping = [1]",
        "limits = { lower = -1, upper = inf }", "limits = { lower = [-1], upper = [inf] }", "limits = { lower = -inf, upper = 1 }",
        "friction = 1\nfriction_width = 0.1", "friction = [1]\nfriction_width = [0.1]",
    )),
    BODY + SLIDE + "start = [1, 2, 3]\narmature = [1, 0, 2]",
    BODY + FREE + "start = { xyz = [1, 2, 3], rpy = [0, 0, 1], v = [1, 2, 3, 4, 5, 6] }",
    BODY + FREE + "start.axis_angle = [1, 0, 0, 1]",
    MODEL + "start = { j = 0.4 }",
    MODEL + "[model.start]\nj = 0.4",
    MODEL + "start.j = { q = [0.4] }",
    MODEL + "start_v.j = 2",
    MODEL + "start_v.j = [2]",
    MODEL + 'joint.j = { damping = 2, stiffness = 1, rest = 1 }\nbody.one.color = "red"',
    BODY + PLUGIN,
    BODY + PLUGIN + 'axis = "down"\nlength = -1',
    BODY + FREE + LOOP + 'type = "test_lift"\nlift = 3.0\nlength = -1\naxis = "down"\nstart = 0.1',
    BODY + FREE + LOOP + 'type = "revolute"\naxis = [0, 1, 0]\nstart = 0.1',
    BODY + FREE + LOOP + 'type = "distance"\nlength = 1',
    BODY + FREE + LOOP + 'type = "weld"',
    BODY + JOINT + EVENT + 'joint = "j"\nat = 0.1',
    BODY + JOINT + 'limits.upper = 1\n' + EVENT + 'joint = "j"\nat = "upper"',
    BODY + JOINT + EVENT + 'type = "test_lifted"\nlevel = 1',
    '[simulation]\nintegrator = "test_blended"\nblend = 1',
    '[simulation]\nintegrator = "dopri5"\nrtol = 1e-6\natol = 1e-9',
    BODY + JOINT + '[simulation]\nintegrator = "dopri5"\nrtol = { j = 1e-6 }',
]  # fmt: skip
REFUSED = [
    "nam = 1",
    'name = ""',
    "gravity = -9.81",
    "gravity = [0, 0]",
    'inertia = "chek"',
    '[body]\nname = "b"\nmass = 1\n' + FREE,
    *(BODY.replace("mass = 1", line) + FREE for line in (
        'mass = "1"', "mass = true", "mass = -1", "mass = inf", "mass = nan", "mas = 1", "mass = 1\ncom = [0, 0]",
        "mass = 1\ninertia = { xx = 1, yy = 1 }", 'mass = 1\nparameters = { a = 1 }',
    )),
    *(BODY + FREE + f"[[body.shape]]\n{shape}" for shape in (
        "box = [1, 2]", "box = [1, 2, 3, 4]", "box = [1, 2, -3]", 'box = [1, 2, "3"]', "box = 1",
        "box = { x = 1, y = 2 }", "ellipsoid = [0, 1, 1]", "sphere = 1", "sphere = { radius = 0 }",
        "sphere.radius = 1\ndensity = 0", 'mesh = "a.obj"\nscale = "1"', 'sphere.radius = 1\ncolor = "#12"',
        'sphere.radius = 1\ncolor = "gren"', "sphere.radius = 1\ncolor = [1, 0]",
        "sphere.radius = 1\ncolor = [1, 0, 2]", "sphere.radius = 1\ncolor = [1, 0, 0, 0, 0]",
    )),
    BODY + "visual = { sphere = { radius = 1 }, density = 1 }\n" + FREE,
    BODY + 'shape = "box"\n' + FREE,
    *(BODY + joint + line for joint in (JOINT, PLUGIN) for line in (
        'start = "0.3"', "start = true", 'start = ["0.3"]', "start = { w = 1 }", "start = { q = {} }",
        'rest = "0"', "rest = { v = 1 }", "damping = -1", "damping = [-1]", 'damping = "1"',
        "friction_width = 0", "limits = { lower = true }", "damping = inf", "limits = 1", "limits = { low = 1 }",
        "at = [0, 0, 1]", "at = { xyz = [0, 0] }", "parent = 1", 'mimic = "j"',
    )),
    *(BODY + JOINT + line for line in ("lift = 3.0", "dampin = 1", "axis = [0, 1]", 'pitch = "1"',
                                       "parameters = { a = 1 }")),
    BODY + JOINT.replace('type = "revolute"\n', ""),
    BODY + FREE + LOOP + 'type = "revolute"\nlift = 3.0',
    BODY + FREE + LOOP + 'type = "distance"\nlength = -1',
    BODY + FREE + LOOP + 'type = "weld"\nstart = "a"',
    MODEL + 'start.j = "0.4"',
    MODEL + "joint.j.dampin = 1",
    MODEL + "lift = 1",
    *(BODY + JOINT + EVENT + line for line in (
        'joint = "j"\nat = "middle"', 'joint = "j"\nat = true', 'joint = "j"\nat = 1\nlevel = 1',
        'joint = "j"\nat = 1\ncoordinate = -1', 'type = "test_lifted"\ndirection = "up"',
        'type = "test_lifted"\nstop = 1',
    )),
    *(f"[simulation]\n{line}" for line in (
        "step = 0", 'step = "1"', "steps = 1", 'integrator = "rk4"\nblend = 1', "parameters = { a = 1 }",
        'integrator = "test_blended"\nduration = -1', "rtol = 0", 'integrator = "dopri5"\nrtol = { j = "a" }',
    )),
    "[render]\nsize = [1]",
    "[render]\nsize = [1.5, 2]",
    "[render]\nground = 1",
    "[output]\nevry = 1",
    '[assembly]\nhold = "j"',
    '[[force]]\nname = "f"\ntype = "spring"\na = "b"\nstifness = 1\n' + BODY + FREE,
]  # fmt: skip
RICH = (
    DESIGN
    + '[[body]]\nname = "b"\nmass = 1\nvisual = [{ box = [1, 2, 3], color = [1, 0, 0] }]\n'
    + PLUGIN
    + "limits = { lower = -1 }\nrest = 0.1\nstart = [0.3]\nfriction = 1\n"
    + MODEL
    + 'start = { j = 0.4 }\nstart_v = { j = 1 }\njoint.j.damping = 1\nbody.one = { mass = 1, color = "red" }\n'
    + LOOP
    + 'type = "distance"\nlength = 1\nat_a = { xyz = [0, 0, 1] }\nstart = 1\n'
    + '[[coupling]]\nname = "c"\njoint = "j"\nratios = { hinge = 2 }\ninputs = ["a"]\n'
    + '[[force]]\nname = "f"\ntype = "spring"\na = "b"\nat_a = [0, 0, 1]\nstiffness = 1\n'
    + '[[event]]\nname = "e"\njoint = "j"\nat = "lower"\n'
    + '[[event]]\nname = "g"\nbody = "b"\nplane = { normal = [0, 0, 1] }\n'
    + '[[frame]]\nname = "h"\nbody = "b"\n[[actuator]]\njoint = "j"\ncoordinate = 1\n'
    + '[render]\nsize = [20, 30]\ntrails = ["b"]\nground = true\n[assembly]\nhold = ["j"]\n'
)
STRANGE: list[Any] = [
    True,
    -1,
    0,
    1,
    0.5,
    float("inf"),
    "",
    "world",
    "#112233",
    [],
    [1],
    [1, 2],
    [1, 2, 3],
    [0.5, 0, 1, 1],
    ["a"],
    [[]],
    [{}],
    {},
    {"q": 1},
    {"q": [1], "v": 1},
    {"x": 1, "y": 1, "z": 1},
    {"a": 1},
    {"a": {}},
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(ARM, "utf-8")


@pytest.fixture(scope="module", params=["Draft202012Validator", "Draft7Validator"])
def schema(request: pytest.FixtureRequest) -> Any:
    """The schema as pydantic means it, and as most editors read one that does not say its draft."""
    return getattr(jsonschema, request.param)(scene_schema())


def complaints(schema: Any, text: str) -> list[str]:
    values = json.loads(json.dumps(tomllib.loads(text)), parse_constant=_no_number)
    return [f"{e.json_path}: {e.message}" for e in schema.iter_errors(values)]


def _no_number(_: str) -> None:
    """JSON has neither infinity nor NaN: taplo, which editors use, makes them null."""


def load(text: str) -> None:
    Path("s.toml").write_text(text, "utf-8")
    read_scene("s.toml")


def test_the_schema_is_one(schema: Any) -> None:
    schema.check_schema(schema.schema)


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_it_takes_the_scenes(schema: Any, path: Path) -> None:
    assert complaints(schema, path.read_text("utf-8")) == []


@pytest.mark.parametrize("number", ['"= 2 * pi / 9"', '"40 deg"'])
def test_it_takes_expressions_and_units_in_limits_and_events(schema: Any, number: str) -> None:
    event = f'[[event]]\nname = "e"\njoint = "j"\nat = {number}\n'
    text = BODY + JOINT + f"limits = {{ upper = {number} }}\n" + event
    load(text + '[simulation]\nintegrator = "dopri5"\n')
    assert complaints(schema, text) == []


@pytest.mark.parametrize("text", [DESIGN])
def test_it_takes_the_example_of_the_design_document(schema: Any, text: str) -> None:
    assert complaints(schema, text) == []


@pytest.mark.parametrize("text", TAKEN)
def test_it_takes_every_way_of_writing_that_the_loader_takes(schema: Any, text: str) -> None:
    load(text)
    assert complaints(schema, text) == []


@pytest.mark.parametrize("text", REFUSED)
def test_it_rejects_forms_that_the_loader_rejects(schema: Any, text: str) -> None:
    with pytest.raises(SceneError):
        load(text)
    assert complaints(schema, text) != []


@pytest.mark.slow
def test_the_schema_accepts_every_value_that_the_tables_accept() -> None:
    """The keys of plugins are put aside for the tables, which are asked alone; most of these make no scene."""
    schema = jsonschema.Draft202012Validator(scene_schema())
    values = tomllib.loads(RICH)
    taken = 0
    for path in _paths(values):
        for strange in STRANGE:
            changed = copy.deepcopy(values)
            inner = changed
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = strange
            if _is_taken(changed):
                taken += 1
                assert schema.is_valid(changed), (path, strange)
    assert taken > 300


def _is_taken(values: dict[str, Any]) -> bool:
    bare = copy.deepcopy(values)
    for table in bare["joint"] if isinstance(bare["joint"], list) else ():
        if isinstance(table, dict):
            table.pop("lift", None)
    try:
        Scene.model_validate(bare)
    except ValidationError:
        return False
    return True


def _paths(value: Any) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        path
        for key, below in inner
        for path in (
            (key,),
            *((key, *rest) for rest in (_paths(below) if isinstance(below, (dict, list)) else ())),
        )
    ]


def test_defaults_are_what_a_file_may_say(schema: Any) -> None:
    definitions = schema.schema["$defs"]
    keys = [
        value
        for table in (schema.schema, *definitions.values())
        for value in table["properties"].values()
        if "default" in value
    ]
    assert len(keys) > 50
    for value in keys:
        type(schema)({"$defs": definitions, **value}).validate(value["default"])


def test_it_states_unit_and_meaning_of_every_key() -> None:
    schema = scene_schema()
    tables = [schema, *schema["$defs"].values()]
    keys = [(k, v) for table in tables for k, v in table["properties"].items()]
    assert len(keys) > 80
    assert [k for k, v in keys if not v.get("description") or "unit" not in v] == []
    assert schema["$defs"]["Body"]["properties"]["mass"]["unit"] == "kg"
    below = [k for table in schema["$defs"].values() for k in table["properties"]]
    assert "parameters" not in below  # the keys of plugins are written beside the others


def test_tables_without_plugins_know_all_their_keys() -> None:
    schema = scene_schema()
    tables = {"Scene": schema, **schema["$defs"]}
    further = {name for name, table in tables.items() if table.get("additionalProperties", True)}
    blocks = {"Signal", "Sensor", "Controller", "Actuator"}
    assert further == {"Joint", "Loop", "Force", "Event", "Simulation"} | blocks
