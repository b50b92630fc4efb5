#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "engine/dispatch.hpp"
#include "engine/surface.hpp"

namespace pysim::bindings {

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

using Numbers = py::array_t<double, py::array::c_style>;
using Faces = py::array_t<std::ptrdiff_t, py::array::c_style>;

void check_rows(const py::array& a, const char* name) {
  if (a.ndim() != 2 || a.shape(1) != 3) {
    throw std::invalid_argument(std::string(name) + " must have shape (rows, 3)");
  }
}

engine::MeshView view(const Numbers& vertices, const Faces& faces, const Numbers& origin) {
  check_rows(vertices, "vertices");
  check_rows(faces, "faces");
  if (origin.size() != 3) throw std::invalid_argument("origin must have shape (3,)");
  return {vertices.data(), faces.data(), faces.shape(0), origin.data()};
}

/// Faces are trusted by the integrals: surface_faults looks first.
Numbers mesh_moments(const Numbers& vertices, const Faces& faces, const Numbers& origin, bool sheet) {
  const auto mesh = view(vertices, faces, origin);
  Numbers sums(10);
  double* out = sums.mutable_data();
  {
    const py::gil_scoped_release nogil;
    const auto& kernels = engine::kernels().meshes;
    (sheet ? kernels.sheet : kernels.solid)(mesh, out);
  }
  return sums;
}

Numbers mesh_derivatives(const Numbers& vertices, const Faces& faces, const Numbers& origin, double density) {
  const auto mesh = view(vertices, faces, origin);
  Numbers rows({vertices.shape(0), py::ssize_t{3}, py::ssize_t{10}});
  double* out = rows.mutable_data();
  const auto size = rows.size();
  {
    const py::gil_scoped_release nogil;
    std::fill(out, out + size, 0.0);
    engine::kernels().meshes.derivatives(mesh, density, out);
  }
  return rows;
}

py::dict surface_faults(const Faces& faces, py::ssize_t vertices) {
  check_rows(faces, "faces");
  engine::SurfaceFaults faults;
  const auto* indices = faces.data();
  const auto count = faces.shape(0);
  {
    const py::gil_scoped_release nogil;
    faults = engine::inspect_surface(indices, count, vertices);
  }
  const auto pair = [](const engine::FaceFault& fault) { return py::make_tuple(fault.count, fault.first); };
  return py::dict("outside"_a = pair(faults.outside),
                  "pinched"_a = pair(faults.pinched),
                  "repeated"_a = pair(faults.repeated),
                  "closed"_a = faults.closed);
}

py::tuple vertex_bounds(const Numbers& vertices) {
  check_rows(vertices, "vertices");
  Numbers low(3), high(3);
  const auto bad =
      engine::vertex_bounds(vertices.data(), vertices.shape(0), low.mutable_data(), high.mutable_data());
  return py::make_tuple(low, high, bad);
}

}  // namespace

void bind_meshes(py::module_& m) {
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
        "Derivative of theta about `origin` w.r.t. every vertex (vertices, 3, 10).");
  m.def("surface_faults",
        &surface_faults,
        "faces"_a,
        "vertices"_a,
        "Count and first of the faces that are outside, pinched, repeated; whether the surface is closed.");
  m.def("vertex_bounds",
        &vertex_bounds,
        "vertices"_a,
        "Least and greatest coordinates (3,), (3,), and the first vertex that is not finite or -1.");
}

}  // namespace pysim::bindings
