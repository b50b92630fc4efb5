// Functions of rows of numbers, and of two such rows, on the Python side; documented in pysim/spatial.
#include <stdexcept>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/released_gil.hpp"
#include "engine/dispatch.hpp"
#include "engine/threads.hpp"

namespace pysim::bindings {

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

/// The map of a name.
template <class Kernels>
const auto& find_map(const Kernels& kernels, const std::string& name, const char* kind = "row") {
  for (const auto& map : kernels.maps) {
    if (name == map.name) return map;
  }
  throw std::invalid_argument("name '" + name + "' is not a " + kind + " map");
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

template <class Real>
void check_rows(
    const PlainArray<Real>& a, const char* name, int columns, py::ssize_t rows, bool one_for_all) {
  if (a.ndim() == 2 && a.shape(1) == columns && (a.shape(0) == rows || (one_for_all && a.shape(0) == 1)))
    return;
  throw std::invalid_argument(std::string(name) + " must have shape (" + std::to_string(rows) + ", " +
                              std::to_string(columns) + ")");
}

template <class Real>
void map_pairs(const engine::PairMap<Real>& map,
               const PlainArray<Real>& a,
               const PlainArray<Real>& b,
               PlainArray<Real>& y) {
  const py::ssize_t rows = y.ndim() == 2 ? y.shape(0) : 0;
  check_rows(y, "y", map.out, rows, false);
  check_rows(a, "a", map.first, rows, true);
  check_rows(b, "b", map.second, rows, true);
  const Real *first = a.data(), *second = b.data();
  Real* out = y.mutable_data();
  const py::ssize_t a_stride = a.shape(0) == rows ? map.first : 0,
                    b_stride = b.shape(0) == rows ? map.second : 0;
  without_gil([&] { map.run(first, a_stride, second, b_stride, out, rows); });
}

const auto& kernels_of(float /*tag*/) {
  return engine::kernels().float32;
}
const auto& kernels_of(double /*tag*/) {
  return engine::kernels().float64;
}

/// Defines both functions for one precision; in single precision, other arrays are not converted.
template <class Real>
void define_maps(py::module_& m) {
  constexpr bool is_strict = sizeof(Real) == 4;
  m.def(
      "map_rows",
      [](const std::string& name, const PlainArray<Real>& x, int threads, const py::object& out) {
        return map_rows(find_map(kernels_of(Real()).spatial, name), x, threads, out);
      },
      "name"_a,
      py::arg("x").noconvert(is_strict),
      "threads"_a = 1,
      "out"_a = py::none(),
      "Applies a named function to each row of x (rows, in) and returns (rows, out), in the precision of x.");
  m.def(
      "map_pairs",
      [](const std::string& name, const PlainArray<Real>& a, const PlainArray<Real>& b, PlainArray<Real> y) {
        map_pairs(find_map(kernels_of(Real()).pairs, name, "pair"), a, b, y);
      },
      "name"_a,
      py::arg("a").noconvert(),
      py::arg("b").noconvert(),
      py::arg("y").noconvert(),
      "Applies a named function to rows of a and b, a single row being used for all, and writes y.");
}

}  // namespace

void bind_spatial(py::module_& m) {
  define_maps<float>(m);
  define_maps<double>(m);
  m.def(
      "row_maps",
      [] {
        py::list names;
        for (const auto& map : engine::kernels().float64.spatial.maps) names.append(map.name);
        return names;
      },
      "Names of the functions of map_rows.");
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
