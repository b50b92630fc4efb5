"""Triangle meshes of shapes: primitives, and mesh files read by trimesh, with their colours.

The opaque shapes of a body become one mesh in the body's frame with a colour for each point, so that a body takes one
draw call. Translucent ones remain meshes of their own: their depths are not drawn, and they are sorted by distance.
Without a GPU, the time of a drawing is proportional to the number of triangles: moving pictures leave out those that
matter least, at smooth places; edges and the normals of the remaining points are unchanged.
"""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimWarning, SceneError, TrajectoryError
from pysim.files.regular import read_regular
from pysim.meshes.field_surface import generated_folders
from pysim.meshes.triangles import MOST_BYTES, read_mesh
from pysim.meshes.trimesh_formats import check_entities, without_materials
from pysim.render.colors import body_color, display_rgba
from pysim.scene.packages import allowed_folders
from pysim.shapes import MESH_SUFFIXES, PRIMITIVES, READ_SUFFIXES
from pysim.trajectory.visuals import mesh_hash
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import trimesh

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Mesh
    from pysim.trajectory import Trajectory

FEATURE_ANGLE = 35.0  # [deg] a sharper edge is drawn sharp
MOST_TRIANGLES = 4000  # triangles of a body that are all drawn
OF_MOVIES = 0.6  # share of the triangles that a movie leaves out of a body with more
OF_WINDOWS = 0.8  # the same of a window while its picture changes
OF_SHADOWS = 0.9  # the same of shadows in stills, after that
# along each side of a body's box, that its shadow in a moving picture distinguishes
SHADOW_CELLS = 100
BOX_HALF_SHARE = 0.035  # of the mechanism's size: half the thickness of a box for missing meshes
BOX_HALF_WIDTH = 0.02  # [m] the same, where all bodies are at one place
# of a body's size: displacement of its surface where triangles are left out
LARGEST_DISPLACEMENT = 1e-3


@dataclass(frozen=True)
class Part:
    """Piece of a mesh file: triangles and their colour in the file, if any."""

    mesh: Mesh
    color: tuple[float, ...] | None


@dataclass(frozen=True)
class DrawnShape:
    """A shape of a body: its meshes in the body's frame, and its entry; None for the box of missing meshes."""

    entry: Mapping[str, Any] | None
    meshes: list[Mesh]


def body_meshes(trajectory: Trajectory, options: RenderOptions) -> dict[int, list[Mesh]]:
    """Return the meshes of a body (-1: the world), in its frame [m], with point data `rgba`.

    The opaque shapes are one mesh, the first, and each translucent shape is one.
    """
    return {
        body: _merged_opaque([mesh for shape in shapes for mesh in shape.meshes])
        for body, shapes in body_shapes(trajectory, options).items()
    }


def body_shapes(trajectory: Trajectory, options: RenderOptions) -> dict[int, list[DrawnShape]]:
    """Return the shapes of a body (-1: the world); meshes that are missing are named in one warning."""
    shapes: dict[int, list[DrawnShape]] = {}
    read: dict[str, list[Part]] = {}
    missing: dict[str, None] = {}
    for body, entries in _drawn(trajectory.visuals, options).items():
        for entry in entries:
            if entry["kind"] == "mesh":
                if entry["mesh"] not in read:
                    path = _mesh_file(entry, trajectory, options)
                    if path is None:
                        missing[entry["mesh"]] = None
                        continue
                    read[entry["mesh"]] = mesh_parts(path)
                parts = read[entry["mesh"]]
            else:
                parts = [Part(primitive(entry["kind"], entry["size"]), None)]
            drawn = DrawnShape(entry, [_placed(part, entry) for part in parts])
            shapes.setdefault(body, []).append(drawn)
        if body not in shapes and body >= 0:
            box = Part(box_of_joints(trajectory, body), None)
            placed = _placed(box, {"body": body, "pose": np.eye(4), "color": None})
            shapes[body] = [DrawnShape(None, [placed])]
    if missing:
        _warn_of_missing(trajectory, list(missing))
    return shapes


def _merged_opaque(meshes: list[Mesh]) -> list[Mesh]:
    opaque = [mesh for mesh in meshes if is_opaque(mesh)]
    translucent = [mesh for mesh in meshes if not is_opaque(mesh)]
    return [merged(opaque), *translucent] if opaque else translucent


def is_opaque(mesh: Mesh) -> bool:
    """Return whether no point of a mesh is translucent."""
    return bool(mesh.point_data["rgba"][:, 3].min() == 255)


def box_of_joints(trajectory: Trajectory, body: int) -> Mesh:
    """Return a box around the joints of a body whose meshes are missing, in its frame."""
    import pyvista as pv

    origins = trajectory.poses[0, :, :3] if len(trajectory) else np.zeros((1, 3))
    margin = max(BOX_HALF_SHARE * float(np.ptp(origins, axis=0).max(initial=0.0)), BOX_HALF_WIDTH)
    points = [np.zeros(3)] + [
        np.array(pose, float)[:3, 3]
        for entry in trajectory.header.connections
        for other, pose in entry.get("frames", ())
        if other == body
    ]
    low, high = np.min(points, axis=0) - margin, np.max(points, axis=0) + margin
    return pv.Box(bounds=np.column_stack([low, high]).ravel().tolist()).triangulate()


def _warn_of_missing(trajectory: Trajectory, meshes: list[str]) -> None:
    more = f" and {len(meshes) - 1} more" if len(meshes) > 1 else ""
    verb = "do" if more else "does"
    problem = f"mesh {meshes[0]!r}{more} {verb} not exist on this machine"
    if trajectory.folder is not None and not allowed_folders(
        trajectory.folder, generated_folders()
    ).holds(Path(meshes[0]).resolve()):
        verb = "lie" if more else "lies"
        problem = f"mesh {meshes[0]!r}{more} {verb} where the file may not name files"
    text = f"{problem}; boxes are drawn instead, pass the folder of the meshes as mesh_dirs"
    warnings.warn(f"{trajectory.source}: {text}", PysimWarning, stacklevel=2)


def decimated(mesh: Mesh, share: float) -> Mesh:
    """Return a mesh without a share of its triangles, in descending order of flatness; small ones whole."""
    import pyvista as pv
    from vtkmodules.vtkFiltersCore import vtkDecimatePro  # noqa: PLC0415, heavy

    if share == 0 or mesh.n_cells <= MOST_TRIANGLES:
        return mesh.copy(deep=False)
    reducer = vtkDecimatePro()
    reducer.SetInputData(mesh)
    reducer.SetTargetReduction(share)
    reducer.SetMaximumError(LARGEST_DISPLACEMENT)
    reducer.AccumulateErrorOn()
    reducer.SetBoundaryVertexDeletion(False)  # sharp edges, where the points are doubled
    reducer.PreserveTopologyOn()
    reducer.SplittingOff()
    reducer.SetFeatureAngle(180.0)
    reducer.Update()
    return pv.wrap(reducer.GetOutput())


def shadow_mesh(mesh: Mesh, left_out: float) -> Mesh:
    """Return a mesh without colours for a shadow, which is seen as a flat outline.

    In moving pictures, which leave out a share of the triangles, the points in each cell of a grid become one.
    """
    import pyvista as pv
    from vtkmodules.vtkFiltersCore import vtkQuadricClustering  # noqa: PLC0415, heavy

    if left_out > 0 and mesh.n_cells > MOST_TRIANGLES // 4:
        clustering = vtkQuadricClustering()
        clustering.SetInputData(mesh)
        clustering.AutoAdjustNumberOfDivisionsOff()
        clustering.SetNumberOfDivisions(*[round(SHADOW_CELLS * (1 - left_out))] * 3)
        clustering.Update()
        bare = pv.wrap(clustering.GetOutput())
    else:
        bare = decimated(mesh, OF_SHADOWS)
    bare.clear_data()
    return bare


def primitive(kind: str, size: Sequence[float]) -> Mesh:
    """Return a primitive about its own origin; sizes [m] as in `pysim.shapes.Shape`."""
    if kind not in PRIMITIVES:
        problem = f"unknown shape {kind!r}; use the pysim that wrote the file"
        raise TrajectoryError("visuals", problem)
    return PRIMITIVES[kind].mesh(tuple(size))


def mesh_parts(path: Path) -> list[Part]:
    """Read a mesh file; a Collada file may hold several pieces, each with its colour."""
    try:
        data = read_regular(path, MOST_BYTES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pictures do not require valid meshes
            parts = _parts(data, path)
            if not parts and path.suffix.lower() == ".dae":
                # drawn in grey if its colours cannot be read
                parts = _parts(without_materials(data), path)
    except SceneError as error:
        raise TrajectoryError(str(path), error.problem) from None
    except Exception as error:  # readers of strangers' files fail in every way
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TrajectoryError(str(path), f"cannot read the mesh, {reason}") from error
    if not parts:
        raise TrajectoryError(str(path), "holds no triangles; export the mesh again")
    return parts


def _parts(data: bytes, path: Path) -> list[Part]:
    import trimesh

    if path.suffix.lower() == ".vtp":
        triangles = read_mesh(path)
        solid = trimesh.Trimesh(triangles.vertices, triangles.faces, process=False)
        return [_part(solid, np.eye(4), path)]
    if path.suffix.lower() == ".dae":
        check_entities(path, data)
    scene = trimesh.load_scene(
        io.BytesIO(data), file_type=path.suffix.lower()[1:], resolver=_resolver(path), process=False
    )
    return [
        _part(scene.geometry[name], transform, path)
        for transform, name in (scene.graph[node] for node in scene.graph.nodes_geometry)
        if isinstance(scene.geometry[name], trimesh.Trimesh)
    ]


def _resolver(path: Path) -> trimesh.resolvers.Resolver:
    """Return what finds the materials and textures of a mesh file, in folders that it may read."""
    import trimesh

    allowed = allowed_folders(path.resolve().parent)

    class Within(trimesh.resolvers.FilePathResolver):
        def get(self, name: str) -> bytes:
            found = (path.resolve().parent / str(name).strip()).resolve()
            if not (allowed.holds(found) and found.is_file()):
                raise FileNotFoundError(str(name))
            return read_regular(found, MOST_BYTES)

    return Within(str(path))


def _part(mesh: trimesh.Trimesh, transform: Array, path: Path) -> Part:
    import pyvista as pv

    points = mesh.vertices @ transform[:3, :3].T + transform[:3, 3]
    unit = str(mesh.metadata.get("units", "")).partition(" * meters")
    if path.suffix.lower() == ".dae" and unit[1]:
        points = points * float(unit[0])
    if len(points) == 0 or not np.isfinite(points).all():
        raise ValueError("its points are missing or not finite")
    faces = np.column_stack([np.full(len(mesh.faces), 3), mesh.faces])
    part = pv.PolyData(points.astype(np.float32), faces.ravel())
    visual: Any = mesh.visual
    if visual is None:
        return Part(part, None)
    if visual.kind == "texture":
        color = np.asarray(visual.material.main_color, float) / 255
    elif visual.kind in {"face", "vertex"}:
        color = np.asarray(visual.main_color, float) / 255
    else:
        return Part(part, None)
    return Part(part, tuple(color))


def _drawn(
    visuals: Sequence[Mapping[str, Any]], options: RenderOptions
) -> dict[int, list[Mapping[str, Any]]]:
    """Return the entries of each body: visual shapes, or collision shapes if there are no others.

    Bars of rods are left out, which are drawn as tubes, but where collision shapes are drawn.
    """
    roles: dict[int, dict[str, list[Mapping[str, Any]]]] = {}
    bars = set()
    for entry in visuals:
        if entry.get("bar") and not options.collision:
            bars.add(entry["body"])
            continue
        roles.setdefault(entry["body"], {}).setdefault(entry["role"], []).append(entry)
    first, second = ("collision", "visual") if options.collision else ("visual", "collision")
    return {
        body: found.get(first) or found.get(second, [])
        for body, found in roles.items()
        if first in found or body not in bars
    }


def _mesh_file(
    entry: Mapping[str, Any], trajectory: Trajectory, options: RenderOptions
) -> Path | None:
    """Return the present path of a mesh: the original one, or the longest tail of it below a mesh folder.

    A trajectory file may name meshes where a scene in its folder might, in mesh folders, and those that pysim has made.

    Raises:
        TrajectoryError: the file is of another kind.
    """
    old = Path(entry["mesh"])
    ends = [Path(*old.parts[k:]) for k in range(1, len(old.parts))]
    folders = [Path(folder).absolute() for folder in options.mesh_dirs]
    places = [old, *(folder / end for folder in folders for end in ends)]
    if trajectory.folder is not None:
        allowed = allowed_folders(trajectory.folder, [*folders, *generated_folders()])
        places = [place for place in places if allowed.holds(place.resolve())]
    path = next((place for place in places if _is_file(place)), None)
    if path is None:
        return None
    if path.suffix.lower() not in READ_SUFFIXES:
        problem = f"names {str(path)!r} as a mesh; pysim reads {', '.join(MESH_SUFFIXES)}"
        raise TrajectoryError(trajectory.source, problem)
    if mesh_hash(path) != entry["sha256"]:
        text = f"{path}: the mesh has changed since the run; the picture shows the new one"
        warnings.warn(text, PysimWarning, stacklevel=2)
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # the system rejects the name
        return False


def _placed(part: Part, entry: Mapping[str, Any]) -> Mesh:
    """Return the part in the body's frame, with normals and colours on its points."""
    pose = np.array(entry["pose"], float)
    scale = np.diag([*entry.get("scale", (1, 1, 1)), 1.0])
    placed = part.mesh.transform(pose @ scale, inplace=False)
    if np.linalg.det(scale) < 0:
        placed = placed.flip_faces()
    placed = placed.clean(tolerance=0.0, absolute=False).compute_normals(
        cell_normals=False,
        split_vertices=True,
        feature_angle=FEATURE_ANGLE,
        consistent_normals=False,
        auto_orient_normals=False,
    )
    color = entry["color"] or part.color or body_color(entry["body"])
    placed.point_data["rgba"] = np.tile(display_rgba(color), (placed.n_points, 1))
    return placed


def merged(meshes: list[Mesh]) -> Mesh:
    """Return all points and triangles in one mesh."""
    import pyvista as pv

    if len(meshes) == 1:
        return meshes[0]
    starts = np.cumsum([0, *(mesh.n_points for mesh in meshes)])
    faces = [mesh.regular_faces + start for mesh, start in zip(meshes, starts, strict=False)]
    whole = pv.PolyData.from_regular_faces(
        np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces)
    )
    whole.point_data["rgba"] = np.concatenate([mesh.point_data["rgba"] for mesh in meshes])
    whole.point_data["Normals"] = np.concatenate([mesh.point_data["Normals"] for mesh in meshes])
    whole.point_data.active_normals_name = "Normals"
    return whole
