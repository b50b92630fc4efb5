"""Derivatives of torques by the vertices of a link's mesh.

Oracle: central differences of the torques of a scene that is written, read and compiled again with a vertex of its
mesh file moved; the regressor of the other bodies plays no role.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError, PysimError
from tests.inertia.test_mesh import blob, differences

Array = np.ndarray
POSE = "at = { xyz = [0.1, -0.2, 0.3], rpy = [0.4, -0.2, 0.9] }"
SCENE = """
[[body]]
name = "arm"
{mass}
shape = [{shapes}]

[[joint]]
name = "shoulder"
type = "ball"
parent = "world"
child = "arm"

[[body]]
name = "tip"
mass = 0.3
shape = [{{ mesh = "tip.obj", {pose} }}, {{ box = [0.1, 0.2, 0.3] }}]

[[joint]]
name = "weld"
type = "fixed"
parent = "hand"
child = "tip"
at = {{ xyz = [0.2, 0.1, 0], rpy = [0, 0.3, 0] }}

[[body]]
name = "hand"
mass = 0.2
shape = {{ sphere = {{ radius = 0.1 }} }}

[[joint]]
name = "wrist"
type = "helical"
pitch = 0.1
parent = "arm"
child = "hand"
axis = [0, 1, 1]
at = {{ xyz = [0.5, 0, 0] }}
"""
WAYS = {
    "a density": ("", f'{{ mesh = "arm.obj", density = 700, {POSE} }}'),
    "a density, mirrored": (
        "",
        f'{{ mesh = "arm.obj", density = 700, scale = [0.5, -1, 2], {POSE} }}',
    ),
    "beside another shape": (
        "",
        f'{{ mesh = "arm.obj", density = 700, {POSE} }}, {{ box = [0.1, 0.2, 0.3], density = 90 }}',
    ),
    "the body's mass": ("mass = 3.0", f'{{ mesh = "arm.obj", {POSE} }}'),
    "a share of the body's mass": (
        "mass = 3.0",
        f'{{ mesh = "arm.obj", {POSE} }}, {{ box = [1, 2, 0.5] }}',
    ),
    "its hull": ("", f'{{ mesh = "arm.obj", density = 700, convex = true, {POSE} }}'),
    "a sheet": ("mass = 3.0", f'{{ mesh = "arm.obj", shell = 0.01, {POSE} }}'),
}


def write_obj(path: Path, vertices: Array, faces: Array) -> None:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    path.write_text("\n".join(lines) + "\n")


def build(folder: Path, way: str) -> pysim.Model:
    mass, shapes = WAYS[way]
    scene = folder / "scene.toml"
    scene.write_text('name = "mesh"\n' + SCENE.format(mass=mass, shapes=shapes, pose=POSE))
    return pysim.load_model(scene)


@pytest.fixture
def meshes(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Array]:
    """A folder with two meshes of 12 vertices, and their faces."""
    for name in ("arm", "tip"):
        vertices, faces = blob(rng, 0)
        write_obj(tmp_path / f"{name}.obj", vertices, faces)
    return tmp_path, faces


def motion(model: pysim.Model, rng: np.random.Generator, batch: int) -> tuple[Array, Array, Array]:
    q = np.array([model.random_configuration(rng) for _ in range(batch)])
    return q, *rng.normal(size=(2, batch, model.nv))


@pytest.mark.parametrize("way", WAYS)
def test_torques_follow_the_vertices_of_a_mesh(
    way: str, meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    folder, faces = meshes
    model = build(folder, way)
    q, v, a = motion(model, rng, 3)
    mesh = pysim.mass_mesh(model, "arm")

    def torque(vertices: Array) -> Array:
        write_obj(folder / "arm.obj", vertices / scale, faces)
        return pysim.rnea(build(folder, way), q, v, a)

    scale = np.array([0.5, -1, 2]) if "mirrored" in way else np.ones(3)
    from pysim.meshes import read_mesh

    order = read_mesh(folder / "arm.obj").vertices * scale
    derivatives = pysim.torque_vertex_derivatives(model, q, v, a, "arm")
    assert derivatives.shape == (3, model.nv, 12, 3)
    expected = differences(torque, order, 1e-5)
    same = [int(np.flatnonzero((order == row).all(axis=1))[0]) for row in mesh.vertices]
    scale_of = np.abs(expected).max()
    np.testing.assert_allclose(derivatives, expected[:, :, same], rtol=0, atol=1e-8 * scale_of)


def test_a_mesh_may_be_of_a_link_welded_to_the_body(
    meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    folder = meshes[0]
    model = build(folder, "a density")
    q, v, a = motion(model, rng, 2)
    mesh = pysim.mass_mesh(model, "tip")

    def torque(vertices: Array) -> Array:
        write_obj(folder / "tip.obj", vertices, mesh.faces)
        return pysim.rnea(build(folder, "a density"), q, v, a)

    expected = differences(torque, mesh.vertices, 1e-4)
    derivatives = pysim.torque_vertex_derivatives(model, q, v, a, mesh)
    np.testing.assert_allclose(derivatives, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


CAM = """
import numpy as np
from pysim.joints import Joint, Pose, joint, real

@joint("vertex_cam")
class VertexCam(Joint):
    \"\"\"Lifts while it turns, bends while it slides.\"\"\"
    coordinates = real("angle", "slide")

    def placement(self, q):
        lift = Pose.translate(0.1 * np.sin(q.slide), q.slide, 0.2 * np.sin(2 * q.angle))
        return Pose.rotate_z(q.angle) @ lift
"""


def test_a_mesh_may_be_carried_by_a_plugin_joint(
    meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    folder = meshes[0]
    (folder / "cam.py").write_text(CAM)
    (folder / "cam.toml").write_text(
        'name = "cam"\nplugins = ["cam.py"]\n'
        '[[body]]\nname = "arm"\nshape = { mesh = "arm.obj", density = 500 }\n'
        '[[joint]]\nname = "cam"\ntype = "vertex_cam"\nparent = "world"\nchild = "arm"\n'
    )

    def model() -> pysim.Model:
        return pysim.load_scene(folder / "cam.toml", allow_code=True).model

    q, v, a = motion(model(), rng, 3)
    mesh = pysim.mass_mesh(model(), "arm")

    def torque(vertices: Array) -> Array:
        write_obj(folder / "arm.obj", vertices, mesh.faces)
        return pysim.rnea(model(), q, v, a)

    expected = differences(torque, mesh.vertices, 1e-4)
    write_obj(folder / "arm.obj", mesh.vertices, mesh.faces)
    derivatives = pysim.torque_vertex_derivatives(model(), q, v, a, "arm")
    np.testing.assert_allclose(derivatives, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("way", WAYS)
def test_theta_of_a_mesh_follows_its_vertices(way: str, meshes: tuple[Path, Array]) -> None:
    mesh = pysim.mass_mesh(build(meshes[0], way), "arm")
    expected = differences(lambda moved: mesh.moved(moved).theta(), mesh.vertices, 1e-5)
    derivatives = mesh.theta_derivatives()
    assert derivatives.shape == (10, 12, 3)
    np.testing.assert_allclose(derivatives, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    weights = np.arange(1.0, 11.0)
    gradient = np.tensordot(weights, derivatives, 1)
    np.testing.assert_allclose(mesh.theta_gradient(weights), gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_theta_of_a_mesh_is_the_bodys(way: str, meshes: tuple[Path, Array]) -> None:
    model = build(meshes[0], way)
    mesh = pysim.mass_mesh(model, "arm")
    theta = mesh.theta()
    if way == "beside another shape":
        theta = theta + pysim.inertia.Inertia.box(0.1, 0.2, 0.3, density=90.0).theta
    np.testing.assert_allclose(theta, model.parameters[0], rtol=1e-12, atol=1e-12)
    assert mesh.moved(2 * mesh.vertices).theta()[0] >= theta[0] * (1 - 1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("batch", [(), (5,)])
def test_the_gradient_is_the_transpose_of_the_derivatives(
    way: str, batch: tuple[int, ...], meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    model = build(meshes[0], way)
    q, v, a = (x.reshape(*batch, x.shape[-1]) for x in motion(model, rng, 5 if batch else 1))
    slopes = rng.normal(size=(*batch, model.nv))
    gradient = pysim.torque_vertex_gradient(model, q, v, a, "arm", slopes)
    J = pysim.torque_vertex_derivatives(model, q, v, a, "arm")
    expected = np.tensordot(slopes, J, slopes.ndim)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_single_precision_is_right_to_single_precision(
    meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    model = build(meshes[0], "a density")
    q, v, a = motion(model, rng, 4)
    double = pysim.torque_vertex_derivatives(model, q, v, a, "arm")
    q, v, a = (x.astype(np.float32) for x in (q, v, a))
    single = pysim.torque_vertex_derivatives(model, q, v, a, "arm")
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, rtol=0, atol=2e-6 * np.abs(double).max())


def test_the_result_goes_where_it_is_asked_to(
    meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    model = build(meshes[0], "a density")
    q, v, a = motion(model, rng, 3)
    expected = pysim.torque_vertex_derivatives(model, q, v, a, "arm")
    out = np.empty_like(expected)
    assert pysim.torque_vertex_derivatives(model, q, v, a, "arm", threads=2, out=out) is out
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(
        PysimError, match=r"^out: must have shape \(3, 4, 12, 3\), got \(3, 4, 36\)$"
    ):
        pysim.torque_vertex_derivatives(model, q, v, a, "arm", out=np.empty((3, 4, 36)))


REFUSALS = {
    "link 'amr': no such body; did you mean 'arm'?": "amr",
    "link 'hand': has no mesh; name a link with a mesh": "hand",
}


@pytest.mark.parametrize("text", REFUSALS)
def test_a_link_without_a_mesh_is_rejected(text: str, meshes: tuple[Path, Array]) -> None:
    model = build(meshes[0], "a density")
    with pytest.raises(ModelError) as caught:
        pysim.mass_mesh(model, REFUSALS[text])
    assert str(caught.value) == text


def test_a_mesh_that_is_only_drawn_needs_a_density(meshes: tuple[Path, Array]) -> None:
    folder = meshes[0]
    scene = SCENE.format(mass="mass = 1.0", shapes="", pose=POSE).replace("shape = []", "")
    scene = scene.replace('name = "arm"', 'name = "arm"\nvisual = { mesh = "arm.obj" }', 1)
    (folder / "drawn.toml").write_text('name = "drawn"\n' + scene)
    model = pysim.load_model(folder / "drawn.toml")
    text = (
        r"^link 'arm': has meshes that are only drawn, because its mass is given by numbers; "
        r"pass a density \[kg/m³\]: mass_mesh\(model, 'arm', density=…\)$"
    )
    with pytest.raises(ModelError, match=text):
        pysim.mass_mesh(model, "arm")
    mesh = pysim.mass_mesh(model, "arm", density=1000.0)
    expected = pysim.inertia.mesh_inertia(mesh.vertices, mesh.faces, 1000.0)
    np.testing.assert_allclose(mesh.theta(), expected, rtol=1e-14)


def test_slopes_have_the_shape_of_the_torques(
    meshes: tuple[Path, Array], rng: np.random.Generator
) -> None:
    model = build(meshes[0], "a density")
    with pytest.raises(ModelError, match=r"^slopes: must have shape \(2, 4\), got \(4,\)$"):
        pysim.torque_vertex_gradient(model, *motion(model, rng, 2), "arm", np.ones(4))
