// Functions of two rows of numbers on the Python side; documented in pysim/spatial.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/released_gil.hpp"
#include "engine/dispatch.hpp"

namespace pysim::bindings {

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

template <class Real>
using Rows2 = PlainArray<Real>;

template <class Real>
const engine::PairMap<Real>& find_pair(const engine::PairKernels<Real>& kernels, const std::string& name) {
  for (const auto& map : kernels.maps) {
    if (name == map.name) return map;
  }
  throw std::invalid_argument("name '" + name + "' is not a pair map");
}

template <class Real>
void check_rows(const Rows2<Real>& a, const char* name, int columns, py::ssize_t rows, bool one_for_all) {
  if (a.ndim() == 2 && a.shape(1) == columns && (a.shape(0) == rows || (one_for_all && a.shape(0) == 1)))
    return;
  throw std::invalid_argument(std::string(name) + " must have shape (" + std::to_string(rows) + ", " +
                              std::to_string(columns) + ")");
}

template <class Real>
void map_pairs(const engine::PairMap<Real>& map, const Rows2<Real>& a, const Rows2<Real>& b, Rows2<Real>& y) {
  const py::ssize_t rows = y.ndim() == 2 ? y.shape(0) : 0;
  check_rows(y, "y", map.out, rows, false);
  check_rows(a, "a", map.first, rows, true);
  check_rows(b, "b", map.second, rows, true);
  const Real *first = a.data(), *second = b.data();
  Real* out = y.mutable_data();
  const py::ssize_t a_stride = a.shape(0) == rows ? map.first : 0,
                    b_stride = b.shape(0) == rows ? map.second : 0;
  {
    const ReleasedGil nogil;
    map.run(first, a_stride, second, b_stride, out, rows);
  }
}

}  // namespace

void bind_pairs(py::module_& m) {
  const char* doc =
      "Applies a named function to rows of a and b, a single row being used for all, and writes y.";
  m.def(
      "map_pairs",
      [](const std::string& name, const Rows2<float>& a, const Rows2<float>& b, Rows2<float> y) {
        map_pairs(find_pair(engine::kernels().float32.pairs, name), a, b, y);
      },
      "name"_a,
      py::arg("a").noconvert(),
      py::arg("b").noconvert(),
      py::arg("y").noconvert(),
      doc);
  m.def(
      "map_pairs",
      [](const std::string& name, const Rows2<double>& a, const Rows2<double>& b, Rows2<double> y) {
        map_pairs(find_pair(engine::kernels().float64.pairs, name), a, b, y);
      },
      "name"_a,
      py::arg("a").noconvert(),
      py::arg("b").noconvert(),
      py::arg("y").noconvert(),
      doc);
  m.def(
      "pair_maps",
      [] {
        py::dict columns;
        for (const auto& map : engine::kernels().float64.pairs.maps) {
          columns[map.name] = py::make_tuple(map.first, map.second, map.out);
        }
        return columns;
      },
      "Functions of map_pairs, with the lengths of the rows of a, b and y.");
}

}  // namespace pysim::bindings
