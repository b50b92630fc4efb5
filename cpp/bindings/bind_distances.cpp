// Bindings of distances of shapes.
#include <pybind11/stl.h>

#include <array>

#include "bindings/mesh_numbers.hpp"
#include "bindings/released_gil.hpp"
#include "engine/contact_dispatch.hpp"
#include "engine/contact_model.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

constexpr const char* half_space = "half_space";

/// Signed distances of shapes of two kinds, row by row.
py::array_t<double> distances(const std::string& kind_a,
                              const std::string& kind_b,
                              const Numbers& a,
                              const Numbers& b,
                              const MeshArrays& mesh_a,
                              const MeshArrays& mesh_b) {
  const auto shape_of = [](const std::string& kind, const MeshNumbers& mesh) {
    collision::Shape<double> shape = {};
    if (kind != half_space) shape.kind = engine::shape_kind(kind);
    engine::set_mesh(mesh.vertices, mesh.faces, mesh.corners, mesh.vertex_groups, mesh.normal_groups, shape);
    return shape;
  };
  const MeshNumbers numbers_a(mesh_a), numbers_b(mesh_b);
  const auto shape_a = shape_of(kind_a, numbers_a), shape_b = shape_of(kind_b, numbers_b);
  const bool is_half_space = kind_a == half_space;
  if (kind_b == half_space || (!is_half_space && shape_a.kind < shape_b.kind)) {
    throw std::invalid_argument("'" + kind_a + "' and '" + kind_b + "' are no pair of distance_pairs");
  }
  const auto pair =
      is_half_space ? collision::DistancePair::half_space : engine::distance_pair(kind_a, kind_b);
  using Map = engine::DistanceMap;
  const py::ssize_t rows = a.ndim() == 2 ? a.shape(0) : 0;
  for (const auto* x : {&a, &b}) {
    if (x->ndim() == 2 && x->shape(0) == rows && x->shape(1) == Map::in) continue;
    throw std::invalid_argument("rows must have shape (" + std::to_string(rows) + ", " +
                                std::to_string(Map::in) + "), got " + describe(*x));
  }
  py::array_t<double> results({rows, py::ssize_t{Map::out}});
  const double *first = a.data(), *second = b.data();
  double* out = results.mutable_data();
  without_gil([&] {
    engine::distance_map().run(static_cast<int>(pair), shape_a, shape_b, first, second, out, rows);
  });
  return results;
}

}  // namespace

void bind_distances(py::module_& m) {
  m.def("distance_pairs", [] {
    std::vector<std::pair<std::string, std::string>> pairs;
    const std::vector<std::string> kinds = engine::shape_names();
    for (auto a = kinds.begin(); a != kinds.end(); ++a) {
      for (auto b = kinds.begin(); b <= a; ++b) pairs.emplace_back(*a, *b);
    }
    for (const std::string& b : kinds) pairs.emplace_back(half_space, b);
    return pairs;
  });
  m.def("closed_form_pairs", [] {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto& kinds : collision::closed_form_pairs) pairs.emplace_back(kinds[0], kinds[1]);
    return pairs;
  });
  m.def("distances",
        &distances,
        "kind_a"_a,
        "kind_b"_a,
        "a"_a,
        "b"_a,
        "mesh_a"_a,
        "mesh_b"_a,
        "Signed distances of shapes of two kinds, see distance_pairs: rows (n, 15) are sizes (3) as of "
        "Contacts and a pose as rotation column-major and position, mesh_a and mesh_b as of Contacts. "
        "Returns rows (n, 10): distance [m], unit normal from a to b, nearest points on a and b.");
}

}  // namespace pysim::bindings
