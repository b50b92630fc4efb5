"""Mesh files: read strictly, and weighed as solids of uniform density.

STL, OBJ, PLY, Collada (.dae) and binary glTF (.glb). What is in a file is checked before it is used: a file from a
stranger may be cut, lie about its length, or enclose nothing.
"""

from __future__ import annotations

from pysim.meshes.mass_properties import MeshSolid, mesh_theta, read_solid
from pysim.meshes.triangles import Triangles, check_mesh, read_mesh

__all__ = ["MeshSolid", "Triangles", "check_mesh", "mesh_theta", "read_mesh", "read_solid"]
