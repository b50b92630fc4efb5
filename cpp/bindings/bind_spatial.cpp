// Functions of rows of numbers on the Python side; documented in pysim/spatial.
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/released_gil.hpp"
#include "engine/dispatch.hpp"
#include "engine/threads.hpp"

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

/// The caller's array for the rows, or a new one.
template <class Real>
py::array rows_for(const py::object& out, py::ssize_t rows, py::ssize_t columns) {
  Leading leading;
  leading.batched = true;
  leading.states = rows;
  if (out.is_none()) return make_output<Real>(leading, {columns});
  return accept_output<Real>(out, "out", leading, {columns});
}

template <class Real>
py::array map_rows(const engine::RowMap<Real>& map,
                   const PlainArray<Real>& x,
                   int threads,
                   const py::object& out) {
  if (x.ndim() != 2 || x.shape(1) != map.in) {
    throw std::invalid_argument("x must have shape (rows, " + std::to_string(map.in) + ")");
  }
  if (threads < 0)
    throw std::invalid_argument("threads must be 0 (all) or more, got " + std::to_string(threads));
  py::array y = rows_for<Real>(out, x.shape(0), map.out);
  const Real* const from = x.data();
  Real* const to = numbers<Real>(y);
  constexpr py::ssize_t grain = 64;  // rows: whole packs of every instruction set
  const ReleasedGil nogil;
  engine::parallel_for(x.shape(0), grain, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    map.run(from + begin * map.in, to + begin * map.out, end - begin);
  });
  return y;
}

}  // namespace

void bind_spatial(py::module_& m) {
  m.def(
      "map_rows",
      [](const std::string& name, const PlainArray<float>& x, int threads, const py::object& out) {
        return map_rows(find_map(engine::kernels().float32.spatial, name), x, threads, out);
      },
      "name"_a,
      py::arg("x").noconvert(),
      "threads"_a = 1,
      "out"_a = py::none(),
      "Applies a named function to each row of x (rows, in) and returns (rows, out), in single precision.");
  m.def(
      "map_rows",
      [](const std::string& name, const PlainArray<double>& x, int threads, const py::object& out) {
        return map_rows(find_map(engine::kernels().float64.spatial, name), x, threads, out);
      },
      "name"_a,
      "x"_a,
      "threads"_a = 1,
      "out"_a = py::none(),
      "Applies a named function to each row of x (rows, in) and returns (rows, out), in double precision.");
  m.def(
      "row_maps",
      [] {
        py::list names;
        for (const auto& map : engine::kernels().float64.spatial.maps) names.append(map.name);
        return names;
      },
      "Names of the functions of map_rows.");
}

}  // namespace pysim::bindings
