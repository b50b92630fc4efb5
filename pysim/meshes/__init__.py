"""Mesh files: strict readers, and mass properties of the solids that they enclose.

STL, OBJ, PLY, Collada (.dae) and binary glTF (.glb). Contents are checked before use: a file from an unknown source may
be truncated, declare a wrong length, or enclose no volume.
"""

from __future__ import annotations

from pysim.meshes.mass_properties import MeshSolid, mesh_theta, read_solid
from pysim.meshes.triangles import Triangles, check_mesh, file_version, read_mesh

__all__ = [
    "MeshSolid",
    "Triangles",
    "check_mesh",
    "file_version",
    "mesh_theta",
    "read_mesh",
    "read_solid",
]
