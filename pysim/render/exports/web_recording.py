"""Bodies of a run in viser's scene, which a web page records: their meshes, their motion and their marks."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.exports.web_marks import Marks
from pysim.render.extent import hull
from pysim.render.ghosts import ghost_color
from pysim.render.meshes import decimated
from pysim.render.tubes import tubes_of, with_world
from pysim.spatial import quaternion_from_rotation
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Mesh
    from pysim.render.tubes import Tube
    from pysim.trajectory import Trajectory

MOST_TRIANGLES = 5000  # of a mesh
FRAMED_INSTANTS = 50  # instants at which bodies have to be in the picture
LARGEST_SIZE = 20.0  # [m] size of what is fixed and yet in the picture


class RecordedRun:
    """Bodies and marks of one run in viser's scene; those of the second and of later runs are in one colour."""

    def __init__(
        self,
        server: Any,  # noqa: ANN401, viser loads when first used
        number: int,
        run: Trajectory,
        meshes: dict[int, list[Mesh]],
        options: RenderOptions,
        size: float,
    ) -> None:
        self.root = f"/run {number + 1}"
        self.nodes = {
            body: f"{self.root}/{body + 1} {_plain(_name(run, body))}"
            for body in (*meshes, *range(len(run.header.body_names)))
        }
        self.names = {self.nodes[body]: _name(run, body) for body in meshes}
        color = None if number == 0 else ghost_color(number - 1)
        self._frames = {
            body: server.scene.add_frame(node, show_axes=False) for body, node in self.nodes.items()
        }
        for body, parts in meshes.items():
            for k, part in enumerate(parts):
                server.scene.add_mesh_trimesh(f"{self.nodes[body]}/{k}", to_trimesh(part, color))
        self._tubes = [self._add_tube(server, tube, color) for tube in tubes_of(run, options)]
        moving = {body: node for body, node in self.nodes.items() if body >= 0}
        self.marks = Marks(server, run, options, self.root, moving, size)

    def _add_tube(self, server: Any, tube: Tube, color: str | None) -> tuple[Tube, Any]:  # noqa: ANN401, as above
        """Add a rod, whose points the page blends from its bones."""
        count, bones = tube.mesh.n_points, len(tube.bodies)
        weights = np.zeros((count, bones))
        np.add.at(weights, (np.arange(count)[:, None], tube.bones), tube.weights)
        red, green, blue, _ = np.asarray(tube.mesh.point_data["rgba"])[0].tolist()
        still = np.zeros((bones, 4))
        still[:, 0] = 1.0
        handle = server.scene.add_mesh_skinned(
            f"{self.root}/rod {_plain(tube.name)}",
            np.asarray(tube.mesh.points),
            tube.mesh.regular_faces,
            bone_wxyzs=still,
            bone_positions=np.zeros((bones, 3)),
            skin_weights=weights,
            color=(red, green, blue) if color is None else tuple(bytes.fromhex(color.lstrip("#"))),
        )
        return tube, handle

    def show(self, time: float, poses: Array) -> None:
        """Move to the `poses` (nbodies, 7) of the bodies at a `time` [s]."""
        for body, frame in self._frames.items():
            if body >= 0:
                frame.position = poses[body, :3]
                frame.wxyz = poses[body, [6, 3, 4, 5]]
        matrices = with_world(poses)
        for tube, handle in self._tubes:
            for bone, X in zip(handle.bones, tube.transforms(matrices), strict=True):
                bone.position = X[:3, 3]
                bone.wxyz = quaternion_from_rotation(X[:3, :3])[[3, 0, 1, 2]]
        self.marks.show(time, poses)


def nodes_of(drawn: Sequence[RecordedRun]) -> dict[str, Any]:
    """Return the groups of nodes that a button shows, and the bodies that can be picked."""
    groups: dict[str, Any] = {}
    for own in drawn:
        for kind, nodes in own.marks.groups.items():
            group = groups.setdefault(kind, {"on": own.marks.shown[kind], "nodes": []})
            group["nodes"] += nodes
    if len(drawn) > 1:
        groups["Ghosts"] = {"on": True, "nodes": [own.root for own in drawn[1:]]}
    bodies = [
        {"node": node, "name": name, "axes": f"{node}/axes"}
        for own in drawn
        for node, name in own.names.items()
    ]
    return {"groups": groups, "bodies": bodies}


def reach_of(run: Trajectory, meshes: dict[int, list[Mesh]], tubes: Sequence[Tube]) -> Array:
    """Return corners of the boxes of the bodies at some of the instants, in the world."""
    reached = []
    rows = run.poses[:: -(-len(run) // FRAMED_INSTANTS)]
    for body, parts in meshes.items():
        bounds = np.array([part.bounds for part in parts]).reshape(-1, 3, 2)
        low, high = bounds[:, :, 0].min(axis=0), bounds[:, :, 1].max(axis=0)
        corners = np.array(list(product(*zip(low, high, strict=True))))
        if body < 0:
            # a floor is larger than what happens on it
            if np.linalg.norm(high - low) < LARGEST_SIZE:
                reached.append(corners)
            continue
        matrices = pose_matrices(rows[:, body])
        reached += [corners @ matrix[:3, :3].T + matrix[:3, 3] for matrix in matrices]
    for tube in tubes:
        for body, points in tube.hulls().items():
            matrices = pose_matrices(rows[:, body])
            ends = hull(points)
            reached += [ends @ matrix[:3, :3].T + matrix[:3, 3] for matrix in matrices]
    return np.concatenate(reached) if reached else np.zeros((1, 3))


def _name(run: Trajectory, body: int) -> str:
    return run.header.body_names[body] if body >= 0 else "world"


def _plain(name: str) -> str:
    """Return a name without slashes, which would make levels of the scene's tree."""
    return name.replace("/", "∕")


def to_trimesh(mesh: Mesh, color: str | None = None) -> Any:  # noqa: ANN401, trimesh loads when first used
    """Return a body's mesh with at most 5000 triangles, in its colours or in one (`#rrggbb`)."""
    import trimesh

    share = max(0.0, 1 - MOST_TRIANGLES / max(mesh.n_cells, 1))
    own = decimated(mesh, share)
    faces = own.regular_faces if own.is_all_triangles else own.triangulate().regular_faces
    rgba = np.array(own.point_data["rgba"], np.uint8)
    if color is not None:
        rgba[:, :3] = tuple(bytes.fromhex(color.lstrip("#")))
    return trimesh.Trimesh(np.array(own.points), np.array(faces), vertex_colors=rgba, process=False)
