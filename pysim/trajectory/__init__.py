"""A run and its file: times, states, energies, body poses and what is needed to draw them.

The file is plain HDF5 (`h5py`, MATLAB, Julia, `h5dump`, HDFView open it); no pysim is needed:

    import h5py
    with h5py.File("arm.h5") as file:
        t, q = file["time"][:], file["q"][:]                # (n,) [s], (n, nq)
        names = file["names/coordinates"].asstr()[:]        # what the columns of q are
        units = file["units/coordinates"].asstr()[:]        # and their units
        energy = sum(file["energy"][kind][:] for kind in file["energy"])   # [J]
        scene, whole = file["scene/text"].asstr()[()], file.attrs["complete"]

Layout, version 1; n output instants, every number a double, every dataset has the attribute `unit`:

| name | shape | what |
|---|---|---|
| `time` | (n,) | [s], increasing |
| `q` `v` `a` | (n, nq) (n, nv) (n, nv) | configuration, velocity, acceleration dv/dt |
| `energy/kinetic` `potential` `elastic` | (n,) | [J] |
| `poses` | (n, nbodies, 7) | body frames in the world: x y z [m], quaternion x y z w |
| `loops/wrenches` | (n, loops, 6) | of each loop on its second body, in frame B about its origin [N, N·m] |
| `couplings/forces` | (n, couplings) | λ of each coupling; a coordinate feels λ times its factor [N or N·m] |
| `events/time` `q` `v` `name` | (k,) (k, nq) (k, nv) text | events [s] and their states, if the scene has any |
| `names/events` | text | what the run looked for |
| `names/loops` `names/couplings` | text | columns of the two, if the scene has any |
| `names/joints` `bodies` `frames` `coordinates` `velocities` | text | columns of q, v, poses |
| `units/coordinates` `velocities` | text | units of the columns of q, v |
| `frames/body` `frames/pose` | (m,) (m, 4, 4) | body (-1: the world) and pose in it [m] |
| `scene/text` `overrides` | text | the scene as read; keys set from outside, JSON |
| `visuals` `render` | text | shapes to draw and wishes how, JSON (`pysim.trajectory.visuals`) |

Attributes of the file: `format` "pysim-trajectory", `format_version`, `complete`, `pysim_version`,
`name`, `scene_sha256`, `integrator`, `step` [s], `gravity` [m/s²].

`complete` stays false until the run has ended well; `reason` tells why it did not, unless the run was killed. Rows
are flushed in chunks, so a killed run leaves a readable file that says it is not whole.
"""

from __future__ import annotations

from pysim.trajectory.events import Events
from pysim.trajectory.reader import load_trajectory
from pysim.trajectory.record import Trajectory, TrajectoryHeader
from pysim.trajectory.visuals import header_visuals
from pysim.trajectory.writer import TrajectoryWriter

__all__ = [
    "Events",
    "Trajectory",
    "TrajectoryHeader",
    "TrajectoryWriter",
    "header_visuals",
    "load_trajectory",
]
