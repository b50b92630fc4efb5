// Meshes of shapes as Python gives them.
#pragma once

#include <string>
#include <vector>

#include "bindings/fixed_shape_arrays.hpp"
#include "collision/manifold.hpp"

namespace pysim::bindings {

/// Numbers of a mesh: vertices, faces, groups of both.
struct MeshNumbers {
  std::vector<double> vertices, faces, vertex_groups, normal_groups;

  MeshNumbers(const Numbers& vertices,
              const Numbers& faces,
              const Numbers& of_vertices,
              const Numbers& of_normals)
      : vertices(rows(vertices, "vertices must have shape (n, 3)", 3)),
        faces(rows(faces, "faces must have shape (n, 7)", collision::MeshFace::numbers)),
        vertex_groups(rows(of_vertices, groups, collision::PointGroup::numbers)),
        normal_groups(rows(of_normals, groups, collision::PointGroup::numbers)) {}

 private:
  static constexpr const char* groups = "groups must have shape (n, 6)";

  static std::vector<double> rows(const Numbers& x, const char* problem, py::ssize_t numbers) {
    if (x.ndim() == 2 && x.shape(1) == numbers) return {x.data(), x.data() + x.size()};
    throw std::invalid_argument(std::string(problem) + ", got " + describe(x));
  }
};

}  // namespace pysim::bindings
