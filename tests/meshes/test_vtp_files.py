"""Files of VTK's polygons. The oracle is VTK, which writes and triangulates them."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from pysim.meshes import read_mesh

pv = pytest.importorskip("pyvista")

MODEL = """<OpenSimDocument Version="40000"><Model name="m"><BodySet name="b"><objects><Body name="bone">
<attached_geometry><Mesh name="g"><scale_factors>1 2 0.5</scale_factors>
<Appearance><opacity>0.5</opacity><color>0.2 0.4 0.6</color></Appearance><mesh_file>bone.vtp</mesh_file></Mesh>
<Mesh name="lost"><mesh_file>lost.vtp</mesh_file></Mesh>
<Sphere name="s"><radius>0.1</radius></Sphere>
<Mesh name="unseen"><Appearance><visible>false</visible></Appearance><mesh_file>bone.vtp</mesh_file></Mesh>
</attached_geometry><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="j"><objects><PinJoint name="hinge"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/bone</socket_child_frame></PinJoint></objects></JointSet></Model></OpenSimDocument>
"""


def written(path, mesh, mode):
    """Write a mesh by VTK: as text, or in base64 without compression."""
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

    writer = vtkXMLPolyDataWriter()
    writer.SetFileName(str(path))
    writer.SetInputData(mesh)
    writer.SetCompressorTypeToNone()
    writer.SetDataModeToAscii() if mode == "text" else writer.SetDataModeToBinary()
    writer.Write()
    return path


@pytest.mark.parametrize("mode", ["text", "base64"])
def test_polygons_are_read_as_the_triangles_of_vtk(tmp_path, mode):
    mesh = pv.Cube(x_length=0.2, y_length=0.3, z_length=0.5)  # of squares
    triangles = read_mesh(written(tmp_path / "a.vtp", mesh, mode))
    corners = triangles.vertices[triangles.faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    assert len(corners) == mesh.triangulate().n_cells == 12
    assert area.sum() / 2 == pytest.approx(mesh.area, rel=1e-6)
    assert np.allclose(triangles.vertices, mesh.points, atol=1e-7)


def test_bones_beside_a_model_are_drawn(tmp_path):
    (tmp_path / "Geometry").mkdir()
    written(tmp_path / "Geometry" / "bone.vtp", pv.Sphere(), "text")
    (tmp_path / "m.osim").write_text(MODEL, "utf-8")
    spec = pysim.load_model(tmp_path / "m.osim").spec
    (body,) = spec.bodies
    mesh, sphere = body.geometries
    assert mesh.shape.mesh == tmp_path / "Geometry" / "bone.vtp"
    assert mesh.shape.scale == (1.0, 2.0, 0.5)
    assert mesh.color == (0.2, 0.4, 0.6, 0.5)
    assert sphere.shape.size == (0.1,)
    assert any(
        "mesh 'lost.vtp' is not drawn: there is no such file" in text for text in spec.omitted
    )


POLYGONS = """<VTKFile type="PolyData" byte_order="LittleEndian"><PolyData><Piece><Points>
<DataArray type="Float32" NumberOfComponents="3" format="ascii">0 0 0 1 0 0 0 1 0</DataArray></Points><Polys>
<DataArray type="Int32" Name="connectivity" format="ascii">0 1 2</DataArray>
<DataArray type="Int32" Name="offsets" format="ascii">3</DataArray></Polys></Piece></PolyData></VTKFile>"""


@pytest.mark.parametrize(
    ("text", "other", "problem"),
    [
        ("PolyData", "ImageData", "holds 'ImageData', not PolyData"),
        ("</Polys>", "", "is no XML"),
        ("<VTKFile ", "<!DOCTYPE a><VTKFile ", "has a document type, which is not read"),
        (">3<", ">4<", "has offsets of polygons that do not fit their corners"),
        (">0 1 2<", ">0 1 7<", "a face names vertex 7 of only 3"),
        (">0 1 2<", ">0 1 nan<", "has corners that are no integers"),
        (" 0 1 0<", " 0 1<", "has 8 numbers of points, which are no triples"),
        (" 0 1 0<", " 0 1 one<", "has numbers in the format 'ascii' that cannot be read"),
        ('byte_order="LittleEndian"', 'compressor="vtkZLibDataCompressor"', "is compressed"),
        ('type="Float32"', 'type="String"', "has numbers of type 'String'"),
        ('"3" format="ascii"', '"3" format="appended"', "in the format 'appended'"),
        ("Piece", "Part", "has no <Piece> of polygons"),
        ("Polys", "Lines", "has no triangles"),
    ],
)
def test_damaged_files_are_reported(tmp_path, text, other, problem):
    assert text in POLYGONS
    file = tmp_path / "a.vtp"
    file.write_text(POLYGONS.replace(text, other), "utf-8")
    with pytest.raises(SceneError) as caught:
        read_mesh(file)
    assert problem in str(caught.value)
    assert "export the mesh again" in str(caught.value)
