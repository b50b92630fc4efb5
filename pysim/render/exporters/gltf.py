"""Animated glTF 2.0: the bodies of a run and their motion in one .glb file, for Blender and other editors.

trimesh writes the meshes, and the hook of its exporter adds what it lacks, the animation [glTF 2.0, 3.11]: one
sampler of translations and one of rotations for each body that moves. glTF's y axis points upwards; a node above
all bodies turns the world.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.camera import upright
from pysim.render.colors import linear_rgba
from pysim.render.drawable import to_trajectory
from pysim.render.exports.web_page import FPS, check_export, frame_times
from pysim.render.exports.web_recording import to_trimesh
from pysim.render.meshes import body_meshes
from pysim.render.options import render_options
from pysim.render.output import replacing
from pysim.render.tubes import tubes_of
from pysim.trajectory.exporter import Exporter, exporter
from pysim.trajectory.interpolation import continuous_quaternions
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.render.drawable import Drawable
    from pysim.render.tubes import Tube
    from pysim.trajectory import Trajectory

SUFFIXES = (".glb",)
Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # from axes with z upwards
FLOAT, UNSIGNED_SHORT = 5126, 5123  # glTF's componentType of float32 and uint16
ROOT = "pysim"
ROUGHNESS = 0.6


def gltf(
    trajectory: Drawable,
    path: str | PathLike[str],
    *,
    fps: float = FPS,
    mesh_dirs: Sequence[str | PathLike[str]] = (),
) -> Path:
    """Write the bodies of a run and their motion as animated glTF, and return its path.

    Each body is a node with its name. Meshes are decimated to 5000 triangles; of a run with more than 300 000 poses
    fewer frames are written, with a warning.

    Args:
        trajectory: a run, or a model or scene at its start, which is written without an animation.
        path: the file, .glb.
        fps: keyframes of a second of the run.
        mesh_dirs: folders with the meshes of the bodies, where they are no longer at their place.

    Raises:
        TrajectoryError: the run has no rows.
        PysimError: a number is wrong, or the file cannot be written.
    """
    with replacing(path, SUFFIXES) as draft:
        assert draft is not None
        draft.write_bytes(_glb(to_trajectory(trajectory, "gltf"), fps, mesh_dirs))
    return Path(path)


@exporter("gltf")
class Gltf(Exporter):
    """Animated glTF, by `pysim.render.gltf`."""

    suffixes = SUFFIXES
    result = "model"

    def write(
        self,
        trajectory: Trajectory,
        path: Path,
        *,
        fps: float,
        mesh_dirs: Sequence[str | PathLike[str]],
    ) -> Path:
        return gltf(trajectory, path, fps=fps, mesh_dirs=mesh_dirs)


def _glb(run: Trajectory, fps: float, mesh_dirs: Sequence[str | PathLike[str]]) -> bytes:
    import trimesh as package
    import trimesh.exchange.gltf as writer

    library: Any = package  # its functions have no types
    export_glb: Any = writer.export_glb

    check_export(run, fps)
    times = frame_times([run], fps)
    scene = library.Scene(base_frame="base")
    stage = np.eye(4)
    stage[:3, :3] = Y_UP @ upright(run.header.gravity).T
    scene.graph.update(frame_to=ROOT, frame_from="base", matrix=stage)
    for body in range(len(run.header.body_names)):
        scene.graph.update(frame_to=_node(body), frame_from=ROOT, matrix=np.eye(4))
    colors: list[Array] = []
    for body, parts in body_meshes(run, render_options(run, mesh_dirs=list(mesh_dirs))).items():
        parent = ROOT if body < 0 else _node(body)
        pieces = [piece for part in parts for piece in _one_colored(to_trimesh(part))]
        for k, (piece, rgba) in enumerate(pieces):
            material = library.visual.material.PBRMaterial(
                name=str(len(colors)),
                metallicFactor=0.0,
                roughnessFactor=ROUGHNESS,
                alphaMode="OPAQUE" if rgba[3] == 255 else "BLEND",
            )
            colors.append(linear_rgba(rgba))
            piece.visual = library.visual.TextureVisuals(material=material)
            scene.add_geometry(piece, f"{parent} {k}", f"{parent} {k}", parent_node_name=parent)

    tubes = tubes_of(run, render_options(run))
    for k, tube in enumerate(tubes):
        piece = library.Trimesh(
            np.asarray(tube.mesh.points),
            tube.mesh.regular_faces,
            vertex_normals=np.asarray(tube.mesh.point_data["Normals"]),
            process=False,
        )
        material = library.visual.material.PBRMaterial(
            name=str(len(colors)), metallicFactor=0.0, roughnessFactor=ROUGHNESS, alphaMode="OPAQUE"
        )
        colors.append(linear_rgba(np.asarray(tube.mesh.point_data["rgba"], np.uint8)[0]))
        piece.visual = library.visual.TextureVisuals(material=material)
        scene.add_geometry(piece, _tube_node(k), _tube_node(k), parent_node_name=ROOT)

    def completed(buffers: MutableMapping[Any, bytes], tree: dict[str, Any]) -> None:
        for material in tree["materials"]:
            factor = colors[int(material["name"])].tolist()
            material["pbrMetallicRoughness"]["baseColorFactor"] = factor
        for k, tube in enumerate(tubes):
            _skin(k, tube, buffers, tree)
        _animate(run, times, buffers, tree)

    return bytes(export_glb(scene, include_normals=True, buffer_postprocessor=completed))


def _node(body: int) -> str:
    return f"body {body}"


def _tube_node(k: int) -> str:
    return f"rod {k}"


def _skin(
    number: int, tube: Tube, buffers: MutableMapping[Any, bytes], tree: dict[str, Any]
) -> None:
    """Let the nodes of the bodies carry the points of a rod, by the weights of their bones [glTF 2.0, 3.7.3]."""
    nodes = {node["name"]: k for k, node in enumerate(tree["nodes"])}
    node = tree["nodes"][nodes[_tube_node(number)]]
    joints = np.zeros((len(tube.bones), 4), "<u2")
    weights = np.zeros((len(tube.bones), 4), "<f4")
    joints[:, :3], weights[:, :3] = tube.bones, tube.weights
    joints[weights == 0] = 0
    attributes = tree["meshes"][node["mesh"]]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = _stored(buffers, tree, f"joints {number}", joints)
    attributes["WEIGHTS_0"] = _stored(buffers, tree, f"weights {number}", weights)
    rest = np.swapaxes(tube.rest, 1, 2).reshape(-1, 16)  # column by column
    bodies = [ROOT if body < 0 else _node(body) for body in tube.bodies.tolist()]
    tree.setdefault("skins", []).append(
        {
            "joints": [nodes[name] for name in bodies],
            "inverseBindMatrices": _stored(buffers, tree, f"rest {number}", rest),
        }
    )
    node["skin"] = len(tree["skins"]) - 1
    node["name"] = tube.name


def _one_colored(mesh: Any) -> list[tuple[Any, NDArray[np.uint8]]]:  # noqa: ANN401, a trimesh.Trimesh
    """Return the triangles of each colour as a mesh, with the colour (4,)."""
    rgba = np.asarray(mesh.visual.vertex_colors, np.uint8)[mesh.faces[:, 0]]
    found, index = np.unique(rgba, axis=0, return_inverse=True)
    faces = [np.flatnonzero(index.ravel() == k) for k in range(len(found))]
    meshes = [mesh.submesh([own], append=True, repair=False) for own in faces]
    return list(zip(meshes, found, strict=True))


def _animate(
    run: Trajectory, times: Array, buffers: MutableMapping[Any, bytes], tree: dict[str, Any]
) -> None:
    """Name the nodes of the bodies, place them as at the start, and let them move."""
    nodes = {node["name"]: k for k, node in enumerate(tree["nodes"])}
    poses = run.poses_at(times)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    clock = None
    for body, name in enumerate(run.header.body_names):
        index = nodes[_node(body)]
        node = tree["nodes"][index]
        node.pop("matrix", None)  # an animated node has none
        node["name"] = name
        parts = {
            "translation": poses[:, body, :3],
            "rotation": continuous_quaternions(poses[:, body, 3:]),
        }
        for target, values in parts.items():
            node[target] = values[0].tolist()
            if np.ptp(values, axis=0).max() == 0:
                continue
            if clock is None:
                clock = _stored(buffers, tree, "times", (times - times[0])[:, None])
            output = _stored(buffers, tree, f"{target} {body}", values)
            channels.append({"sampler": len(samplers), "target": {"node": index, "path": target}})
            samplers.append({"input": clock, "output": output, "interpolation": "LINEAR"})
    if channels:
        animation = {"name": run.header.name, "samplers": samplers, "channels": channels}
        tree["animations"] = [animation]


def _stored(
    buffers: MutableMapping[Any, bytes], tree: dict[str, Any], key: str, values: Array
) -> int:
    """Append values (n, k), float32 unless they are uint16, to the file; return the index of their accessor."""
    is_index = values.dtype == np.uint16
    data = np.ascontiguousarray(values, "<u2" if is_index else "<f4")
    buffers[key] = data.tobytes()
    kind = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}[data.shape[1]]
    tree["accessors"][key] = {
        "bufferView": len(buffers) - 1,
        "componentType": UNSIGNED_SHORT if is_index else FLOAT,
        "count": len(data),
        "type": kind,
        "min": data.min(axis=0).tolist(),
        "max": data.max(axis=0).tolist(),
    }
    return len(tree["accessors"]) - 1
