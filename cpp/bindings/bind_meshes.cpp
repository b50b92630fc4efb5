// Mass properties and faults of triangle meshes on the Python side; documented in pysim/meshes.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/released_gil.hpp"
#include "engine/crossings.hpp"
#include "engine/dispatch.hpp"
#include "engine/mesh_faults.hpp"
#include "engine/shells.hpp"

namespace pysim::bindings {

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

using Numbers = PlainArray<double>;
using Faces = PlainArray<std::ptrdiff_t>;

void check_rows(const py::array& a, const char* name) {
  if (a.ndim() != 2 || a.shape(1) != 3) {
    throw std::invalid_argument(std::string(name) + " must have shape (rows, 3)");
  }
}

/// Rejects faces that name other vertices than those that there are, which kernels do not check.
void check_faces(const Faces& faces, py::ssize_t vertices) {
  check_rows(faces, "faces");
  if (vertices < 0) throw std::invalid_argument("vertices must be 0 or more");
  const auto most = static_cast<std::size_t>(vertices);
  const auto* const indices = faces.data();
  bool outside = false;
  for (py::ssize_t i = 0; i < faces.size(); ++i) outside |= static_cast<std::size_t>(indices[i]) >= most;
  if (outside)
    throw std::invalid_argument("faces must name vertices from 0 to " + std::to_string(vertices - 1));
}

engine::MeshView view(const Numbers& vertices, const Faces& faces, const Numbers& origin) {
  check_rows(vertices, "vertices");
  check_faces(faces, vertices.shape(0));
  if (origin.size() != 3) throw std::invalid_argument("origin must have shape (3,)");
  return {vertices.data(), faces.data(), faces.shape(0), origin.data()};
}

Numbers mesh_moments(const Numbers& vertices, const Faces& faces, const Numbers& origin, bool sheet) {
  const auto mesh = view(vertices, faces, origin);
  Numbers sums(10);
  double* out = sums.mutable_data();
  {
    const ReleasedGil nogil;
    const auto& kernels = engine::kernels().meshes;
    (sheet ? kernels.sheet : kernels.solid)(mesh, out);
  }
  return sums;
}

/// Zeros from NumPy, whose pages the system zeroes when they are first touched.
Numbers zeros(const py::tuple& shape) {
  return py::module_::import("numpy").attr("zeros")(shape);
}

Numbers mesh_derivatives(
    const Numbers& vertices, const Faces& faces, const Numbers& origin, double density, bool sheet) {
  const auto mesh = view(vertices, faces, origin);
  Numbers rows = zeros(py::make_tuple(vertices.shape(0), 3, 10));
  double* out = rows.mutable_data();
  {
    const ReleasedGil nogil;
    const auto& kernels = engine::kernels().meshes;
    (sheet ? kernels.sheet_derivatives : kernels.derivatives)(mesh, density, out);
  }
  return rows;
}

Numbers mesh_gradient(const Numbers& vertices, const Faces& faces, const Numbers& weights) {
  const double origin[3] = {0, 0, 0};
  check_rows(vertices, "vertices");
  check_faces(faces, vertices.shape(0));
  if (weights.size() != 10) throw std::invalid_argument("weights must have shape (10,)");
  const engine::MeshView mesh = {vertices.data(), faces.data(), faces.shape(0), origin};
  Numbers rows = zeros(py::make_tuple(vertices.shape(0), 3));
  const double* w = weights.data();
  double* out = rows.mutable_data();
  without_gil([&] { engine::kernels().meshes.gradient(mesh, w, out); });
  return rows;
}

engine::SurfaceFaults surface_faults(const Faces& faces, py::ssize_t vertices) {
  check_rows(faces, "faces");
  if (vertices < 0) throw std::invalid_argument("vertices must be 0 or more");
  const auto* const indices = faces.data();
  return without_gil([&] { return engine::inspect_surface(indices, faces.shape(0), vertices); });
}

engine::Crossings find_crossings(const Numbers& vertices, const Faces& faces) {
  check_rows(vertices, "vertices");
  check_faces(faces, vertices.shape(0));
  const auto* const points = vertices.data();
  const auto* const indices = faces.data();
  return without_gil([&] { return engine::find_crossings(points, indices, faces.shape(0)); });
}

py::tuple label_shells(const Faces& faces, py::ssize_t vertices) {
  check_faces(faces, vertices);
  const auto count = faces.shape(0);
  Faces shells(count);
  const auto* indices = faces.data();
  auto* out = shells.mutable_data();
  py::ssize_t found = 0;
  without_gil([&] { found = engine::label_shells(indices, count, vertices, out); });
  return py::make_tuple(found, shells);
}

py::tuple vertex_bounds(const Numbers& vertices) {
  check_rows(vertices, "vertices");
  Numbers low(3), high(3);
  const auto bad =
      engine::vertex_bounds(vertices.data(), vertices.shape(0), low.mutable_data(), high.mutable_data());
  return py::make_tuple(low, high, bad);
}

void bind_results(py::module_& m) {
  using engine::Crossings;
  using engine::FaceFault;
  using engine::SurfaceFaults;
  py::class_<FaceFault>(m, "FaceFault", "Number of faces with a fault, and the first of them (-1: none).")
      .def_readonly("count", &FaceFault::count)
      .def_readonly("first", &FaceFault::first);
  py::class_<SurfaceFaults>(
      m, "SurfaceFaults", "Faces that are outside, pinched or repeated, and whether the surface is closed.")
      .def_readonly("outside", &SurfaceFaults::outside)
      .def_readonly("pinched", &SurfaceFaults::pinched)
      .def_readonly("repeated", &SurfaceFaults::repeated)
      .def_readonly("closed", &SurfaceFaults::closed);
  py::class_<Crossings>(m, "Crossings", "Number of pairs of faces that cross, and the first pair (-1: none).")
      .def_readonly("count", &Crossings::count)
      .def_readonly("first", &Crossings::first)
      .def_readonly("second", &Crossings::second);
}

}  // namespace

void bind_meshes(py::module_& m) {
  bind_results(m);
  m.def("mesh_moments",
        &mesh_moments,
        "vertices"_a,
        "faces"_a,
        "origin"_a,
        "sheet"_a = false,
        "Sums of w, w s, w Q (10,) over the faces about `origin`; w is the determinant, or a sheet's |n|.");
  m.def("mesh_derivatives",
        &mesh_derivatives,
        "vertices"_a,
        "faces"_a,
        "origin"_a,
        "density"_a,
        "sheet"_a = false,
        "Derivative of theta about `origin` w.r.t. every vertex (vertices, 3, 10); a sheet's density is mass "
        "per area.");
  m.def("mesh_gradient",
        &mesh_gradient,
        "vertices"_a,
        "faces"_a,
        "weights"_a,
        "Sum of weights (10,) times the derivative of a solid's theta of unit density w.r.t. every vertex "
        "(vertices, 3).");
  m.def("surface_faults",
        &surface_faults,
        "faces"_a,
        "vertices"_a,
        "Faults of a surface; if a face is outside, no other fault is searched for.");
  m.def("find_crossings",
        &find_crossings,
        "vertices"_a,
        "faces"_a,
        "Pairs of faces that pass through each other.");
  m.def("label_shells",
        &label_shells,
        "faces"_a,
        "vertices"_a,
        "Number of shells, and the shell of each face; faces with a common vertex belong to the same shell.");
  m.def("vertex_bounds",
        &vertex_bounds,
        "vertices"_a,
        "Least and greatest coordinates (3,), (3,), and the first vertex that is not finite or -1.");
}

}  // namespace pysim::bindings
