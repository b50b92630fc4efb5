"""Player of a trajectory: actors are added once, and `show(time)` moves them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimWarning, TrajectoryError
from pysim.render import colors
from pysim.render.annotations import Annotations
from pysim.render.camera import framing_camera, upright
from pysim.render.camera_path import CameraPath
from pysim.render.captions import Captions
from pysim.render.extent import hull, measure, moved_points
from pysim.render.fittings.fitting_actors import Fittings
from pysim.render.fittings.fitting_plan import ACTIVATION, Planner
from pysim.render.force_arrows import LONGEST
from pysim.render.ghosts import Ghost, ghost_color
from pysim.render.ground import Ground
from pysim.render.meshes import body_meshes, decimated, is_opaque, merged
from pysim.render.panes import SideViews, make_transparent, pane_size, rectangles
from pysim.render.plots.plot import run_labels
from pysim.render.plots.plot_strip import PlotStrip
from pysim.render.scenery import style_stage
from pysim.render.static_layer import StaticLayer
from pysim.render.trails import Trail, centres
from pysim.render.triads import Triad
from pysim.render.tubes import LOOK, TubeActor, strongest_moment, tubes_of, with_world
from pysim.render.windows.orbit import Orbit
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Actor, Mesh, Plotter
    from pysim.render.tubes import Tube
    from pysim.trajectory import Trajectory

NAMED = 3  # bodies without a shape
INSTANTS_IN_PICTURE = 100  # instants at which other runs belong in the picture
TRIAD = 0.14  # length of a frame's axes in sizes of the motion


class Player:
    """Actors of one trajectory in one plotter."""

    def __init__(
        self,
        plotter: Plotter,
        trajectory: Trajectory,
        options: RenderOptions,
        *,
        others: Sequence[Trajectory] = (),
        left_out: float = 0.0,
    ) -> None:
        if len(trajectory) == 0:
            problem = "has no rows to draw; the run stopped before its first"
            raise TrajectoryError(trajectory.source, problem)
        self.plotter, self.trajectory, self.options = plotter, trajectory, options
        self.time = float(trajectory.t[0])
        self.stage = upright(trajectory.header.gravity)
        self.meshes = body_meshes(trajectory, options)
        self._left_out = left_out
        self._coarse = {
            body: [decimated(mesh, left_out) for mesh in meshes]
            for body, meshes in self.meshes.items()
        }
        self._hulls = {body: hull(merged(meshes).points) for body, meshes in self.meshes.items()}
        tubes = tubes_of(trajectory, options)
        for tube in tubes:
            for body, carried in tube.hulls().items():
                self._hulls[body] = hull(np.concatenate([carried, *self._hulls_of(body)]))
        self._moving = [(body, points) for body, points in self._hulls.items() if body >= 0]
        if not (self._moving or options.frames or options.trails):
            _warn_of_nothing(trajectory)
        up = self.stage[:, 2]
        self._plan = Planner(trajectory, self._hulls, up, options).make()
        points = (point for line in self._plan.lines for point in line.points)
        known = set(trajectory.header.coordinate_names)
        self._conditions = set().union(*(p.coordinates for p in points)) & known
        for other in others:
            self._plan.reach += list(
                other.poses[:: -(-len(other) // INSTANTS_IN_PICTURE), :, :3].reshape(-1, 3)
            )
        anchors = np.array(self._plan.reach).reshape(-1, 3)
        self.extent = measure(trajectory, self._hulls, up, options, anchors)
        self.follows = self.extent.follows
        self._start = self._middle(self._matrices(self.time))
        self._others = others
        # recorded tensions [N], coordinates of conditional and moving points
        self.values: dict[str, float] = {}
        self._build(tubes)
        self._others_are_hidden = self._hides_trails_or_runs()
        self.show(self.time)

    def show(self, time: float) -> None:
        """Move everything to its place at `time` [s]."""
        self.time = float(np.clip(time, self.trajectory.t[0], self.trajectory.t[-1]))
        matrices = self._matrices(self.time)
        self.values = self._tensions() | self._activations() | self._present_coordinates()
        if self._path is not None:
            whole = float(np.linalg.norm(self._camera.position - self._camera.focus))
            self._path.place(self.orbit, self.time, whole * self.options.zoom)
            self.aim()
        if self.strip is not None:
            self.strip.show(self.time)
        self.pose(matrices)
        for trail in self._trails:
            trail.show(self.time, matrices)
        for ghost in self.ghosts:
            ghost.show(self.time)
        if self.captions is not None:
            text = f"t = {self.time:.2f} s"
            if self.follows:
                height = self._middle(matrices) @ self.stage[:, 2]
                text += f"    height {height:.2f} m"
            self.captions.write(text)

    def draw(self) -> None:
        """Draw the window; while the camera rests, only what moves, if the translucent ground hides none of it."""
        if self._ground and (
            self._others_are_hidden or self._ground.hides(self._placed_hulls(self.posed))
        ):
            self.plotter.render_window.Render()
        else:
            self._layer.draw()

    def refresh(self) -> None:
        """Draw anew what has been switched on or off."""
        self.pose(self.posed)

    def pose(self, matrices: Array) -> None:
        """Move bodies to the poses (nbodies + 1, 4, 4); the last, index −1, is the world's."""
        self.posed = matrices
        for body, actors in self.actors.items():
            for actor in actors:
                actor.user_matrix = matrices[body]
        for tube in self.tubes:
            tube.show(matrices)
        if self._ground:
            self._ground.show(matrices)
        self.fittings.show(matrices, self.values)
        self.annotations.show(self.time, matrices)
        self._sides.share()  # arrows are made when they are first shown
        for triad in self._triads:
            triad.show(matrices)
        if self.follows:
            middle = self._middle(matrices)
            self._shift = middle - self._start
            self.aim()
            if self._ground:
                self._ground.move(middle)

    def _tensions(self) -> dict[str, float]:
        """Return the recorded numbers of springs and forces, interpolated."""
        run = self.trajectory
        if not run.header.force_names:
            return {}
        after = int(np.clip(np.searchsorted(run.t, self.time), 0, len(run) - 1))
        near = slice(max(after - 1, 0), after + 1)
        t, forces = run.t[near], run.element_forces[near]
        return {
            name: float(np.interp(self.time, t, forces[:, k]))
            for k, name in enumerate(run.header.force_names)
            if name.endswith(".tension")
        }

    def _activations(self) -> dict[str, float]:
        """Return the recorded activations of muscles, interpolated."""
        run = self.trajectory
        after = int(np.clip(np.searchsorted(run.t, self.time), 0, len(run) - 1))
        near = slice(max(after - 1, 0), after + 1)
        return {
            name: float(np.interp(self.time, run.t[near], np.reshape(run.signals[name][near], -1)))
            for name in run.header.signal_names
            if name.endswith(ACTIVATION)
        }

    def coordinates(self, q: Array) -> dict[str, float]:
        """Return those coordinates of q (nq,) on which points of ropes depend."""
        known = self.trajectory.header.coordinate_names
        return {f"q.{name}": float(q[known.index(name)]) for name in self._conditions}

    def _present_coordinates(self) -> dict[str, float]:
        run = self.trajectory
        row = max(int(np.searchsorted(run.t, self.time + 1e-9, side="right")) - 1, 0)
        return self.coordinates(run.q[row]) if self._conditions else {}

    def _matrices(self, time: float) -> Array:
        """Return poses (nbodies + 1, 4, 4) at `time` [s]; the last, index −1, is the world's."""
        return with_world(self.trajectory.poses_at(time)[0])

    def aim(self) -> None:
        """Place the camera where its orbit is, moved along with the mechanism if it follows."""
        self.orbit.aim(self.plotter, self._shift)
        self._sides.aim(self._shift)

    def set_detail(self, *, fine: bool) -> None:
        """Draw all triangles of the bodies, or those that moving pictures keep."""
        for body, actors in self.actors.items():
            meshes = self.meshes[body] if fine else self._coarse[body]
            for actor, mesh in zip(actors, meshes, strict=True):
                actor.mapper.dataset = mesh

    def actors_of(self, body: int) -> list[Actor]:
        """Return the actors of a body, and of the rod that it is a bar of."""
        rods = [own.actor for own in self.tubes if body >= 0 and body in own.tube.bodies]
        return [*self.actors.get(body, ()), *rods]

    def toggle_trails(self) -> None:
        """Hide the trails, or show them again."""
        for trail in self._trails:
            trail.actor.SetVisibility(not trail.actor.GetVisibility())

    def toggle_follow(self) -> None:
        """Let the camera travel with the mechanism, or stay."""
        self.follows = not self.follows
        if not self.follows:
            self.orbit.focus, self._shift = self.orbit.focus + self._shift, np.zeros(3)
        else:
            self._start = self._middle(self._matrices(self.time))
        self.show(self.time)

    def reset_camera(self) -> None:
        """Place the camera so that the whole motion is in the picture."""
        self.orbit.reset(self._camera)
        self.aim()
        self.show(self.time)

    def _hulls_of(self, body: int) -> list[Array]:
        return [self._hulls[body]] if body in self._hulls else []

    def _build(self, tubes: Sequence[Tube]) -> None:
        plotter, extent, options = self.plotter, self.extent, self.options
        style_stage(plotter, self.stage, extent.points.mean(axis=0), extent.size)
        self._pane = rectangles(options)[0]
        plotter.renderer.SetViewport(*self._pane)
        if options.transparent:
            make_transparent(plotter)
        drawn = options.ground and not options.transparent
        self._ground = Ground(plotter, extent, self.stage) if drawn else None
        if self._ground and options.shadows:
            solids = {body: merged(meshes) for body, meshes in self._coarse.items()}
            self._ground.cast_shadows(plotter, solids, self._left_out)
        self.actors = {body: [*map(self._add, meshes)] for body, meshes in self._coarse.items()}
        self.tubes = [self._add_tube(tube) for tube in tubes]
        self.fittings = Fittings(plotter, self._plan)
        resting = [*self.fittings.resting, *(self._ground.resting if self._ground else ())]
        # What is translucent is drawn after what moves, which may be behind it.
        world = zip(self.actors.get(-1, ()), self._coarse.get(-1, ()), strict=True)
        resting += [actor for actor, mesh in world if is_opaque(mesh)]
        self._layer = StaticLayer(plotter, resting)
        self.annotations = Annotations(plotter, self.trajectory, extent.size)
        if options.forces:
            self.annotations.toggle("forces")
        self.ghosts = [Ghost(plotter, run, options, k) for k, run in enumerate(self._others)]
        length = TRIAD * extent.size
        self._triads = [Triad(plotter, self.trajectory, name, length) for name in options.frames]
        self._trails = [self._make_trail(k) for k in range(len(options.trails))]
        spacing = self._ground.spacing if self._ground else None
        name = self.trajectory.header.name if options.title is None else options.title
        legend = list(zip(run_labels([self.trajectory, *self._others]), self._hues(), strict=True))
        self.captions = (
            Captions(plotter, name, spacing, legend[1:] and legend) if options.label else None
        )
        if self.captions is not None:
            whole = plotter.window_size
            self.captions.place(*self.pane_size(*whole), picture=whole)
        size = self.pane_size(*options.size)
        points = extent.points
        if options.forces:
            points = np.concatenate([points, points + LONGEST * extent.size * self.stage[:, 2]])
        self._camera = framing_camera(points, self.stage, replace(options, size=size))
        self.orbit, self._shift = Orbit(self._camera, self.stage), np.zeros(3)
        self._path = self._make_path()
        runs = [self.trajectory, *self._others]
        self.strip = PlotStrip(plotter, runs, options.plots) if options.plots else None
        self._sides: SideViews = SideViews(plotter, points, self.stage, options)
        self._sides.share()
        self.aim()

    def pane_size(self, width: float, height: float) -> tuple[int, int]:
        """Return the size [pixel] of the main view in a picture of a size."""
        return pane_size(self._pane, width, height)

    def _make_path(self) -> CameraPath | None:
        if not self.options.camera_path:
            return None
        first = {
            "azimuth": float(np.degrees(self.orbit.azimuth)),
            "elevation": float(np.degrees(self.orbit.elevation)),
            "zoom": self.options.zoom,
        }
        return CameraPath(self.options.camera_path, first)

    def _add(self, mesh: Mesh) -> Actor:
        return self.plotter.add_mesh(
            mesh, scalars="rgba", rgb=True, smooth_shading=True, copy_mesh=False, **LOOK
        )

    def _add_tube(self, tube: Tube) -> TubeActor:
        colored = self.options.moments
        strongest = strongest_moment(tube, self.trajectory) if colored else 0.0
        added = TubeActor(self.plotter, tube, strongest, **LOOK)
        if self._ground and self.options.shadows:
            self._ground.add_shadow(added.cast_shadow(self.plotter))
        return added

    def _make_trail(self, number: int) -> Trail:
        name, length = self.options.trails[number], self.options.trail_length
        body, point = centres(self.trajectory, name, self._hulls)
        color = colors.rgb(colors.PALETTE[(3 + number) % len(colors.PALETTE)])
        return Trail(self.plotter, self.trajectory, body, point, color, length)

    def _hues(self) -> list[str]:
        """Colours of the names of the runs."""
        return [colors.TEXT, *(ghost_color(k) for k in range(len(self._others)))]

    def _middle(self, matrices: Array) -> Array:
        """Return mean (3,) [m] of the hull points of everything that moves."""
        points = self._placed_hulls(matrices) if self._moving else matrices[:-1, :3, 3]
        return np.asarray(points.mean(axis=0))

    def _placed_hulls(self, matrices: Array) -> Array:
        """Return hull points (n, 3) [m] of the moving bodies at the poses (nbodies + 1, 4, 4)."""
        hulls = [moved_points(matrices[None, body], points)[0] for body, points in self._moving]
        return np.concatenate([np.zeros((0, 3)), *hulls])

    def _hides_trails_or_runs(self) -> bool:
        """Return whether the ground hides a part of a trail or of another run."""
        ground = self._ground
        if ground is None:
            return False
        places = [trail.path for trail in self._trails]
        for run in self._others:
            matrices = pose_matrices(run.poses[:: -(-len(run) // INSTANTS_IN_PICTURE)])
            count = matrices.shape[1]
            own = [moved_points(matrices[:, b], p) for b, p in self._moving if b < count]
            places += [part.reshape(-1, 3) for part in own]
        return any(ground.hides(part) for part in places)


def _warn_of_nothing(trajectory: Trajectory) -> None:
    """Warn that no moving body is drawn, with a remedy."""
    names = trajectory.header.body_names
    listed = ", ".join(map(repr, names[:NAMED]))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    who = f"bodies {listed}{more} have" if len(names) > 1 else f"body {listed} has"
    problem = f"nothing that moves is drawn, because {who} no shape"
    remedy = "give one a shape or a visual in its scene, or pass frames or trails"
    warnings.warn(f"{trajectory.source}: {problem}; {remedy}", PysimWarning, stacklevel=2)
