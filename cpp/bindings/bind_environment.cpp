// Tables of environments on the Python side; documented in pysim/environments/environment.py.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <tuple>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/model_functions.hpp"
#include "bindings/recorded_worlds.hpp"
#include "bindings/released_gil.hpp"
#include "engine/environment_tables.hpp"
#include "engine/threads.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Rows = PlainArray<double, py::array::forcecast>;
using Chosen = PlainArray<int, py::array::forcecast>;
using Range = std::tuple<int, int>;                             // first, count
using End = std::tuple<Range, double, double>;                  // numbers, below, above
using Reward = std::tuple<Range, std::string, double, double>;  // numbers, kernel, weight, width

constexpr const char* kernel_names[] = {"value", "absolute_sum", "square_sum", "exponential", "end"};

class Tables {
 public:
  Tables(py::ssize_t worlds,
         int signals,
         const Numbers& scale,
         const Numbers& offset,
         std::pair<double, double> bounds,
         int first_input,
         const std::vector<End>& ends,
         const std::vector<Reward>& rewards,
         const std::vector<Range>& observed,
         const Numbers& factors,
         const Numbers& deviations,
         double limit,
         int history,
         std::int64_t length,
         bool single)
      : worlds_(worlds) {
    auto& own = tables_;
    own.signals = signals;
    own.actions = static_cast<int>(scale.size());
    std::tie(own.lowest, own.highest) = bounds;
    own.scale = numbers(scale);
    own.offset = numbers(offset);
    own.first_input = first_input;
    for (const auto& [x, below, above] : ends) own.ends.push_back({range_of(x), below, above});
    for (const auto& [x, kernel, weight, width] : rewards) {
      const auto* const found = std::find(std::begin(kernel_names), std::end(kernel_names), kernel);
      if (found == std::end(kernel_names)) throw std::invalid_argument("there is no kernel '" + kernel + "'");
      const auto kind = static_cast<engine::RewardKernel>(found - kernel_names);
      own.rewards.push_back({range_of(x), kind, weight, width});
    }
    for (const auto& x : observed) own.observed.push_back(range_of(x));
    own.factor = numbers(factors);
    own.deviation = numbers(deviations);
    for (int k = 0; k < own.frame(); ++k) {
      if (own.deviation[static_cast<std::size_t>(k)] != 0) own.noisy.push_back(k);
    }
    own.limit = limit;
    own.history = history;
    own.length = length;
    arrays_.steps = allocate<std::int64_t>("steps", {worlds});
    arrays_.key = allocate<double>("key", {worlds});
    arrays_.action = allocate<double>("action", {worlds, own.actions});
    arrays_.action_rate = allocate<double>("action_rate", {worlds, own.actions});
    arrays_.readings = allocate<double>("readings", {worlds, signals});
    arrays_.has_double_history = !single;
    if (single) {
      arrays_.history = allocate<float>("history", {worlds, history, own.frame()});
    } else {
      arrays_.history = allocate<double>("history", {worlds, history, own.frame()});
    }
    arrays_.terms = allocate<double>("terms", {worlds, static_cast<py::ssize_t>(rewards.size())});
    arrays_.ends = allocate<bool>("ends", {worlds, static_cast<py::ssize_t>(ends.size())});
  }

  const py::dict& parts() const { return parts_; }

  /// Sets actions (worlds, actions) and the inputs that follow; returns the first world whose action is not
  /// finite, −1 if there is none and only then anything is set.
  py::ssize_t act(const RecordedWorlds& worlds, const Rows& actions) const {
    check(worlds);
    if (actions.size() != worlds_ * tables_.actions)
      throw std::invalid_argument("actions have another shape");
    const double* const given = actions.data();
    for (py::ssize_t k = 0; k < actions.size(); ++k) {
      if (!std::isfinite(given[k])) return k / tables_.actions;
    }
    for (py::ssize_t k = 0; k < worlds_; ++k) {
      engine::set_action(tables_, arrays_, k, given + k * tables_.actions, worlds.signals(k));
    }
    return -1;
  }

  /// Ends a control step of all worlds.
  py::tuple end_step(const RecordedWorlds& worlds, const std::optional<Rows>& readings, int threads) const {
    py::array_t<double> reward(worlds_);
    py::array_t<bool> terminated(worlds_), truncated(worlds_);
    const engine::Transition found = {
        reward.mutable_data(), terminated.mutable_data(), truncated.mutable_data()};
    const unsigned faults =
        each(worlds, nullptr, worlds_, readings, threads, [&](py::ssize_t world, bool lost) {
          ++arrays_.steps[world];
          return engine::end_step(tables_, arrays_, found, world, lost) |
                 engine::observe(tables_, arrays_, world, engine::FrameUse::follows, lost);
        });
    return py::make_tuple(reward, terminated, truncated, faults);
  }

  /// Observes some worlds again, or for the first time in an episode; returns faults.
  unsigned observe(const RecordedWorlds& worlds,
                   const Chosen& chosen,
                   const std::optional<Rows>& readings,
                   bool begins,
                   int threads) const {
    const auto use = begins ? engine::FrameUse::begins : engine::FrameUse::replaces;
    return each(worlds, chosen.data(), chosen.size(), readings, threads, [&](py::ssize_t world, bool lost) {
      return engine::observe(tables_, arrays_, world, use, lost);
    });
  }

 private:
  static std::vector<double> numbers(const Numbers& given) {
    return {given.data(), given.data() + given.size()};
  }
  static engine::NumberRange range_of(const Range& given) { return {std::get<0>(given), std::get<1>(given)}; }

  template <class Number>
  Number* allocate(const char* name, std::vector<py::ssize_t> shape) {
    const py::object zeros = py::module_::import("numpy").attr("zeros");
    py::array_t<Number> array = zeros(py::tuple(py::cast(shape)), py::dtype::of<Number>());
    parts_[name] = array;
    return array.mutable_data();
  }

  void check(const RecordedWorlds& worlds) const {
    if (worlds.count() != worlds_ || worlds.reading_count() != tables_.signals) {
      throw std::invalid_argument("worlds are not those of the tables");
    }
  }

  /// Takes the readings of worlds, or reads their signals, and calls f(world, lost); returns all faults.
  template <class F>
  unsigned each(const RecordedWorlds& worlds,
                const int* chosen,
                py::ssize_t count,
                const std::optional<Rows>& readings,
                int threads,
                const F& f) const {
    check(worlds);
    check_threads(threads);
    const py::ssize_t size = tables_.signals;
    if (readings && readings->size() != count * size)
      throw std::invalid_argument("readings have another shape");
    const double* const given = readings ? readings->data() : nullptr;
    for (py::ssize_t k = 0; k < count && chosen != nullptr; ++k) {
      if (chosen[k] < 0 || chosen[k] >= worlds_) throw std::invalid_argument("there is no such world");
    }
    std::atomic<unsigned> faults = 0;
    const ReleasedGil nogil;
    engine::parallel_for(count, block, threads, [&](py::ssize_t first, py::ssize_t last) {
      std::vector<double> rows(static_cast<std::size_t>(block * size));
      unsigned found = 0;
      for (py::ssize_t begin = first; begin < last; begin += block) {
        const py::ssize_t n = std::min(block, last - begin);
        if (given == nullptr) {
          worlds.read(chosen == nullptr ? nullptr : chosen + begin, begin, n, rows.data());
        }
        const double* const from = given == nullptr ? rows.data() : given + begin * size;
        for (py::ssize_t k = 0; k < n; ++k) {
          const py::ssize_t world = chosen == nullptr ? begin + k : chosen[begin + k];
          std::copy_n(from + k * size, size, arrays_.readings + world * size);
          found |= f(world, worlds.status()[world] != 0);
        }
      }
      faults |= found;
    });
    return faults;
  }

  static constexpr py::ssize_t block = 32;  ///< worlds whose signals are read at once

  py::ssize_t worlds_;
  engine::EnvironmentTables tables_ = {};
  engine::EnvironmentArrays arrays_ = {};
  py::dict parts_;
};

}  // namespace

void bind_environment(py::module_& m) {
  py::class_<Tables>(m, "EnvironmentTables", "Actions, ends, rewards and observations of worlds.")
      .def(py::init<py::ssize_t,
                    int,
                    const Numbers&,
                    const Numbers&,
                    std::pair<double, double>,
                    int,
                    const std::vector<End>&,
                    const std::vector<Reward>&,
                    const std::vector<Range>&,
                    const Numbers&,
                    const Numbers&,
                    double,
                    int,
                    std::int64_t,
                    bool>(),
           py::kw_only(),
           "worlds"_a,
           "signals"_a,
           "scale"_a,
           "offset"_a,
           "bounds"_a,
           "first_input"_a,
           "ends"_a,
           "rewards"_a,
           "observed"_a,
           "factors"_a,
           "deviations"_a,
           "limit"_a,
           "history"_a,
           "length"_a,
           "single"_a,
           "Places of numbers are (first, count) among a world's signals, its action and the change of that. "
           "ends "
           "are (numbers, below, above), rewards (numbers, kernel, weight, width), where a kernel \"end\" "
           "has the "
           "number of an end. single: whether observations are floats.")
      .def_property_readonly("parts", &Tables::parts, "Arrays by name, with one row a world.")
      .def("act",
           &Tables::act,
           "worlds"_a,
           "actions"_a,
           "Sets actions and their inputs; returns the first world whose action is not finite, or -1.")
      .def("end_step",
           &Tables::end_step,
           "worlds"_a,
           "readings"_a = py::none(),
           "threads"_a = 1,
           "Returns rewards, terminations and truncations (worlds,) of a control step, and faults: bit 0 NaN "
           "in an "
           "end, 1 a reward and 2 an observation that is not finite.")
      .def("observe",
           &Tables::observe,
           "worlds"_a,
           "chosen"_a,
           "readings"_a = py::none(),
           "begins"_a = false,
           "threads"_a = 1,
           "Observes worlds again, or at the begin of an episode; returns faults.");
}

}  // namespace pysim::bindings
