// Gradients of worlds on the Python side.
#include <array>
#include <optional>

#include "bindings/lent_worlds.hpp"
#include "engine/gradients.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;
using Worlds = LentWorlds<double>;
namespace {

double* numbers_of(Reals& array, std::ptrdiff_t rows, std::ptrdiff_t numbers) {
  if (array.size() != rows * numbers) throw std::invalid_argument("cotangents have a wrong size");
  return array.mutable_data();
}

std::ptrdiff_t states_of(const Indices& index, std::ptrdiff_t coordinates) {
  if (index.size() == 0 || index.size() % engine::worlds_in_pack() != 0 || coordinates == 0)
    throw std::invalid_argument("worlds must be whole packs, with coordinates");
  return index.size();
}

Reals run(
    const Worlds& worlds, const Indices& index, engine::GradientBatch& batch, Reals q, Reals v, int threads) {
  check_threads(threads);
  Reals good(index.size());
  batch.end_q = numbers_of(q, index.size(), worlds.parts().sizes.q);
  batch.end_v = numbers_of(v, index.size(), worlds.parts().sizes.v);
  batch.good = good.mutable_data();
  without_gil([&] { engine::pull_step(worlds, Worlds::chosen(index), batch, threads); });
  return good;
}

Reals pull(const Worlds& worlds,
           const Indices& index,
           std::vector<Reals> bar,
           Reals q,
           Reals v,
           int threads,
           const std::optional<std::array<std::vector<int>, 2>>& start,
           std::optional<Reals> solutions,
           std::optional<Reals> readings,
           bool reads_late) {
  const auto sizes = engine::cotangent_sizes(worlds);
  const std::ptrdiff_t states = states_of(index, sizes[0].second);
  engine::GradientBatch batch = {};
  if (start) batch.start = engine::signal_start((*start)[0], (*start)[1]);
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
  if (solutions) batch.solutions = numbers_of(*solutions, states, engine::solution_size(worlds));
  if (readings && worlds.reading_count() > 0)
    batch.readings = numbers_of(*readings, rows, worlds.reading_count());
  batch.reads_late = reads_late;
  return run(worlds, index, batch, q, v, threads);
}

Reals write_matrices(const Worlds& worlds,
                     const Indices& index,
                     const std::vector<std::vector<int>>& numbers,
                     std::vector<Reals> to,
                     int threads) {
  const std::ptrdiff_t count = states_of(index, worlds.parts().sizes.v);
  const engine::MatrixNumbers lists(worlds, numbers);
  engine::StepMatrices matrices = lists.view();
  engine::GradientBatch batch = {};
  matrices.to = numbers_of(to.at(0), count, std::ptrdiff_t{matrices.rows} * matrices.columns);
  matrices.touching = numbers_of(to.at(1), count, worlds.model_contacts()->view().points);
  batch.matrices = &matrices;
  return run(worlds, index, batch, to.at(2), to.at(3), threads);
}

Reals step_with_solutions(Worlds& worlds, const py::function& step) {
  Reals solutions({py::ssize_t{worlds.count()}, py::ssize_t{engine::solution_size(worlds)}});
  worlds.take_solutions(solutions.mutable_data(), [&] { step(); });
  return solutions;
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
  m.def("step_with_solutions",
        &step_with_solutions,
        "Calls step(), which steps all worlds, and returns solutions of their last steps for `pull_step`.");
  m.def("pull_step",
        &pull,
        "Takes cotangents `bar`, in the order of their names, back through the next step of worlds, whole "
        "packs, in place, each world's as many as there are, one after the other; those of inertias and "
        "laws, and counts of switches, are added, or empty. Leaves the states at its end, which the worlds "
        "do not reach, in end_q and end_v. With `start`, places of initial values that depend on one another "
        "and of outputs that they read, those of signals go back through the blocks at the start instead, "
        "from records before these. `readings` are cotangents of signals at the end of the step; with "
        "`reads_late`, some of these follow from accelerations, wrenches or contacts. "
        "Without `solutions` of the steps they are solved again. Returns 1 where it was solved in one part, "
        "0 where it was not, -1 where it needs more memory than there is.");
  m.def("step_matrices",
        &write_matrices,
        "Writes matrices of the next step of worlds, the points that touch, and q and v; as `pull_step`.");
}

}  // namespace pysim::bindings
