"""Worlds of random scenes that differ in numbers. Oracle: `load_scene` of every world, bit for bit, and its errors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.worlds.test_similar_scenes import assert_same_bits, loaded, loaded_together

if TYPE_CHECKING:
    from pathlib import Path

COORDINATES = {  # (in q, in v) of the joint types
    "revolute": (1, 1), "prismatic": (1, 1), "helical": (1, 1), "cylindrical": (2, 2), "universal": (2, 2),
    "planar": (3, 3), "translation": (3, 3), "ball": (4, 3), "free": (7, 6),
}  # fmt: skip
SHAPES = {
    "box": "{{ x = {}, y = {}, z = {} }}",
    "sphere": "{{ radius = {} }}",
    "cylinder": "{{ radius = {}, length = {} }}",
    "ellipsoid": "{{ a = {}, b = {}, c = {} }}",
}


class RandomScene:
    """Text of a scene with random tables, in which about half of the numbers are expressions of parameters."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.parameters = {f"p{k}": float(self.rng.uniform(0.5, 2)) for k in range(6)}
        self.colliding: list[str] = []  # bodies
        self.limited: list[str] = []  # joints with an upper limit
        self.ratios: list[str] = []  # joints of one coordinate
        self.units: dict[str, str] = {}  # of their coordinates
        self.numbers: dict[str, float] = {}  # plain ones by key, which an override may set
        self.collide = self.chance(0.4)
        count = int(self.rng.integers(1, 5))
        self.text = "\n".join(
            [self.head(), *map(self.body, range(count)), *map(self.joint, range(count))]
            + ([self.between(count)] if count > 1 else [])
            + ([self.contacts()] if self.colliding else [self.events()])
            + ([self.servo()] if self.ratios and self.chance() else [])
        )

    def chance(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def number(self, low: float, high: float, key: str = "") -> str:
        """Return a number, or an expression whose value is in the same range."""
        value = float(self.rng.uniform(low, high))
        if self.chance():
            name, other = self.rng.choice([*self.parameters, "derived", "again"], 2)
            form = self.rng.choice(
                [f"{value} * {name} / {name}", f"{value} + 1e-3 * sin({name} * {other})"]
            )
            return f'"= {form}"'
        if key:
            self.numbers[key] = value
        return repr(value)

    def vector(self, low: float, high: float, count: int = 3, key: str = "") -> str:
        each = (self.number(low, high, key and f"{key}[{k}]") for k in range(count))
        return f"[{', '.join(each)}]"

    def head(self) -> str:
        lines = [f"{name} = {value!r}" for name, value in self.parameters.items()]
        lines += ['again = "= derived / 2"', 'derived = "= p0 + p1"']
        gravity = f"gravity = {self.vector(-9, 9, key='gravity')}\n" if self.chance() else ""
        return gravity + "[parameters]\n" + "\n".join(lines)

    def solid(self, *, dense: bool) -> str:
        kind = str(self.rng.choice(list(SHAPES)))
        form = SHAPES[kind].format(*(self.number(0.1, 0.3) for _ in range(3)))
        density = f", density = {self.number(500, 2000)}" if dense else ""
        at = f", at = {{ xyz = {self.vector(-0.2, 0.2)} }}" if self.chance() else ""
        return f"{{ {kind} = {form}{density}{at}, color = [0.5, 0.5, 0.5] }}"

    def body(self, k: int) -> str:
        lines = ["[[body]]", f'name = "b{k}"']
        kind = self.rng.choice(["numbers", "point", "dense", "spread"])
        if kind != "dense":
            lines.append(f"mass = {self.number(1, 3, f'body.b{k}.mass')}")
        if kind in {"numbers", "point"}:
            lines.append(f"com = {self.vector(0.1, 0.3, key=f'body.b{k}.com')}")
            lines.append(f"visual = [{self.solid(dense=False)}, {self.solid(dense=False)}]")
        if kind == "numbers":
            keys = {key: f"body.b{k}.inertia.{key}" for key in ("xx", "yy", "zz")}
            entries = (f"{key} = {self.number(0.1, 0.15, at)}" for key, at in keys.items())
            lines.append(f"inertia = {{ {', '.join(entries)} }}")
        if kind in {"dense", "spread"}:
            lines.append(f"shape = {self.solid(dense=kind == 'dense')}")
            if self.collide:
                lines += ["collision = true", 'material = "steel"']
                self.colliding.append(f"b{k}")
        return "\n".join(lines)

    def joint(self, k: int) -> str:
        kind = str(self.rng.choice(list(COORDINATES)))
        (nq, nv), key = COORDINATES[kind], f"joint.j{k}"
        lines = ["[[joint]]", f'name = "j{k}"', f'type = "{kind}"', f'child = "b{k}"']
        lines += (
            [f'parent = "{self.rng.choice(["b", "f"])}{self.rng.integers(k)}"']
            if k and self.chance(0.8)
            else []
        )
        rpy = f", rpy = {self.vector(-1, 1)}" if self.chance(0.3) else ""
        lines.append(f"at = {{ xyz = {self.vector(-0.5, 0.5, key=f'{key}.at.xyz')}{rpy} }}")
        lines.append(f"armature = {self.number(0.01, 0.02, f'{key}.armature')}")
        if kind == "helical":
            lines.append(f"pitch = {self.number(0.1, 0.2, f'{key}.pitch')}")
        if kind in {"revolute", "prismatic", "helical", "cylindrical"} and self.chance():
            lines.append(f"axis = {self.vector(0.5, 1)}")
        real = nq == nv
        for name in ("damping", "stiffness", "friction"):
            if self.chance():
                lines.append(f"{name} = {self.number(0.1, 5, f'{key}.{name}')}")
                if name == "stiffness" and real and self.chance():
                    lines.append(f"rest = {self.vector(-0.2, 0.2, nq)}")
                if name == "friction" and self.chance():
                    lines.append(f"friction_width = {self.number(0.01, 0.1)}")
        if nv == 1 and self.ratios and self.chance(0.6):
            leader = self.ratios[0]
            return "\n".join(
                [*lines, f'mimic = {{ joint = "{leader}", ratio = 0.5, offset = 0.1 }}']
            )
        if real and self.chance():
            parts = [f"lower = {self.number(-2, -1, f'{key}.limits.lower')}"]
            if self.chance():
                parts.append(f"upper = {self.number(1, 2, f'{key}.limits.upper')}")
                self.limited += [f"j{k}"] if nv == 1 else []
            parts += [f"stiffness = {self.number(100, 200)}"] if self.chance() else []
            parts += [f"damping = {self.number(1, 2)}"] if self.chance() else []
            lines.append(f"limits = {{ {', '.join(parts)} }}")
        if real and self.chance():
            v = f", v = {self.vector(-1, 1, nv)}" if self.chance() else ""
            lines.append(f"start = {{ q = {self.vector(-0.5, 0.5, nq, f'{key}.start.q')}{v} }}")
        if nv == 1:
            self.ratios.append(f"j{k}")
            self.units[f"j{k}"] = "m" if kind == "prismatic" else "rad"
        lines += ["[[frame]]", f'name = "f{k}"', f'body = "b{k}"']
        lines += [f"at = {{ xyz = {self.rng.uniform(-0.1, 0.1, 3).tolist()} }}"]
        if self.chance(0.2):
            lines += ["[[actuator]]", f'name = "drive {k}"', f'joint = "j{k}"']
            lines += [f"offset = {self.number(-1, 1)}"]
        return "\n".join(lines)

    def between(self, count: int) -> str:
        """Return a spring and a damper between two bodies."""
        lines = ["[[force]]", 'name = "spring"', 'type = "spring"', 'a = "b0"']
        lines += [f'b = "b{count - 1}"', f"at_a = {self.vector(-0.1, 0.1)}"]
        lines += [f"stiffness = {self.number(10, 20, 'force.spring.stiffness')}"]
        lines += ["[[force]]", 'name = "damper"', 'type = "path_spring"']
        points = (
            f'{{ body = "{body}", point = {self.vector(-1, 1)} }}' for body in ("world", "b0")
        )
        lines += [f"path = [{', '.join(points)}]", f"damping = {self.number(1, 2)}"]
        lines += [f"stiffness = {self.number(1, 2, 'force.damper.stiffness')}", "rest_length = 1"]
        return "\n".join(lines)

    def events(self) -> str:
        """Return events at limits and a value, which only an adaptive scheme detects, and a coupling."""
        lines = []
        for name in self.limited:
            at = '"upper"' if self.chance(0.8) else 0.25
            lines += ["[[event]]", f'name = "at {name}"', f'joint = "{name}"', f"at = {at}"]
        if len(self.ratios) > 1 and self.chance():
            a, b = self.ratios[:2]
            lines += ["[[coupling]]", 'name = "gear"', f'joint = "{b}"']
            lines += [f"ratios = {{ {a} = {self.number(1, 2, f'coupling.gear.ratios.{a}')} }}"]
        scheme = "dopri5" if self.limited else "rk4"
        return "\n".join([*lines, "[simulation]", f'integrator = "{scheme}"'])

    def contacts(self) -> str:
        """Return a material, a ground and the contact of two bodies; some friction is below the ground's."""
        lines = [
            "[materials.steel]",
            f"friction = {self.number(0.2, 0.6, 'materials.steel.friction')}",
        ]
        lines += [f"stiffness = {self.number(1e5, 2e5, 'materials.steel.stiffness')}"]
        lines += [f"restitution = {{ value = {self.number(0.2, 0.4)}, at = {self.number(1, 2)} }}"]
        lines += ["[[ground]]", f"plane = {{ normal = {self.vector(0.1, 1)}, offset = -3 }}"]
        if len(self.colliding) > 1:
            between = ", ".join(f'"{name}"' for name in self.colliding[:2])
            lines += [
                "[[contact]]",
                f"between = [{between}]",
                f"surface_velocity = {self.vector(-1, 1)}",
            ]
        return "\n".join(lines)

    def servo(self) -> str:
        """Return a signal, a sensor, a controller and an actuator of a joint."""
        joint = self.ratios[0]
        at = "controller.servo"
        lines = ["[[signal]]", 'name = "target"', 'type = "sine"']
        lines += [f"amplitude = {self.number(0.5, 1, 'signal.target.amplitude')}", "frequency = 2"]
        lines += [f'unit = "{self.units[joint]}"', "[[sensor]]", 'name = "measured"']
        lines += ['type = "coordinates"', f'coordinates = ["{joint}"]']
        lines += ["[[controller]]", 'name = "servo"', 'type = "pid"']
        lines += ['inputs = ["target", "measured.q"]']
        lines += [f"kp = {self.number(5, 10, f'{at}.kp')}", f"ki = {self.number(1, 2, f'{at}.ki')}"]
        lines += [f"kd = {self.number(0.1, 0.2)}", "filter = 200.0"]
        lines += ["[[actuator]]", 'name = "motor"', 'type = "force"', f'joint = "{joint}"']
        return "\n".join([*lines, 'command = "servo"'])

    def overrides(self, worlds: int, *, valid: bool) -> dict[str, Any]:
        """Return values of some parameters and numbers in every world; a world may be invalid."""
        first = {f"parameters.{name}": value for name, value in self.parameters.items()}
        first |= self.numbers
        names = [name for name in first if self.chance(0.3)] or list(first)
        found: dict[str, Any] = {
            name: (first[name] * self.rng.uniform(0.95, 1.05, worlds)).tolist() for name in names
        }
        if not valid:
            wrong = found[str(self.rng.choice(names))]
            wrong[int(self.rng.integers(worlds))] = float(self.rng.choice([0.0, -1.0, 1e31]))
        return found


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(k, marks=pytest.mark.nightly) for k in range(10, 100))]
)
def test_worlds_of_a_random_scene_have_the_bits_or_the_error_of_load_scene(
    seed: int, tmp_path: Path
) -> None:
    scene = RandomScene(seed)
    path, worlds = tmp_path / "random.toml", 4
    path.write_text(scene.text, "utf-8")
    overrides = scene.overrides(worlds, valid=seed % 4 != 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [loaded(path, {key: x[k] for key, x in overrides.items()}) for k in range(worlds)]
        together = loaded_together(path, overrides)
    failed = next((k for k, own in enumerate(alone) if isinstance(own, tuple)), None)
    if failed is not None:
        kind, text = alone[failed]
        assert together == (kind, f"world {failed}: {text}")
        return
    for k, (own, expected) in enumerate(zip(together, alone, strict=True)):
        assert_same_bits(own, expected, f"world {k}")
