"""Trajectories and their files: times, states, energies, body poses, and the data for pictures.

The file is plain HDF5 (`h5py`, MATLAB, Julia, `h5dump`, HDFView open it); no pysim is needed:

    import h5py
    with h5py.File("arm.h5") as file:
        t, q = file["time"][:], file["q"][:]                # (n,) [s], (n, nq)
        names = file["names/coordinates"].asstr()[:]        # what the columns of q are
        units = file["units/coordinates"].asstr()[:]        # and their units
        energy = sum(file["energy"][kind][:] for kind in file["energy"])   # [J]
        scene, whole = file["scene/text"].asstr()[()], file.attrs["complete"]

Layout, version 1; n output instants, every number a double, every dataset of numbers has the attribute `unit`:

| name | shape | content |
|---|---|---|
| `time` | (n,) | [s], increasing |
| `q` `v` `a` | (n, nq) (n, nv) (n, nv) | configuration, velocity, acceleration dv/dt |
| `energy/kinetic` `potential` `elastic` | (n,) | [J] |
| `poses` | (n, nbodies, 7) | body frames in the world: x y z [m], quaternion x y z w |
| `loops/wrenches` | (n, loops, 6) | of each loop on its second body, in frame B about its origin [N, N·m] |
| `couplings/forces` | (n, couplings) | λ of each coupling or motion, times its factor on a coordinate [N or N·m] |
| `events/time` `q` `v` `name` | (k,) (k, nq) (k, nv) text | events [s] and their states, if the scene has any |
| `names/events` | text | events of the scene |
| `names/loops` `names/couplings` | text | columns of the two, if the scene has any |
| `contacts/pairs/force` `impulse` | (n, pairs, 3) | on the second link [N], and since the row before [N·s] |
| `contacts/offsets` | (n + 1,) | the contact points of row i are offsets[i] … offsets[i + 1] − 1 of the following |
| `contacts/pair` `point` `normal` `force` | (k,) (k, 3) (k, 3) (k, 3) | of every contact point [m, N], world axes |
| `contacts/penetration` `slip_speed` `stuck` | (k,) | of every contact point [m, m/s] |
| `names/contacts` | text | pairs of links, "world, foot" |
| `forces` | (n, k) | tensions, wrenches and generalised forces of `[[force]]` tables [N or N·m] |
| `names/forces` `units/forces` | text | its columns, "strut.tension", and their units, if the scene has any |
| `signals/NAME` | (n,) or (n, size) | every signal of the scene, in its unit |
| `names/signals` `units/signals` | text | names and units of the signals, if the scene has any |
| `work/NAME` | (n,) | work of every element since the start that is not taken from its stored energy [J] |
| `work/dissipated` `work/injected` | (n,) | sums: energy + dissipated − injected is constant [J] |
| `names/work` | text | names of the datasets of work, if there are any |
| `names/joints` `bodies` `frames` `coordinates` `velocities` | text | columns of q, v, poses |
| `units/coordinates` `velocities` | text | units of the columns of q, v |
| `frames/body` `frames/pose` | (m,) (m, 4, 4) | body (-1: the world) and pose in it [m] |
| `scene/text` `overrides` | text | the scene as read; keys set from outside, JSON |
| `visuals` `render` | text | shapes to draw and settings of pictures, JSON (`pysim.trajectory.visuals`) |
| `connections` | text | joints, loops, forces and grounds to draw, JSON (`pysim.trajectory.connections`); optional |

Attributes of the file: `format` "pysim-trajectory", `format_version`, `complete`, `pysim_version`,
`name`, `scene_sha256`, `integrator`, `step` [s], `gravity` [m/s²], `imported` (a body comes
from a file of another program).

`complete` stays false until the run has ended well; `reason` says why it did not, unless the run was killed. Rows reach
the disk together, every second or few megabytes, so a run that is killed or whose disk fails leaves a readable file
with all rows before, which is marked incomplete.

Texts, attributes included, are UTF-8 of a fixed length (`.decode()` an attribute); rows have Fletcher-32 checksums. The
bytes of HDF5 are followed by checksums of all pages (`pysim.trajectory.page_file`), which `load_trajectory` compares
before HDF5 parses anything. A file that another program has changed has lost them: it is read by a child process with
limits on time and memory, which costs about half a second. Storage in other files, links and filters that HDF5 does not
have itself are rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.trajectory.contacts import ContactPoints
from pysim.trajectory.drawing import to_dxf
from pysim.trajectory.events import Events
from pysim.trajectory.from_states import trajectory_of_model
from pysim.trajectory.header import TrajectoryHeader
from pysim.trajectory.instants import Instants, at
from pysim.trajectory.labelled import to_xarray
from pysim.trajectory.reader import load_trajectory
from pysim.trajectory.record import Trajectory
from pysim.trajectory.trajectory_html import trajectory_html
from pysim.trajectory.trajectory_table import to_csv, to_pandas
from pysim.trajectory.visuals import header_visuals
from pysim.trajectory.writer import TrajectoryWriter, save

__all__ = [
    "ContactPoints",
    "Events",
    "Instants",
    "Trajectory",
    "TrajectoryHeader",
    "TrajectoryWriter",
    "header_visuals",
    "load_trajectory",
]

if not TYPE_CHECKING:  # a checker reads them in the class
    Trajectory.of = staticmethod(trajectory_of_model)
    Trajectory.at = at
    Trajectory.save = save
    Trajectory.to_csv = to_csv
    Trajectory.to_dxf = to_dxf
    Trajectory.to_pandas = to_pandas
    Trajectory.to_xarray = to_xarray
    Trajectory._repr_html_ = trajectory_html
