"""Universal Scene Description: the bodies of a run and their motion in one file, for usdview, Omniverse and Blender.

Spheres, boxes, cylinders, capsules, cones and ellipsoids are primitives of USD, everything else is a mesh. Every body
is a transform with its name whose translation and rotation have samples in time; codes of time are seconds times the
frames of a second. The file's z axis points upwards.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError
from pysim.render.camera import upright
from pysim.render.colors import body_color, display_rgba, linear_rgba
from pysim.render.drawable import to_trajectory
from pysim.render.exports.web_page import FPS, check_export, frame_times
from pysim.render.exports.web_recording import MOST_TRIANGLES
from pysim.render.meshes import DrawnShape, body_shapes, decimated, merged
from pysim.render.options import render_options
from pysim.render.output import replacing
from pysim.render.tubes import tubes_of, with_world
from pysim.trajectory.exporter import Exporter, exporter
from pysim.trajectory.interpolation import continuous_quaternions
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.render.drawable import Drawable
    from pysim.render.pyvista_types import Mesh
    from pysim.trajectory import Trajectory

SUFFIXES = (".usd", ".usda", ".usdc")
ROOT = "/World"


def usd(
    trajectory: Drawable,
    path: str | PathLike[str],
    *,
    fps: float = FPS,
    mesh_dirs: Sequence[str | PathLike[str]] = (),
) -> Path:
    """Write the bodies of a run and their motion as a USD stage, and return its path.

    Each body is a transform below `/World` with the body's name, in metres, z upwards. Meshes are decimated to 5000
    triangles; of a run with more than 300 000 poses fewer frames are written, with a warning.

    Args:
        trajectory: a run, or a model or scene at its start, which is written without samples in time.
        path: the file: .usda is text, .usd and .usdc are binary.
        fps: samples of a second of the run, and time codes of a second.
        mesh_dirs: folders with the meshes of the bodies, where they are no longer at their place.

    Raises:
        TrajectoryError: the run has no rows.
        PysimError: usd-core is missing, a number is wrong, or the file cannot be written.
    """
    run = to_trajectory(trajectory, "usd")
    check_export(run, fps)
    pxr = _pxr()
    with replacing(path, SUFFIXES) as draft:
        stage = _stage(pxr, run, fps, mesh_dirs)
        if not stage.GetRootLayer().Export(str(draft)):
            raise PysimError(str(path), "cannot be written by USD; choose another place")
    return Path(path)


@exporter("usd")
class Usd(Exporter):
    """Stage of Universal Scene Description, by `pysim.render.usd`."""

    suffixes = SUFFIXES
    result = "stage"

    def write(
        self,
        trajectory: Trajectory,
        path: Path,
        *,
        fps: float,
        mesh_dirs: Sequence[str | PathLike[str]],
    ) -> Path:
        return usd(trajectory, path, fps=fps, mesh_dirs=mesh_dirs)


def _pxr() -> Any:  # noqa: ANN401, a package
    try:
        import pxr  # noqa: PLC0415, an extra
        from pxr import Gf, Tf, Usd, UsdGeom, Vt  # noqa: F401, PLC0415, as above
    except ModuleNotFoundError as error:
        if error.name != "pxr":
            raise
        remedy = 'install it with pip install "pysim-multibody[usd]"'
        raise PysimError("usd", f"needs usd-core; {remedy}") from None
    return pxr


def _stage(
    pxr: Any,  # noqa: ANN401, usd-core loads when first used
    run: Trajectory,
    fps: float,
    mesh_dirs: Sequence[str | PathLike[str]],
) -> Any:  # noqa: ANN401, a Usd.Stage
    """Return a stage with the bodies, their shapes and their motion."""
    times = frame_times([run], fps)
    stage = pxr.Usd.Stage.CreateInMemory()
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(fps)
    stage.SetFramesPerSecond(fps)
    root = pxr.UsdGeom.Xform.Define(stage, ROOT)
    stage.SetDefaultPrim(root.GetPrim())
    turned = np.eye(4)
    turned[:3, :3] = upright(run.header.gravity).T
    _transform(pxr, root, turned)
    paths = _paths(pxr, run.header.body_names)
    poses = run.poses_at(times)
    for body, name in enumerate(run.header.body_names):
        node = pxr.UsdGeom.Xform.Define(stage, paths[body])
        node.GetPrim().SetDisplayName(name)
        _animate(pxr, node, (times - times[0]) * fps, poses[:, body])
    if len(run) > 1:
        stage.SetStartTimeCode(0.0)
        stage.SetEndTimeCode(float(times[-1] - times[0]) * fps)
    for body, shapes in body_shapes(run, render_options(run, mesh_dirs=list(mesh_dirs))).items():
        parent = ROOT if body < 0 else paths[body]
        for k, shape in enumerate(shapes):
            _define_shape(pxr, stage, f"{parent}/shape_{k}", shape)
    matrices = with_world(poses)
    for k, tube in enumerate(tubes_of(run, render_options(run))):
        node = _define_mesh(pxr, stage, f"{ROOT}/shape_rod_{k}", tube.mesh, np.inf)
        node.GetPrim().SetDisplayName(tube.name)
        for code, placed in zip((times - times[0]) * fps, matrices, strict=True):
            points, normals = tube.placed(placed)
            at = _code(pxr, code, len(times))
            node.GetPointsAttr().Set(_vectors(pxr, points), at)
            node.GetNormalsAttr().Set(_vectors(pxr, normals), at)
            ends = np.array([points.min(axis=0), points.max(axis=0)])
            node.GetExtentAttr().Set(_vectors(pxr, ends), at)
    return stage


def _code(pxr: Any, code: float, count: int) -> Any:  # noqa: ANN401, as above
    """Return a code of time; one frame alone is a value without time."""
    return pxr.Usd.TimeCode(float(code)) if count > 1 else pxr.Usd.TimeCode.Default()


def _vectors(pxr: Any, values: Array) -> Any:  # noqa: ANN401, as above
    return pxr.Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def _paths(pxr: Any, names: Sequence[str]) -> list[str]:  # noqa: ANN401, as above
    """Return the paths of the bodies: their names where USD allows them, made valid and unique elsewhere."""
    taken: dict[str, None] = {}
    for name in names:
        valid = pxr.Tf.MakeValidIdentifier(name)
        path, number = f"{ROOT}/{valid}", 1
        while path in taken or valid.startswith("shape_"):
            number += 1
            valid = pxr.Tf.MakeValidIdentifier(f"body_{name}_{number}")
            path = f"{ROOT}/{valid}"
        taken[path] = None
    return list(taken)


def _animate(pxr: Any, node: Any, codes: Array, poses: Array) -> None:  # noqa: ANN401, as above
    """Give a body its poses (frames, 7) at codes of time; one frame is a value without time."""
    translate = node.AddTranslateOp(pxr.UsdGeom.XformOp.PrecisionDouble)
    orient = node.AddOrientOp(pxr.UsdGeom.XformOp.PrecisionDouble)
    quaternions = continuous_quaternions(poses[:, 3:])
    for code, p, (x, y, z, w) in zip(codes, poses[:, :3], quaternions, strict=True):
        at = _code(pxr, code, len(codes))
        translate.Set(pxr.Gf.Vec3d(*p.tolist()), at)
        orient.Set(pxr.Gf.Quatd(float(w), float(x), float(y), float(z)), at)


def _transform(pxr: Any, node: Any, matrix: Array) -> None:  # noqa: ANN401, as above
    """Place a node in its parent; USD's matrices act on rows."""
    node.AddTransformOp().Set(pxr.Gf.Matrix4d(matrix.T.tolist()))


def _define_shape(pxr: Any, stage: Any, path: str, shape: DrawnShape) -> None:  # noqa: ANN401, as above
    """Define a shape as a primitive of USD, or as a mesh."""
    entry = shape.entry
    node = None if entry is None else _primitive(pxr, stage, path, entry)
    if entry is None or node is None:
        _define_mesh(pxr, stage, path, merged(shape.meshes))
        return
    color = np.array(display_rgba(entry["color"] or body_color(entry["body"])), np.uint8)
    _paint(pxr, node, color[None], pxr.UsdGeom.Tokens.constant)


def _primitive(pxr: Any, stage: Any, path: str, entry: Mapping[str, Any]) -> Any:  # noqa: ANN401, as above
    """Return the primitive of an entry, or None for a kind that USD does not have."""
    kind, size = entry["kind"], list(entry["size"])
    pose = np.array(entry["pose"], float)
    geometry = pxr.UsdGeom
    if kind == "sphere":
        node = geometry.Sphere.Define(stage, path)
        node.CreateRadiusAttr(size[0])
    elif kind == "ellipsoid":
        node = geometry.Sphere.Define(stage, path)
        node.CreateRadiusAttr(1.0)
        pose = pose @ np.diag([*size, 1.0])
    elif kind == "box":
        node = geometry.Cube.Define(stage, path)
        node.CreateSizeAttr(1.0)
        pose = pose @ np.diag([*size, 1.0])
    elif kind in {"cylinder", "capsule", "cone"}:
        node = getattr(geometry, kind.capitalize()).Define(stage, path)
        node.CreateRadiusAttr(size[0])
        node.CreateHeightAttr(size[1])
        node.CreateAxisAttr(geometry.Tokens.z)
    else:
        return None
    node.CreateExtentAttr(
        geometry.Boundable.ComputeExtentFromPlugins(node, pxr.Usd.TimeCode.Default())
    )
    _transform(pxr, node, pose)
    return node


def _define_mesh(
    pxr: Any,  # noqa: ANN401, as above
    stage: Any,  # noqa: ANN401, as above
    path: str,
    mesh: Mesh,
    most: float = MOST_TRIANGLES,
) -> Any:  # noqa: ANN401, as above
    """Define a triangle mesh with normals and colours, and return it."""
    small = decimated(mesh, max(0.0, 1 - most / max(mesh.n_cells, 1)))
    faces = small.regular_faces if small.is_all_triangles else small.triangulate().regular_faces
    points = np.asarray(small.points)
    node = pxr.UsdGeom.Mesh.Define(stage, path)
    node.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    node.CreatePointsAttr(_vectors(pxr, points))
    node.CreateFaceVertexCountsAttr(pxr.Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
    node.CreateFaceVertexIndicesAttr(
        pxr.Vt.IntArray.FromNumpy(np.ascontiguousarray(faces, np.int32).ravel())
    )
    node.CreateExtentAttr(_vectors(pxr, np.array([points.min(axis=0), points.max(axis=0)])))
    if "Normals" in small.point_data:
        node.CreateNormalsAttr(_vectors(pxr, np.asarray(small.point_data["Normals"])))
        node.SetNormalsInterpolation(pxr.UsdGeom.Tokens.vertex)
    rgba = np.asarray(small.point_data["rgba"], np.uint8)
    if (rgba == rgba[0]).all():
        _paint(pxr, node, rgba[:1], pxr.UsdGeom.Tokens.constant)
    else:
        _paint(pxr, node, rgba, pxr.UsdGeom.Tokens.vertex)
    return node


def _paint(pxr: Any, node: Any, rgba: NDArray[np.uint8], interpolation: str) -> None:  # noqa: ANN401, as above
    """Give a node its colours (n, 4); those of USD are linear."""
    linear = np.array([linear_rgba(row) for row in np.atleast_2d(rgba)], np.float32)
    colors = np.ascontiguousarray(linear[:, :3])
    node.CreateDisplayColorPrimvar(interpolation).Set(pxr.Vt.Vec3fArray.FromNumpy(colors))
    if linear[:, 3].min() < 1:
        opacity = pxr.Vt.FloatArray.FromNumpy(np.ascontiguousarray(linear[:, 3]))
        node.CreateDisplayOpacityPrimvar(interpolation).Set(opacity)
