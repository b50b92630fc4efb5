#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "engine/dispatch.hpp"

namespace pysim::bindings {

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

template <class Real>
const engine::RowMap<Real>& find_map(const engine::SpatialKernels<Real>& kernels, const std::string& name) {
  for (const auto& map : kernels.maps) {
    if (name == map.name) return map;
  }
  throw std::invalid_argument("name '" + name + "' is not a row map");
}

template <class Real>
py::array_t<Real> map_rows(const engine::RowMap<Real>& map, const py::array_t<Real, py::array::c_style>& x) {
  if (x.ndim() != 2 || x.shape(1) != map.in) {
    throw std::invalid_argument("x must have shape (rows, " + std::to_string(map.in) + ")");
  }
  py::array_t<Real> y({x.shape(0), py::ssize_t{map.out}});
  const Real* in = x.data();
  Real* out = y.mutable_data();
  const py::ssize_t rows = x.shape(0);
  {
    const py::gil_scoped_release nogil;
    map.run(in, out, rows);
  }
  return y;
}

}  // namespace

void bind_spatial(py::module_& m) {
  m.def(
      "map_rows",
      [](const std::string& name, const py::array_t<float, py::array::c_style>& x) {
        return map_rows(find_map(engine::kernels().spatial_float, name), x);
      },
      "name"_a,
      py::arg("x").noconvert(),
      "Applies a named function to each row of x (rows, in) and returns (rows, out), in single precision.");
  m.def(
      "map_rows",
      [](const std::string& name, const py::array_t<double, py::array::c_style>& x) {
        return map_rows(find_map(engine::kernels().spatial, name), x);
      },
      "name"_a,
      "x"_a,
      "Applies a named function to each row of x (rows, in) and returns (rows, out), in double precision.");
  m.def(
      "row_maps",
      [] {
        py::list names;
        for (const auto& map : engine::kernels().spatial.maps) names.append(map.name);
        return names;
      },
      "Names of the functions map_rows knows.");
}

}  // namespace pysim::bindings
