// Gradients of worlds on the Python side.
#include <array>
#include <memory>
#include <optional>

#include "bindings/lent_worlds.hpp"
#include "engine/recorded_steps.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using Worlds = LentWorlds<double>;
namespace {

void check_size(const Reals& array, std::ptrdiff_t size) {
  if (array.size() != size) throw std::invalid_argument("cotangents have a wrong size");
}

double* numbers_of(Reals& array, std::ptrdiff_t rows, std::ptrdiff_t numbers) {
  check_size(array, rows * numbers);
  return array.mutable_data();
}

/// Numbers that are read: an array of the caller need not be writeable.
const double* read_numbers(const Reals& array, std::ptrdiff_t rows, std::ptrdiff_t numbers) {
  check_size(array, rows * numbers);
  return array.data();
}

std::ptrdiff_t states_of(const Indices& index, std::ptrdiff_t coordinates) {
  if (index.size() == 0 || index.size() % engine::worlds_in_pack() != 0 || coordinates == 0)
    throw std::invalid_argument("worlds must be whole packs, with coordinates");
  return index.size();
}

/// Cotangents of states, in the order of their names, as a batch has them; of each as many rows.
engine::GradientBatch batch_of(const engine::Worlds<double>& worlds,
                               const Indices& index,
                               std::vector<Reals>& bar) {
  const auto sizes = engine::cotangent_sizes(worlds);
  const std::ptrdiff_t states = states_of(index, sizes[0].second);
  engine::GradientBatch batch = {};
  const std::ptrdiff_t rows = bar.at(0).size() / sizes[0].second;
  if (rows % states != 0) throw std::invalid_argument("every world must have as many cotangents");
  batch.rows = static_cast<int>(rows / states);
  std::vector<double*> parts;
  for (const auto& [name, size] : sizes) {
    Reals& own = bar.at(parts.size());
    const bool is_left_out = own.size() == 0 && engine::may_be_left_out(name);
    parts.push_back(is_left_out ? nullptr : numbers_of(own, rows, size));
  }
  batch.bar = engine::cotangents_in(parts);
  return batch;
}

Reals pull_start(const Worlds& worlds,
                 const Indices& index,
                 std::vector<Reals> bar,
                 const std::vector<int>& places,
                 const std::vector<int>& outputs) {
  engine::GradientBatch batch = batch_of(worlds, index, bar);
  batch.start = engine::signal_start(places, outputs);
  Reals good(index.size());
  batch.good = good.mutable_data();
  without_gil([&] { engine::pull_step(worlds, Worlds::chosen(index), batch, 1); });
  return good;
}

using RowBars =
    std::tuple<Reals, Reals, Reals, std::vector<int>, bool>;  // by q, v, signals; places; are_late
using InputBars = std::tuple<Reals, std::vector<int>>;

std::pair<std::ptrdiff_t, Reals> pull(engine::RecordedSteps& steps,
                                      const Indices& index,
                                      std::vector<Reals> bar,
                                      std::array<std::ptrdiff_t, 2> range,
                                      const std::optional<RowBars>& rows,
                                      std::optional<InputBars> inputs,
                                      int threads,
                                      double wall) {
  check_threads(threads);
  const auto& worlds = steps.worlds();
  engine::GradientBatch batch = batch_of(worlds, index, bar);
  engine::RowCotangents of_rows = {};
  if (rows) {
    const auto& [q, v, signals, columns, are_late] = *rows;
    if (q.ndim() != 3) throw std::invalid_argument("cotangents must be those of rows");
    const std::ptrdiff_t count = worlds.count() * q.shape(1);
    of_rows = {q.shape(1),
               read_numbers(q, count, worlds.nv()),
               read_numbers(v, count, worlds.nv()),
               read_numbers(signals, count, static_cast<std::ptrdiff_t>(columns.size())),
               columns};
    batch.reads_late = are_late;
  }
  engine::InputCotangents of_inputs = {};
  if (inputs) {
    auto& [to, places] = *inputs;
    of_inputs = {numbers_of(to, worlds.count() * steps.count(), static_cast<std::ptrdiff_t>(places.size())),
                 places};
  }
  const auto pulled = without_gil([&] {
    return steps.pull(range[0],
                      range[1],
                      Worlds::chosen(index),
                      batch,
                      rows ? &of_rows : nullptr,
                      inputs ? &of_inputs : nullptr,
                      wall,
                      threads);
  });
  return {pulled.steps, Reals(static_cast<py::ssize_t>(pulled.good.size()), pulled.good.data())};
}

Reals write_matrices(const Worlds& worlds,
                     const Indices& index,
                     const std::vector<std::vector<int>>& numbers,
                     std::vector<Reals> to,
                     int threads) {
  check_threads(threads);
  const std::ptrdiff_t count = states_of(index, worlds.parts().sizes.v);
  const engine::MatrixNumbers lists(worlds, numbers);
  engine::StepMatrices matrices = lists.view();
  engine::GradientBatch batch = {};
  matrices.to = numbers_of(to.at(0), count, std::ptrdiff_t{matrices.rows} * matrices.columns);
  matrices.touching = numbers_of(to.at(1), count, worlds.model_contacts()->view().points);
  batch.matrices = &matrices;
  Reals good(index.size());
  batch.end_q = numbers_of(to.at(2), count, worlds.parts().sizes.q);
  batch.end_v = numbers_of(to.at(3), count, worlds.parts().sizes.v);
  batch.good = good.mutable_data();
  without_gil([&] { engine::pull_step(worlds, Worlds::chosen(index), batch, threads); });
  return good;
}

}  // namespace
void bind_gradients(py::module_& m) {
  m.def(
      "cotangent_sizes",
      [](const Worlds& worlds) {
        const std::string refusal = engine::gradient_refusal(worlds);
        using Sizes = decltype(engine::cotangent_sizes(worlds));
        const auto sizes = refusal.empty() ? engine::cotangent_sizes(worlds) : Sizes{};
        return py::make_tuple(refusal, engine::matrix_refusal(worlds), engine::worlds_in_pack(), sizes);
      },
      "worlds"_a,
      "Returns what keeps steps of worlds from having a gradient, and from having matrices, '' for nothing; "
      "how many are a pack; and the names of the cotangents, with their numbers a world.");
  py::class_<engine::RecordedSteps>(
      m, "RecordedSteps", "Records of all worlds before some of their steps, and what solved their contacts.")
      .def(py::init([](Worlds& worlds, std::ptrdiff_t count) {
             return std::make_unique<engine::RecordedSteps>(worlds, count);
           }),
           py::keep_alive<1, 2>(),
           "worlds"_a,
           "count"_a)
      .def_property_readonly("bytes", &engine::RecordedSteps::bytes, "Bytes of all records and solutions.")
      .def("save",
           &engine::RecordedSteps::save,
           "n"_a,
           "Records the worlds before step n, or after the last one.")
      .def(
          "put_back", &engine::RecordedSteps::put_back, "n"_a, "Puts the worlds back to where step n begins.")
      .def(
          "make",
          [](engine::RecordedSteps& steps, std::ptrdiff_t n, const py::function& step) {
            steps.make(n, [&] { step(); });
          },
          "n"_a,
          "step"_a,
          "Calls step(), which makes step n of all worlds, and keeps what solved its contacts.")
      .def("forget", &engine::RecordedSteps::forget, "n"_a, "Forgets what is kept of step n.")
      .def("pull",
           &pull,
           "index"_a,
           "bar"_a,
           "steps"_a,
           "rows"_a,
           "inputs"_a,
           "threads"_a,
           "wall"_a,
           "Takes cotangents `bar`, in the order of their names, of worlds `index`, whole packs, back "
           "through a range of steps in place, the last one first, each world's as many as there are, one "
           "after the other; those of inertias and laws, and counts of switches, are added, or empty. "
           "`rows` are cotangents of states and signals after the last of the steps, places of the signals "
           "among the readings, and whether some follow from accelerations, wrenches or contacts; `inputs` "
           "takes those of the inputs of every step over. Returns through how many steps there was time, "
           "and of the one before 1 where it was solved in one part, 0 where it was not, -1 where it needs "
           "more memory than there is, and -2 where it ends elsewhere than it did.");
  m.def("pull_start",
        &pull_start,
        "Takes cotangents `bar` of signals back through the blocks at the start, given places of initial "
        "values that depend on one another and of outputs that they read, from records before these. Returns "
        "1, or -1 where they need more memory than there is.");
  m.def("step_matrices",
        &write_matrices,
        "Writes matrices of the next step of worlds, the points that touch, and q and v; as `pull`.");
}

}  // namespace pysim::bindings
