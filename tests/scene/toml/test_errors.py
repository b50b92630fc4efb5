"""Errors of scene files, asserted word for word, with line and column; the texts were read by a person."""

# ruff: noqa: E501, a message stays in one piece

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pysim.errors import PysimError, PysimWarning, SceneError
from pysim.scene import read_scene
from pysim.scene.toml.overrides import UNSET

BODY = '[[body]]\nname = "b"\n'
FREE = '[[joint]]\nname = "j"\ntype = "free"\nchild = "b"\n'
JOINT = '[[body]]\nname = "b"\nmass = 1\n[[joint]]\nname = "j"\nchild = "b"\n'
SLIDER = JOINT + 'type = "prismatic"\n'

CASES = [
    (
        "name = rod",
        's.toml:1:8: not TOML: string values must be quoted, expected literal string; put text in quotes, "…"; truth values are true and false',
    ),
    (
        "a = 1\na = 2",
        "s.toml:2:1: not TOML: duplicate key; write a key once, and the keys of one table under one [heading]",
    ),
    ("[body\n", "s.toml:1:6: not TOML: unclosed table, expected `]`; write [name]"),
    (
        "x = { a = 1,\n b = 2 }",
        "s.toml:1:13: not TOML: unclosed inline table, expected `}`; close { … } on the line on which it opens; a long one can be a [table] of its own",
    ),
    (
        'name = "é',
        's.toml:1:10: not TOML: invalid basic string, expected `"`; close the text by " on its line',
    ),
    (
        "é = 1",
        "s.toml:1:1: not TOML: invalid unquoted key, expected letters, numbers, `-`, `_`; put a key of other letters in quotes",
    ),
    (
        'name = "a\\u0000c"\n',
        "s.toml:1:8: name: must not have control characters, got 'a\\x00c'; leave them out",
    ),
    (
        BODY.replace('"b"', '"\\u001b[31m\\nb"') + "mass = 1\n" + FREE,
        "s.toml:2:8: body[0].name: must not have control characters, got '\\x1b[31m\\nb'; leave them out",
    ),
    (
        BODY.replace('"b"', '"\\u009b31m"') + "mass = 1\n" + FREE,
        "s.toml:2:8: body[0].name: must not have control characters, got '\\x9b31m'; leave them out",
    ),
    (
        BODY + FREE,
        "s.toml:1:1: body[0]: body 'b' has no mass; give a shape with a density [kg/m³], or mass [kg], com [m] and inertia [kg·m²], or mass = 0",
    ),
    (
        BODY + "com = [1,2,3]\n" + FREE,
        "s.toml:1:1: body[0]: body 'b' has com but no mass; give mass [kg]",
    ),
    (
        BODY + "shape = { sphere = { radius = 1 } }\n" + FREE,
        "s.toml:1:1: body[0]: body 'b' has no mass; give the shape a density [kg/m³], or the body a mass [kg], 0 if it is only drawn",
    ),
    (
        BODY + "mass = 1\nshape = { sphere = { radius = 1 }, density = 1 }\n" + FREE,
        (
            "s.toml:3:8: body[0].mass: has mass, and shape has a density; give one of the two "
            "(shape.density = 0.238732 makes 1 [kg])"
        ),
    ),
    (
        BODY + "mass = 1\ncom = [0, 0, 1]\nshape = { sphere = { radius = 1 } }\n" + FREE,
        "s.toml:4:7: body[0].com: comes from the shape here; leave com out, or give an inertia too",
    ),
    (
        BODY + "shape = [{ sphere = { radius = 1 } }, { box = [1, 1, 1], density = 2 }]\n" + FREE,
        "s.toml:3:10: body[0].shape[0]: has no density but its neighbours do; give one, or move it to visual",
    ),
    (
        BODY + "shape = { density = 2 }\n" + FREE,
        "s.toml:3:9: body[0].shape: needs exactly one of box, sphere, cylinder, capsule, cone, ellipsoid, mesh, field, got none",
    ),
    (
        BODY + "mass = 1\nshape = { sphere = { radius = 1 }, scale = 2 }\n" + FREE,
        "s.toml:4:9: body[0].shape: scale is for a mesh; change the lengths of the sphere instead",
    ),
    (
        BODY + "mass = 1\nshape = { sphere = { radius = 0 } }\n" + FREE,
        "s.toml:4:31: body[0].shape.sphere.radius: must be positive [m], got 0",
    ),
    (
        BODY + "mass = 1\ninertia = { xx = 1, yy = 1, zz = 3 }\n" + FREE,
        "s.toml:4:11: body[0].inertia: the inertia of body 'b' is not physically consistent: Ixx + Iyy < Izz by 33.3 %, against the triangle inequality of the principal moments 1, 1, 3 [kg·m²]; the nearest valid one is inertia = { xx = 1.5, xy = 0, xz = 0, yy = 1.5, yz = 0, zz = 3 }; paste it, or write inertia = \"nearest\" at the top of the scene",
    ),
    (
        BODY + "mass = 0\ninertia = { xx = 1, yy = 1, zz = 1 }\n" + FREE,
        "s.toml:4:11: body[0].inertia: the inertia of body 'b' is not physically consistent: the mass is zero but the inertia is not; give it a mass [kg], or remove the inertia",
    ),
    (
        JOINT + 'type = "revolute"\nrest = 0.1',
        "s.toml:8:1: joint[0].rest: has no effect without stiffness; give stiffness, or leave rest out",
    ),
    (
        JOINT + 'type = "revolute"\nfriction_width = 0.1',
        "s.toml:8:1: joint[0].friction_width: has no effect without friction; give friction, or leave friction_width out",
    ),
    (
        JOINT + 'type = "revolute"\n[[actuator]]\njoint = "j"\nfrequency = 1\nphase = 1',
        "s.toml:8:1: actuator[0]: has frequency and phase but no amplitude; give amplitude [N or N·m]",
    ),
    (
        JOINT + 'type = "revolute"\n[[actuator]]\njoint = "j"\namplitude = 1',
        "s.toml:8:1: actuator[0]: has an amplitude but no frequency or phase, so the sine is 0; give frequency [rad/s], or write offset for a constant force",
    ),
    (BODY + "mass = nan\n" + FREE, "s.toml:3:8: body[0].mass: must be finite [kg], got nan"),
    (BODY + 'mass = "1"\n' + FREE, "s.toml:3:8: body[0].mass: must be a number [kg], got '1'"),
    (BODY + "mass = true\n" + FREE, "s.toml:3:8: body[0].mass: must be a number [kg], got true"),
    (
        BODY + "mass = 1\nvisual = { sphere = { radius = 1 }, color = [1, 2, 3] }\n" + FREE,
        "s.toml:4:45: body[0].visual.color: the components of a color must be between 0 and 1, got [1, 2, 3]",
    ),
    (
        BODY + "mass = 1\n",
        's.toml:1:1: body[0]: body \'b\' is the child of no joint; give it a joint with child = "b", of type = "free" if it moves freely',
    ),
    (
        BODY + 'mass = 1\n[[joint]]\nname = "j"\ntype = "free"\nchild = "b"\n' + FREE,
        "s.toml:9:8: joint[1].name: 'j' is taken by s.toml:5:8: joint[0].name; rename one",
    ),
    (
        BODY + 'mass = 1\n[[body]]\nname = "b"\nmass=1\n' + FREE,
        "s.toml:5:8: body[1].name: 'b' is taken by s.toml:2:8: body[0].name; rename one",
    ),
    (JOINT, "s.toml:4:1: joint[0].type: is missing; add it: the joint type, such as revolute"),
    (
        JOINT + 'type = "revolut"',
        "s.toml:7:8: joint[0].type: unknown joint type 'revolut'; did you mean 'revolute'?",
    ),
    (
        JOINT + 'type = "revolute"\naxis = [0, 0, 0]',
        "s.toml:8:8: joint[0].axis: has no direction, got [0.0, 0.0, 0.0]; give it a length, as in [0, 0, 1]",
    ),
    (
        JOINT + 'type = "ball"\naxis = [0, 0, 1]',
        "s.toml:8:1: joint[0].axis: a ball joint has no axis; turn the joint frame with at",
    ),
    (
        JOINT + 'type = "fixed"\ndamping = 1',
        "s.toml:8:1: joint[0].damping: a fixed joint has no damping; remove it",
    ),
    (
        JOINT + 'type = "helical"',
        "s.toml:4:1: joint[0].pitch: is missing; give the travel along the axis per radian [m/rad]",
    ),
    (
        JOINT + 'type = "revolute"\npitch = 1',
        "s.toml:8:1: joint[0].pitch: a revolute joint has no pitch; remove it",
    ),
    (
        JOINT + 'type = "ball"\nlimits = { lower = 1 }',
        "s.toml:8:1: joint[0].limits: a ball joint has no limits; its coordinates are not angles",
    ),
    (
        JOINT + 'type = "revolute"\nlimits = { lower = 1, upper = 1 }',
        "s.toml:8:10: joint[0].limits: lower 1 must be below upper 1 [rad]",
    ),
    (
        JOINT + 'type = "revolute"\nlimits = { stiffness = 1e4 }',
        "s.toml:8:1: joint[0].limits: has no bound; give lower or upper, or leave limits out",
    ),
    (
        JOINT + 'type = "revolute"\nlimits = { lower = nan }',
        "s.toml:8:20: joint[0].limits.lower: must be a number, got nan",
    ),
    (
        JOINT + 'type = "planar"\nlimits = { lower = [0,0,5], upper = [1,1,1] }',
        "s.toml:8:10: joint[0].limits: lower of angle 5 must be below upper 1 [rad]",
    ),
    (
        JOINT + 'type = "revolute"\ndamping = -1',
        "s.toml:8:11: joint[0].damping: must not be negative [N·s/m or N·m·s/rad], got -1",
    ),
    (
        JOINT + 'type = "planar"\nfriction = [1, 2]',
        "s.toml:8:12: joint[0].friction: must have 1 or 3 numbers for a planar joint, got 2",
    ),
    (
        JOINT + 'type = "planar"\nstart = 1',
        "s.toml:8:9: joint[0].start.q: must have 3 numbers for a planar joint: x [m], y [m], angle [rad]; got 1",
    ),
    (
        JOINT + 'type = "revolute"\nfriction_width = 0',
        "s.toml:8:18: joint[0].friction_width: must be positive [m/s or rad/s], got 0",
    ),
    (
        JOINT + 'type = "free"\nstart = { q = [0,0,0,0,0,0,2] }',
        "s.toml:8:15: joint[0].start.q: its quaternion (x, y, z, w) must have norm 1, got 2",
    ),
    (
        JOINT + 'type = "free"\nstart = { v = [1] }',
        "s.toml:8:15: joint[0].start.v: must have 6 numbers for a free joint: vx [m/s], vy [m/s], vz [m/s], wx [rad/s], wy [rad/s], wz [rad/s]; got 1",
    ),
    (
        JOINT + 'type = "revolute"\nstart = { rpy = [0,0,1] }',
        "s.toml:8:9: joint[0].start: a revolute joint takes q, not a rotation",
    ),
    (
        JOINT + 'type = "revolute"\nstart = { q = 1, xyz = [1,2,3] }',
        "s.toml:8:9: joint[0].start: has q and a pose; give one of the two",
    ),
    (
        JOINT + 'type = "free"\nat = { rpy = [0, 0, 0], axis_angle = [0, 0, 1, 0] }',
        "s.toml:8:6: joint[0].at: has rpy and axis_angle; give one of them",
    ),
    (
        JOINT + 'type = "free"\nat = { axis_angle = [0, 0, 0, 1] }',
        "s.toml:8:6: joint[0].at: axis_angle has a zero axis; its first three numbers are the axis",
    ),
    (
        JOINT + 'type = "free"\nat = { quat_xyzw = [0, 0, 1, 1] }',
        "s.toml:8:6: joint[0].at: quat_xyzw must have norm 1, got 1.414214; divide it by its norm",
    ),
    (
        JOINT + 'type = "free"\nat = { xyz = [0, 0] }',
        "s.toml:8:14: joint[0].at.xyz: must have 3 numbers [m], got 2",
    ),
    (
        JOINT + 'type = "free"\nat = [0, 0, 1]',
        (
            "s.toml:8:6: joint[0].at: must be a table, "
            "{ rpy = …, quat_wxyz = …, quat_xyzw = …, axis_angle = …, xyz = … }, got [0, 0, 1]; write at = { xyz = [0, 0, 1] }"
        ),
    ),
    (
        JOINT + 'type = "free"\nparent = "c"',
        "s.toml:8:10: joint[0].parent: unknown body or frame 'c'; known: b, world",
    ),
    (
        JOINT + 'type = "revolute"\nparent = "b"',
        "s.toml:4:1: joint[0]: joint 'j' joins body 'b' to itself; name another parent",
    ),
    (
        JOINT + 'type = "revolute"\nmimic = { joint = "k" }',
        "s.toml:8:19: joint[0].mimic.joint: unknown joint 'k'; known: j",
    ),
    (
        JOINT + 'type = "revolute"\nmimic = { joint = "j" }',
        "s.toml:8:19: joint[0].mimic.joint: joints follow each other in a cycle: j → j; remove one mimic",
    ),
    (
        JOINT + 'type = "ball"\nmimic = { joint = "j" }',
        "s.toml:8:1: joint[0].mimic: a ball joint cannot follow another; only joints of one coordinate can",
    ),
    (
        JOINT + 'type = "revolute"\nmimic = { joint = "j" }\nstart = 1',
        (
            "s.toml:8:19: joint[0].mimic.joint: joints follow each other in a cycle: j → j; remove one mimic\n"
            "s.toml:9:1: joint[0].start: follows joint 'j'; give the start to that joint"
        ),
    ),
    (
        JOINT + 'type = "free"\n[[frame]]\nname = "b"\nbody = "c"',
        (
            "s.toml:9:8: frame[0].name: 'b' is taken by s.toml:2:8: body[0].name; rename one\n"
            "s.toml:10:8: frame[0].body: unknown body 'c'; known: b, world"
        ),
    ),
    (
        JOINT + 'type = "free"\n[[actuator]]\njoint = "k"',
        "s.toml:9:9: actuator[0].joint: unknown joint 'k'; known: j",
    ),
    (
        JOINT + 'type = "free"\n[[actuator]]\njoint = "j"\ncoordinate = 6',
        "s.toml:10:14: actuator[0].coordinate: a free joint has no coordinate 6; it has 0 vx, 1 vy, 2 vz, 3 wx, 4 wy, 5 wz",
    ),
    (
        JOINT + 'type = "free"\n[[actuator]]\njoint = "j"\ncoordinate = "wxy"',
        "s.toml:10:14: actuator[0].coordinate: a free joint has no coordinate wxy; it has 0 vx, 1 vy, 2 vz, 3 wx, 4 wy, 5 wz; did you mean 'wy'?",
    ),
    (
        JOINT + 'type = "free"\n[[actuator]]\njoint = "j"\ncoordinate = -1',
        "s.toml:10:14: actuator[0].coordinate: must be the name of a coordinate or its index, from 0, got -1",
    ),
    (
        JOINT + 'type = "fixed"\n[[actuator]]\njoint = "j"',
        "s.toml:9:9: actuator[0].joint: joint 'j' is fixed; there is nothing to drive",
    ),
    (
        "[simulation]\nstep = 0\nduration = -1",
        (
            "s.toml:2:8: simulation.step: must be positive [s], got 0\n"
            "s.toml:3:12: simulation.duration: must be positive [s], got -1"
        ),
    ),
    (
        "[simulation]\nstep = 1\nduration = 0.1",
        "s.toml:2:8: simulation.step: 1 [s] is longer than the duration 0.1 [s]; take a smaller step",
    ),
    (
        "[output]\nevery = 1e-4",
        "s.toml:2:9: output.every: 0.0001 [s] is shorter than simulation.step 0.001 [s]; take 0.001 or more, or a shorter step",
    ),
    (
        "[output]\nevery = 20",
        "s.toml:2:9: output.every: 20 [s] is longer than the duration 10 [s]; take less",
    ),
    (
        '[simulation]\nintegrator = "rk5"',
        "s.toml:2:14: simulation.integrator: unknown integrator 'rk5'; did you mean 'rk4'?",
    ),
    ("[simulation]\nstep = inf", "s.toml:2:8: simulation.step: must be finite [s], got inf"),
    (
        "[[plugin]]\nx = 1",
        "s.toml:1:3: plugin: unknown key; did you mean 'plugins'?",
    ),
    (
        'package_dirs = ["nope"]',
        "s.toml:1:17: package_dirs[0]: there is no folder 'nope'; paths are relative to the scene",
    ),
    ('[render]\ntool = "x"', "s.toml:2:8: render.tool: unknown body or frame 'x'"),
    ("body = 3", "s.toml:1:8: body: must be a list, got 3"),
    ('[body]\nname = "x"', "s.toml:1:1: body: must be a list of tables; write [[body]]"),
    ('name = ""', "s.toml:1:8: name: must not be empty, got ''"),
    ("gravity = -9.81", "s.toml:1:11: gravity: must be a list [m/s²], got -9.81"),
    (
        '[[body]]\nname = "world"\nmass = 1\n[[joint]]\nname = "j"\nchild = "world"\ntype="free"',
        (
            "s.toml:2:8: body[0].name: 'world' is the name of the world; choose another\n"
            "s.toml:6:9: joint[0].child: the world cannot be moved; swap parent and child"
        ),
    ),
    (
        BODY
        + 'mass=1\n[[joint]]\nname = "j"\ntype = "free"\nchild = "b"\n[[joint]]\nname = "k"\ntype = "free"\nchild = "b"\n',
        "s.toml:11:9: joint[1].child: body 'b' is the child of joint 'j' already; a body has one parent in a tree, remove one joint",
    ),
]

HINGE = JOINT + 'type = "revolute"\n'
SECOND = '[[body]]\nname = "c"\nmass = 1\n[[joint]]\nname = "k"\nparent = "b"\nchild = "c"\n'
FOLLOWER = HINGE + SECOND + 'type = "revolute"\nmimic = { joint = "j" }\n'
WELDED = HINGE + SECOND + 'type = "fixed"\n'
ADAPTIVE = '[simulation]\nintegrator = "dopri5"\n'
EVENT = '[[event]]\nname = "e"\njoint = "k"\nat = 0\n'
MOTOR = '[[signal]]\nname = "u"\ntype = "constant"\nvalue = 1\n[[actuator]]\nname = "m"\ntype = "force"\ncommand = "u"\n'

MORE_CASES = [
    (
        FOLLOWER + '[[actuator]]\njoint = "k"\noffset = 1\n',
        "s.toml:18:9: actuator[0].joint: joint 'k' follows 'j'; drive that joint",
    ),
    (
        FOLLOWER + MOTOR + 'joint = "k"\n',
        "s.toml:25:9: actuator[0].joint: joint 'k' follows 'j'; drive that joint",
    ),
    (
        HINGE + MOTOR + 'joint = "j"\ncoordinates = ["j"]\n',
        "s.toml:12:1: actuator[0]: drives a joint, coordinates or a path; give one of them",
    ),
    (
        HINGE + "[[actuator]]\noffset = 1\n",
        "s.toml:8:1: actuator[0]: joint is missing; name the joint that it drives",
    ),
    (
        HINGE + '[[actuator]]\njoint = "j"\ncommand = "u"\noffset = 1\n',
        's.toml:8:1: actuator[0]: has command but no type; write type = "force"',
    ),
    (
        ADAPTIVE + FOLLOWER + EVENT,
        "s.toml:21:9: event[0].joint: joint 'k' follows 'j'; watch that joint",
    ),
    (
        ADAPTIVE + WELDED + EVENT,
        "s.toml:20:9: event[0].joint: joint 'k' is fixed and has no coordinate; name another joint",
    ),
    (
        ADAPTIVE + BODY + "mass = 1\n" + FREE + EVENT.replace('"k"', '"j"\ncoordinate = 3'),
        "s.toml:13:14: event[0].coordinate: 'quat_x' is a component of a quaternion, not an angle; watch a point of the body pass a plane, or write an event plugin",
    ),
    (
        BODY.replace('"b"', '"b"\nmass = 1\ncollision = true') + FREE,
        "s.toml:4:13: body[0].collision: body 'b' has no shape; give shapes here, or in shape",
    ),
    (
        HINGE + '[[exclude]]\nbetween = ["world", "b"]\n',
        (
            "s.toml:8:1: exclude[0]: there is nothing to touch; add a [[ground]], or remove it\n"
            "s.toml:9:21: exclude[0].between[1]: body 'b' has no shape that collides; give it collision = true"
        ),
    ),
    (
        "[materials.m]\nstiffness = { linear = 1e5, young = 1e6, poisson = 0.3 }\n",
        "s.toml:2:13: materials.m.stiffness: has linear and young; a surface has one law",
    ),
    (
        BODY + 'mass = "= 1e308 * 10"\n' + FREE,
        "s.toml:3:11: body[0].mass: '1e308 * 10' is inf; a finite number is needed",
    ),
    (
        BODY + "mass = 1e200\n" + FREE,
        "s.toml:3:8: body[0].mass: is beyond 1e+30, got 1e+200; take another unit",
    ),
    (
        HINGE + "start = { xyz = [1, 2, 3] }\n",
        "s.toml:8:11: joint[0].start.xyz: a revolute joint takes no xyz",
    ),
    (
        JOINT.replace("mass = 1", 'mass = 1\nvisual = { mesh = "m.obj", scale = 0 }'),
        (
            "s.toml:4:10: body[0].visual: scale must not be zero\n"
            "s.toml:5:1: joint[0].type: is missing; add it: the joint type, such as revolute"
        ),
    ),
    (
        BODY + "mass = 1\nvisual = { sphere = { radius = 1 }, color = [1, 2] }\n" + FREE,
        's.toml:4:45: body[0].visual.color: a color is "#rrggbb", a name, or 3 or 4 numbers in 0 to 1, got [1, 2]',
    ),
    (
        BODY + 'mass = 1\nvisual = { sphere = { radius = 1 }, color = "#12" }\n' + FREE,
        "s.toml:4:45: body[0].visual.color: unknown color '#12'; write \"#rrggbb\" or a name",
    ),
    (
        JOINT + 'type = "ball"\n' + SECOND + 'type = "revolute"\nmimic = { joint = "j" }\n',
        "s.toml:16:19: joint[1].mimic.joint: follows 'j', a ball joint; only joints with one coordinate can be followed",
    ),
]

SEVERAL_TYPES = [
    (
        BODY + "mass = 1\ncollision = 3\n" + FREE,
        "s.toml:4:13: body[0].collision: must be true or false, or a table, got 3",
    ),
    (
        BODY + "mass = 1\ncollision = { sphere = { radius = 0 } }\n" + FREE,
        "s.toml:4:35: body[0].collision.sphere.radius: must be positive [m], got 0",
    ),
    (
        BODY + "mass = 1\ncollision = [{ spere = { radius = 1 } }]\n" + FREE,
        "s.toml:4:16: body[0].collision[0].spere: unknown key; did you mean 'sphere'?",
    ),
    (
        BODY + "mass = 1\ncollision = { sphere = { radius = 1 }, convex = true }\n" + FREE,
        "s.toml:4:13: body[0].collision: convex applies to a mesh alone; leave it out",
    ),
    (
        '[[model]]\nfile = "x.urdf"\ncollision = "all"\n',
        's.toml:3:13: model[0].collision: must be "file", "urdf" or "none", or a list, got \'all\'',
    ),
    (
        '[[model]]\nfile = "x.urdf"\ncollision = [1]\n',
        "s.toml:3:14: model[0].collision[0]: must be text in quotes, got 1",
    ),
    (
        "[sweep.grid]\na = { b = 1 }\n",
        's.toml:2:5: sweep.grid.a: must be text in quotes, or a list, got a table; a name with a dot needs quotes: "a.b" = 1',
    ),
    (
        '[sweep]\ngrid = { a = [1, "x"] }\n',
        "s.toml:2:18: sweep.grid.a[1]: must be a number, got 'x'",
    ),
    (
        HINGE
        + MOTOR.replace('"u"\n', "3\n", 2).replace("name = 3", 'name = "u"')
        + 'joint = "j"\n',
        "s.toml:15:11: actuator[0].command: must be text in quotes, or a list, got 3",
    ),
]

ARM = (
    '<robot name="arm"><link name="base"/><link name="one"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="j1" type="continuous"><parent link="base"/><child link="one"/></joint></robot>'
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def message(text: str, overrides: dict[str, object] | None = None) -> str:
    Path("s.toml").write_text(text, "utf-8")
    with pytest.raises(PysimError) as caught:
        read_scene("s.toml", overrides)
    return str(caught.value)


@pytest.mark.parametrize(("text", "expected"), [*CASES, *MORE_CASES])
def test_message(text: str, expected: str) -> None:
    assert message(text) == expected


@pytest.mark.parametrize(("text", "expected"), SEVERAL_TYPES)
def test_a_key_of_several_types_reports_the_one_that_was_meant(text: str, expected: str) -> None:
    assert message(text) == expected


def test_an_error_shows_nothing_of_how_it_was_found() -> None:
    Path("s.toml").write_text(BODY + 'mass = "heavy"', "utf-8")
    with pytest.raises(SceneError, match=r"body\[0\]\.mass: must be a number") as caught:
        read_scene("s.toml")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = 'nam = 1\n[[body]]\nmass = -1\n[simulaton]\n[[joint]]\nname = "é"\nat = { xyz = "é", rpz = 1 }\n'
    assert message(text).split("\n") == [
        "s.toml:1:1: nam: unknown key; did you mean 'name'?",
        "s.toml:2:1: body[0].name: is missing; add it: the name of the body",
        "s.toml:3:8: body[0].mass: must not be negative [kg], got -1",
        "s.toml:4:1: simulaton: unknown key; did you mean 'simulation'?",
        "s.toml:5:1: joint[0].child: is missing; add it: the body that the joint moves",
        "s.toml:5:1: joint[0].type: is missing; add it: the joint type, such as revolute",
        "s.toml:7:14: joint[0].at.xyz: must be a list [m], got 'é'",
        "s.toml:7:19: joint[0].at.rpz: unknown key; did you mean 'rpy'?",
    ]


NOT_TOML = [
    ("g = [0, 0 -9.81]", "put a comma between the items of a list"),
    ("g = [0, 0\n[[body]]", "put a comma between the items of a list, and ] at its end"),
    ("m = .5", "write digits on both sides of the point, as in 0.5"),
    ("m = 1.", "write digits on both sides of the point, as in 1.0"),
    ("m = 1,5", "write one key = value on a line; numbers have a decimal point"),
    ("m = 1 // kg", "write one key = value on a line; a comment begins with #"),
    ("m = 1.5kg", 'put a number with its unit in quotes, as in "30 deg"'),
    ("start = 30deg", 'put a number with its unit in quotes, as in "30 deg"'),
    ("b = True", "write true or false"),
    ("[[body]", "write [[name]]"),
    ("name: x", "write key = value"),
    ("x = { a = 1, }", "leave out the last comma in { … }"),
    ('n = "C:\\work"', "write a backslash twice, or put the text in single quotes"),
    ("m = 01", "leave out the zeros in front"),
    ("[s]\na = 1\n[s]\nb = 2", "the keys of one table under one [heading]"),
]


@pytest.mark.parametrize(("text", "remedy"), NOT_TOML, ids=lambda x: x)
def test_a_syntax_error_is_reported_with_a_remedy(text: str, remedy: str) -> None:
    reported = message(text)
    assert re.match(r"s\.toml:\d+:\d+: not TOML: ", reported)
    assert remedy in reported


def test_an_unknown_type_is_reported_beside_other_mistakes() -> None:
    assert message(JOINT + 'type = "revolut"\ndamping = -1\n').split("\n") == [
        "s.toml:7:8: joint[0].type: unknown joint type 'revolut'; did you mean 'revolute'?",
        "s.toml:8:11: joint[0].damping: must not be negative [N·s/m or N·m·s/rad], got -1",
    ]
    loop = '[[loop]]\nname = "l"\ntype = "welt"\na = "b"\nb = "world"\n'
    assert "loop[0].type: unknown joint type 'welt'" in message(
        JOINT + 'type = "free"\nx = 1\n' + loop
    )


def test_angles_beyond_a_turn_are_warned_of_with_what_they_are_in_radians() -> None:
    text = (
        JOINT
        + 'type = "free"\nat = { rpy = [6.28, 0, -90] }\nstart = { axis_angle = [9, 0, 0, 45] }\n'
    )
    Path("s.toml").write_text(text, "utf-8")
    with pytest.warns(PysimWarning) as reported:
        read_scene("s.toml")
    assert [str(warning.message) for warning in reported] == [
        "s.toml:8:24: joint[0].at.rpy[2]: -90 [rad] exceeds one full turn, 6.28 [rad]; if degrees were meant, write -1.570796327",
        "s.toml:9:34: joint[0].start.axis_angle[3]: 45 [rad] exceeds one full turn, 6.28 [rad]; if degrees were meant, write 0.7853981634",
    ]


def test_a_long_list_of_problems_is_cut() -> None:
    lines = message("".join(f"x{k} = 1\n" for k in range(30))).split("\n")
    assert len(lines) == 21
    assert lines[-1] == "s.toml: 10 more errors; fix these first"


def test_columns_count_characters() -> None:
    text = '[render]\nx = "é"\n"ééé" = { y = 1 }\n'
    assert [line.split(" ")[0] for line in message(text).split("\n")] == [
        "s.toml:2:1:",
        "s.toml:3:1:",
    ]
    assert message('name = "é"; x = 1').startswith("s.toml:1:11: not TOML: ")
    assert message('[render]\nfocus = ["é", "é"]').split("\n") == [
        "s.toml:2:10: render.focus[0]: must be a number [m], got 'é'",
        "s.toml:2:15: render.focus[1]: must be a number [m], got 'é'",
    ]


def test_files_that_cannot_be_read() -> None:
    with pytest.raises(
        SceneError, match=r"^no\.toml: cannot be read: no such file or directory; check"
    ):
        read_scene("no.toml")
    Path("s.toml").write_bytes(b'a = 1\nb = "\xff"')
    with pytest.raises(SceneError, match=r"^s\.toml:2: is not UTF-8 text; save it as UTF-8$"):
        read_scene("s.toml")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a = " + "{ a = " * 60 + "1" + "}" * 60,
        "a." * 60 + "a = 1",
        "[" + "a." * 5000 + "a]",
    ],
)
def test_a_bottomless_file_is_rejected(text: str) -> None:
    problem = r"s\.toml(:1)?: tables are nested more than 50 deep; flatten them"
    assert re.fullmatch(problem, message(text))


def test_a_broken_bottomless_file_is_rejected() -> None:
    assert message("a = 1\nb = \n" + "[" * 100_000).startswith("s.toml:2:")
    assert message("a = " + "[" * 200 + "\n" + "{a." * 5000).startswith("s.toml")


def test_models_and_meshes_that_are_not_there() -> None:
    Path("arm.urdf").write_text(ARM, "utf-8")
    model = '[[model]]\nfile = "arm.urdf"\n'
    for text, expected in (
        ('[[model]]\nfile = "x.urdf"', "s.toml:2:8: model[0].file: there is no file "),
        (
            '[[model]]\nfile = "s.toml"',
            "s.toml:2:8: model[0].file: the file attaches itself: 's.toml' → 's.toml'; remove this one",
        ),
        (
            model + "start = { j2 = 1 }",
            "s.toml:3:11: model[0].start.j2: the file has no joint 'j2'; known: root_fixed, j1",
        ),
        (
            model + "start_v = { root_fixed = 1 }",
            "s.toml:3:13: model[0].start_v.root_fixed: a fixed joint has no start; remove it",
        ),
        (
            model + "joint.j1.damping = [1, 2]",
            "s.toml:3:20: model[0].joint.j1.damping: must have 1 number for a revolute joint, got 2",
        ),
        (
            model + 'body.on.color = "red"',
            "s.toml:3:9: model[0].body.on: the file has no body 'on'; did you mean 'one'?",
        ),
        (
            model + "body.one.com = [0, 0, 1]",
            "s.toml:3:10: model[0].body.one: body 'one' has com but no mass; give mass [kg]",
        ),
        (
            model + 'collision = ["on"]',
            "s.toml:3:14: model[0].collision[0]: the file has no body 'on'; did you mean 'one'?",
        ),
        (
            model + 'collision = ["one"]',
            "s.toml:3:14: model[0].collision[0]: body 'one' has no shape for contact in the file; remove it",
        ),
        (
            model + model,
            "s.toml:3:1: model[1]: its body 'base' is taken by model[0]; give the model a name",
        ),
        (
            BODY + 'mass = 1\nshape = { mesh = "rod.stl" }\n' + FREE,
            "s.toml:4:18: body[0].shape.mesh: there is no file ",
        ),
    ):
        assert message(text).startswith(expected)


SCENE = JOINT + 'type = "revolute"\n'


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("body.c.mass", 1, "--set body.c.mass: nothing is named 'c'; known: b"),
        ("body[3].mass", 1, "--set body[3].mass: no item has index 3, the last is 0"),
        ("model.x.name", 1, "--set model.x.name: nothing is named 'x'"),
        (
            "simulaton.step",
            1,
            "--set simulaton.step: unknown key; did you mean 'simulation'?",
        ),
        ("simulation.stpe", 1, "--set simulation.stpe: unknown key; did you mean 'step'?"),
        ("simulation.step", "-1", "--set simulation.step: must be positive [s], got -1"),
        ("simulation.step", "fast", "--set simulation.step: must be a number [s], got 'fast'"),
        ("joint.j.axis", [0, 0, 0], "--set joint.j.axis: has no direction, got [0.0, 0.0, 0.0]; "),
        ("body.b.mass.x", 1, "--set body.b.mass.x: has nothing below 'body.b.mass', which is 1"),
        (
            "a..b",
            1,
            "--set a..b: is not a path of keys; write it as simulation.step or body.rod.mass",
        ),
        ("", 1, "--set : is not a path of keys; write it as simulation.step or body.rod.mass"),
    ],
)
def test_overrides_are_named_in_what_is_wrong_with_them(
    key: str, value: object, expected: str
) -> None:
    assert message(SCENE, {key: value}).startswith(expected)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([1], "overrides: must map paths of keys to values, got list; write"),
        ("a=1", "overrides: must map paths of keys to values, got str; write"),
        ({1: 2}, "overrides: 1: is not a path of keys"),
        ({"simulation.step": None}, "--set simulation.step: None is not a value; give one"),
    ],
)
def test_overrides_that_are_not_a_mapping_are_rejected(overrides: Any, expected: str) -> None:
    assert message(SCENE, overrides).startswith(expected)


def _paths(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict):
        inner = [(f"{path}.{k}" if path else k, v) for k, v in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[{k}]", v) for k, v in enumerate(value)]
    else:
        return [path]
    return ([path] if path else []) + [p for k, v in inner for p in _paths(v, k)]


def test_no_value_anywhere_makes_a_scene_fail_without_a_message() -> None:
    """Every value of a scene that uses most keys is replaced by every strange value, in turn."""
    Path("arm.urdf").write_text(ARM, "utf-8")
    text = (
        SCENE
        + "axis = [0, 1, 0]\narmature = [1]\nlimits = { lower = -1, upper = [1], stiffness = 1, damping = 1 }\n"
        + "stiffness = 2\nrest = { q = 1 }\nstart = { q = 1, v = 2 }\nat = { xyz = [1, 2, 3], axis_angle = [1, 0, 0, 1] }\n"
        + '[[body]]\nname = "c"\ncom = [1, 2, 3]\nmass = 2\ninertia = { xx = 1, yy = 1, zz = 1 }\n'
        + 'visual = [{ box = [1, 2, 3], color = "red" }]\n'
        + '[[joint]]\nname = "k"\ntype = "free"\nparent = "b"\nchild = "c"\nstart = { rpy = [1, 2, 3] }\n'
        + '[[joint]]\nname = "l"\ntype = "helical"\npitch = 1\nchild = "d"\nmimic = { joint = "j" }\n'
        + '[[body]]\nname = "d"\nshape = { cone = { radius = 1, length = 2 }, density = 3 }\n'
        + '[[frame]]\nname = "f"\nbody = "c"\n[[actuator]]\njoint = "k"\ncoordinate = 2\noffset = 1\n'
        + '[[model]]\nfile = "arm.urdf"\nparent = "c"\nstart = { j1 = 1 }\njoint.j1.damping = 1\n'
        + "[simulation]\nduration = 1\n[output]\nevery = 0.1\n"
        + '[render]\ntool = "f"\nsize = [20, 30]\ntrails = ["c"]\n'
    )
    Path("s.toml").write_text(text, "utf-8")
    read_scene("s.toml")
    strange: list[object] = [
        None,
        True,
        -1,
        0,
        10**400,
        float("nan"),
        float("inf"),
        "",
        "world",
        "c",
        [],
        {},
        [[]],
        [{}],
    ]
    strange += [[1, 2], ["a", {}], {"q": []}, {"": 1}, "\n", 1e-320, 1e300, -1e300]
    for path in _paths(tomllib.loads(text)):
        for value in strange:
            try:
                read_scene("s.toml", {path: value})
            except PysimError as error:
                assert str(error).startswith(("--set ", "s.toml:"))  # noqa: PT017, many are fine


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "[simulation]\nstep = 1e-22\nduration = 10.0",
            "s.toml:9:8: simulation.step: 1e-22 [s] makes 1e+23 steps of the duration 10 [s], more than 2**53; take 1.2e-15 or more",
        ),
        (
            '[simulation]\nintegrator = "dopri5"\nduration = 1.0\n[output]\nevery = 1e-19',
            "s.toml:12:9: output.every: 1e-19 [s] makes 1e+19 outputs of the duration 1 [s], more than 2**53; take 1.2e-16 or more",
        ),
    ],
)
def test_counts_that_no_double_holds_are_rejected(lines: str, expected: str) -> None:
    Path("s.toml").write_text(f"{SLIDER}{lines}\n", "utf-8")
    with pytest.raises(SceneError, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml")


@pytest.mark.parametrize(
    ("step", "count", "long"),
    [("1e-12", "1e+13", "1.2e+02 days"), ("2e-15", "5e+15", "1.6e+02 years")],
)
def test_runs_of_days_and_years_are_announced(step: str, count: str, long: str) -> None:
    Path("s.toml").write_text(f"{SLIDER}[simulation]\nstep = {step}\nduration = 10.0\n", "utf-8")
    expected = f"s.toml:9:8: simulation.step: {step} [s] makes {count} steps of the duration 10 [s], about {long} at a microsecond each; take longer ones"
    with pytest.warns(PysimWarning, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml")


def test_a_duration_that_takes_decades_is_announced() -> None:
    Path("s.toml").write_text(f"{SLIDER}[simulation]\nduration = 1e12\n", "utf-8")
    expected = (
        "s.toml:8:1: simulation.step: 0.001 [s] makes 1e+15 steps of the duration 1e+12 [s], about 32 years at a "
        "microsecond each; take longer ones"
    )
    with pytest.warns(PysimWarning, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml")


def test_thousands_of_bad_numbers_and_names_are_reported_in_linear_time() -> None:
    def numbers(count: int) -> str:
        return "x = [" + ", ".join(["1e300"] * (8 * count)) + "]\n"

    def names(count: int) -> str:
        return "".join(
            f'[[body]]\nname = "b{k}"\nmass = 1\n[[joint]]\nname = "j{k}"\ntype = "prismatic"\nchild = "c{k}"\n'
            for k in range(count)
        )

    def seconds(text: str) -> float:
        Path("s.toml").write_text(text, "utf-8")
        spent = []
        for _ in range(2):  # the least is not that of a busy machine
            began = time.process_time()
            with pytest.raises(SceneError, match="more errors"):
                read_scene("s.toml")
            spent.append(time.process_time() - began)
        return min(spent)

    for text in (numbers, names):
        seconds(text(100))  # imports
        assert seconds(text(1200)) < 8 * seconds(text(300))  # 4 times, 16 times if quadratic


EXCLUSIVE = """[[body]]
name = "rod"
shape = { box = { x = 1.0, y = 1.0, z = 1.0 }, density = 100.0 }
[[joint]]
name = "c.angle"
type = "revolute"
child = "rod"
[[actuator]]
joint = "c.angle"
offset = 1.0
[simulation]
integrator = "dopri5"
rtol = 1e-6
duration = 1.0
"""


def test_a_key_that_excludes_one_that_is_set_is_named_and_can_be_removed() -> None:
    Path("s.toml").write_text(EXCLUSIVE, "utf-8")
    cases: list[tuple[dict[str, object], dict[str, object], str]] = [
        (
            {"simulation.integrator": "rk4"},
            {"simulation.rtol": UNSET},
            "s.toml:13:1: simulation.rtol: 'rk4' takes steps of one size and estimates no error; remove rtol (--unset simulation.rtol) or take one that adapts: dopri5",
        ),
        (
            {"body.rod.mass": 2.0},
            {"body.rod.shape.density": UNSET},
            "--set body.rod.mass: has mass, and shape has a density; give one of the two (shape.density = 2 makes 2 [kg]) (--unset body[0].shape.density)",
        ),
        (
            {"body.rod.shape.sphere.radius": 2.0},
            {"body[0].shape[0].box": UNSET},
            "s.toml:3:9: body[0].shape: needs exactly one of box, sphere, cylinder, capsule, cone, ellipsoid, mesh, field, got box and sphere (--unset body[0].shape[0].box)",
        ),
    ]
    for given, unset, expected in cases:
        with pytest.raises(SceneError) as caught:
            read_scene("s.toml", given)
        assert str(caught.value) == expected
        assert read_scene("s.toml", given | unset).overrides == given | unset


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (
            "simulation.rtl",
            "--unset simulation.rtl: the scene has no such key; did you mean 'rtol'?",
        ),
        (
            "simulation.x.y",
            "--unset simulation.x.y: the scene has no such key; known: integrator, rtol, duration",
        ),
        (
            "body[0]",
            "--unset body[0]: is an item of a list; remove keys of it, or edit the file",
        ),
        (
            "body.rod",
            "--unset body.rod: is an item of a list; remove keys of it, or edit the file",
        ),
        (
            "joint[0].type",
            "--unset joint[0].type: is missing; add it: the joint type, such as revolute",
        ),
    ],
)
def test_keys_that_cannot_be_removed_are_rejected(key: str, expected: str) -> None:
    Path("s.toml").write_text(EXCLUSIVE, "utf-8")
    with pytest.raises(SceneError, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml", {key: UNSET})


def test_an_actuator_without_a_name_is_found_by_its_joint_or_its_index() -> None:
    Path("s.toml").write_text(EXCLUSIVE, "utf-8")
    for key in ('actuator."c.angle".offset', "actuator[0].offset"):
        assert read_scene("s.toml", {key: 3.0}).actuators[0].offset == 3.0
    Path("s.toml").write_text(EXCLUSIVE + "[[event]]\nkind = 1\n", "utf-8")
    expected = "--set event.hit.stop: nothing is named 'hit'; select an item without a name by its index, as event[0]"
    with pytest.raises(SceneError, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml", {"event.hit.stop": True})


LARGE_INTEGERS = {
    "9" * 23: "integer 9.99e22 exceeds 64 bits; write it as a decimal fraction",
    "-9223372036854775809": "integer -9.22e18 exceeds 64 bits; write it as a decimal fraction",
    "9" * 4000: "integer 9.99e3999 exceeds 64 bits; write it as a decimal fraction",
}


@pytest.mark.parametrize("number", LARGE_INTEGERS)
def test_an_integer_beyond_64_bits_is_rejected_as_toml_demands(number: str) -> None:
    Path("s.toml").write_text(f"[[body]]\nname = 'b'\nmass = {number}\n{FREE}", "utf-8")
    with pytest.raises(SceneError) as caught:
        read_scene("s.toml")
    assert str(caught.value) == f"s.toml:3:8: body[0].mass: {LARGE_INTEGERS[number]}"
    Path("s.toml").write_text(EXCLUSIVE, "utf-8")
    for value in (number, int(number)):
        with pytest.raises(SceneError) as caught:
            read_scene("s.toml", {"body.rod.mass": value})
        assert str(caught.value) == f"--set body.rod.mass: {LARGE_INTEGERS[number]}"


def test_an_integer_of_thousands_of_digits_is_a_typed_error() -> None:
    Path("s.toml").write_text(f"[[body]]\nname = 'b'\nmass = {'9' * 5000}\n{FREE}", "utf-8")
    expected = "s.toml:3:8: integer of more than 4300 digits exceeds 64 bits; shorten it"
    with pytest.raises(SceneError, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('name = "{}"', "s.toml:1:8: name: a text has 5000000 characters, at most 4096 are allowed; shorten {}…"),
        ("{} = 1", "s.toml:1:1: a key has 5000000 characters, at most 4096 are allowed; shorten {}…"),
    ],
)  # fmt: skip
def test_a_name_of_megabytes_is_rejected_briefly(text: str, expected: str) -> None:
    Path("s.toml").write_text(text.format("n" * 5_000_000) + "\n" + BODY + FREE, "utf-8")
    with pytest.raises(SceneError) as caught:
        read_scene("s.toml")
    assert str(caught.value) == expected.format("n" * 20)
    Path("s.toml").write_text(EXCLUSIVE, "utf-8")
    expected = "--set name: a text has 5000000 characters, at most 4096 are allowed; shorten nnnnnnnnnnnnnnnnnnnn…"
    with pytest.raises(SceneError, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml", {"name": "n" * 5_000_000})


def test_a_name_with_a_dot_needs_quotes() -> None:
    coupling = '[[coupling]]\nname = "g"\njoint = "c.angle"\nratios = { c.angle = 0.1 }\n'
    Path("s.toml").write_text(EXCLUSIVE + coupling, "utf-8")
    expected = 's.toml:18:14: coupling[0].ratios.c: must be a number, got a table; a name with a dot needs quotes: "c.angle" = 0.1'
    with pytest.raises(SceneError, match=f"^{re.escape(expected)}$"):
        read_scene("s.toml")


def test_shapes_that_cannot_collide_or_weigh_are_reported() -> None:
    """Each shape of a body by itself; a mesh that is missing is not counted as one without mass."""
    Path("open.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "utf-8")
    for lines, expected in (
        (
            'mass = 1\ncollision = [{ mesh = "gone.stl", convex = true }]\n',
            "s.toml:4:23: body[0].collision[0].mesh: there is no file ",
        ),
        (
            'shape = [{ mesh = "gone.stl", density = 1 }, { box = [1, 1, 1], density = 1 }]\n',
            "s.toml:3:19: body[0].shape[0].mesh: there is no file ",
        ),
        (
            'shape = { mesh = "open.obj", density = 1 }\n',
            "s.toml:3:18: body[0].shape.mesh: ",
        ),
        (
            "mass = 1\nshape = [{ box = [1, 1, 1], density = 1 }, { box = [1, 1, 1], density = 1 }]\n",
            "s.toml:3:8: body[0].mass: has mass, and shape has a density; give one of the two",
        ),
    ):
        assert message(BODY + lines + FREE).startswith(expected)
