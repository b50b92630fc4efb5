// Meshes of shapes as Python gives them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bindings/fixed_shape_arrays.hpp"
#include "collision/manifold.hpp"

namespace pysim::bindings {

using MeshArrays = std::array<Numbers, 5>;  ///< in the order of MeshNumbers

/// Numbers of a mesh: vertices, faces with the list of their corners, groups of both.
struct MeshNumbers {
  std::vector<double> vertices, faces, corners, vertex_groups, normal_groups;

  explicit MeshNumbers(const MeshArrays& mesh)
      : vertices(rows(mesh[0], "vertices must have shape (n, 3)", 3)),
        faces(rows(mesh[1], "faces must have shape (n, 10)", collision::MeshFace::numbers)),
        corners(rows(mesh[2], "corners of faces must have shape (n,)", 0)),
        vertex_groups(rows(mesh[3], groups, collision::PointGroup::numbers)),
        normal_groups(rows(mesh[4], groups, collision::PointGroup::numbers)) {}

 private:
  static constexpr const char* groups = "groups must have shape (n, 6)";

  static std::vector<double> rows(const Numbers& x, const char* problem, py::ssize_t numbers) {
    const bool fits = numbers == 0 ? x.ndim() == 1 : x.ndim() == 2 && x.shape(1) == numbers;
    if (fits) return {x.data(), x.data() + x.size()};
    throw std::invalid_argument(std::string(problem) + ", got " + describe(x));
  }
};

}  // namespace pysim::bindings
