// Tables of environments on the Python side; documented in pysim/environments/environment.py.
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/model_functions.hpp"
#include "bindings/released_gil.hpp"
#include "engine/environment_steps.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Rows = PlainArray<double, py::array::forcecast>;
using Chosen = PlainArray<int, py::array::forcecast>;
using Range = std::tuple<int, int>;                             // first, count
using End = std::tuple<Range, double, double>;                  // numbers, below, above
using Reward = std::tuple<Range, std::string, double, double>;  // numbers, kernel, weight, width
using Kind = std::pair<std::string, std::vector<double>>;       // of a distribution, and its arguments
using Draw = std::tuple<std::vector<Kind>, std::vector<int>, std::uint64_t>;  // distributions, places, use
using Schedule = std::tuple<std::int64_t, Kind, std::uint64_t>;               // every, time, use
using Change = std::tuple<bool, Draw, int>;                                   // pushes, what, schedule

constexpr const char* kernel_names[] = {"value", "absolute_sum", "square_sum", "exponential", "end"};

/// The place of a name in a list of names.
template <std::size_t n>
int place_of(const std::string& name, const char* const (&names)[n]) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw std::invalid_argument("there is no '" + name + "'");
  return static_cast<int>(found - names);
}

engine::Distribution distribution_of(const Kind& given) {
  engine::Distribution own = {
      static_cast<engine::DistributionKind>(place_of(given.first, engine::distribution_names)), {}};
  if (given.second.size() > 3) throw std::invalid_argument("a distribution has three arguments at most");
  std::copy(given.second.begin(), given.second.end(), own.argument);
  return own;
}

engine::DrawTable draw_of(const Draw& given) {
  engine::DrawTable own = {};
  for (const Kind& kind : std::get<0>(given)) own.distribution.push_back(distribution_of(kind));
  own.place = std::get<1>(given);
  own.use = std::get<2>(given);
  if (own.place.size() != own.distribution.size()) throw std::invalid_argument("places are not as many");
  return own;
}

/// Quantiles of a distribution at u, in the same shape.
py::array_t<double> quantiles(const std::string& kind,
                              const std::vector<double>& arguments,
                              const Numbers& u) {
  const engine::Distribution own = distribution_of({kind, arguments});
  py::array_t<double> found(std::vector<py::ssize_t>(u.shape(), u.shape() + u.ndim()));
  std::transform(u.data(), u.data() + u.size(), found.mutable_data(), [&](double x) {
    return engine::quantile(own, x);
  });
  return found;
}

class Tables {
 public:
  static Tables make(py::ssize_t worlds,
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
                     double period,
                     const Draw& displacement,
                     const Draw& velocity,
                     const std::vector<Change>& changes,
                     const std::vector<Schedule>& schedules,
                     bool single) {
    Tables made;
    made.worlds_ = worlds;
    auto& own = made.tables_;
    own.signals = signals;
    own.actions = static_cast<int>(scale.size());
    std::tie(own.lowest, own.highest) = bounds;
    own.scale = numbers(scale);
    own.offset = numbers(offset);
    own.first_input = first_input;
    for (const auto& [x, below, above] : ends) own.ends.push_back({range_of(x), below, above});
    for (const auto& [x, kernel, weight, width] : rewards) {
      const auto kind = static_cast<engine::RewardKernel>(place_of(kernel, kernel_names));
      own.rewards.push_back({range_of(x), kind, weight, width});
    }
    for (const auto& x : observed) made.add_range(range_of(x));
    own.factor = numbers(factors);
    own.deviation = numbers(deviations);
    for (int k = 0; k < own.frame(); ++k) {
      if (own.deviation[static_cast<std::size_t>(k)] != 0) own.noisy.push_back(k);
    }
    own.limit = limit;
    own.history = history;
    own.length = length;
    own.period = period;
    own.displacement = draw_of(displacement);
    own.velocity = draw_of(velocity);
    for (const auto& [pushes, drawn, schedule] : changes) {
      own.changes.push_back({pushes, draw_of(drawn), schedule});
    }
    for (const auto& [every, time, use] : schedules) {
      own.schedules.push_back({every, distribution_of(time), use});
    }
    const auto count = static_cast<py::ssize_t>(schedules.size());
    made.arrays_.number = made.allocate<std::int64_t>("number", {worlds});
    made.arrays_.episode = made.allocate<std::int64_t>("episode", {worlds});
    made.arrays_.due = made.allocate<std::int64_t>("due", {worlds, count});
    made.arrays_.occurs = made.allocate<bool>("occurs", {worlds, count});
    made.arrays_.steps = made.allocate<std::int64_t>("steps", {worlds});
    made.arrays_.key = made.allocate<double>("key", {worlds});
    made.arrays_.action = made.allocate<double>("action", {worlds, own.actions});
    made.arrays_.action_rate = made.allocate<double>("action_rate", {worlds, own.actions});
    made.arrays_.readings = made.allocate<double>("readings", {worlds, signals});
    made.arrays_.has_double_history = !single;
    if (single) {
      made.arrays_.history = made.allocate<float>("history", {worlds, history, own.frame()});
    } else {
      made.arrays_.history = made.allocate<double>("history", {worlds, history, own.frame()});
    }
    made.arrays_.terms = made.allocate<double>("terms", {worlds, static_cast<py::ssize_t>(rewards.size())});
    made.arrays_.ends = made.allocate<bool>("ends", {worlds, static_cast<py::ssize_t>(ends.size())});
    return made;
  }

  const py::dict& parts() const { return parts_; }

  /// Sets actions (worlds, actions) and the inputs that follow; returns the first world whose action is not
  /// finite, −1 if there is none and only then anything is set.
  py::ssize_t act(const engine::RecordedWorlds& worlds, const Rows& actions) const {
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

  /// Begins episodes of worlds.
  void begin(const Chosen& chosen, double seed) const {
    check(chosen);
    for (py::ssize_t k = 0; k < chosen.size(); ++k) engine::begin_episode(arrays_, chosen.data()[k], seed);
  }

  /// Draws what worlds start with that have begun.
  void start(const engine::RecordedWorlds& worlds, const Chosen& chosen) const {
    check(chosen);
    engine::start_episodes(with(worlds), chosen.data(), chosen.size());
  }

  /// Ends a control step of all worlds; worlds that it changes are read again, unless readings are given.
  py::tuple end_step(const engine::RecordedWorlds& worlds,
                     const std::optional<Rows>& readings,
                     int threads) const {
    const engine::EnvironmentWorlds all = with(worlds);
    check_threads(threads);
    const double* const rows = given(readings, worlds_);
    py::array_t<double> reward(worlds_);
    py::array_t<bool> terminated(worlds_), truncated(worlds_);
    const engine::Transition found = {
        reward.mutable_data(), terminated.mutable_data(), truncated.mutable_data()};
    std::vector<int> changed;
    unsigned faults = 0;
    without_gil([&] { faults = engine::end_steps(all, found, rows, threads, changed); });
    const Chosen again(static_cast<py::ssize_t>(changed.size()), changed.data());
    return py::make_tuple(reward, terminated, truncated, again, faults);
  }

  /// Observes some worlds again, or for the first time in an episode; returns faults.
  unsigned observe(const engine::RecordedWorlds& worlds,
                   const Chosen& chosen,
                   const std::optional<Rows>& readings,
                   bool begins,
                   int threads) const {
    check(chosen);
    check_threads(threads);
    const engine::EnvironmentWorlds all = with(worlds);
    const double* const rows = given(readings, chosen.size());
    const ReleasedGil nogil;
    return engine::observe_worlds(all, chosen.data(), chosen.size(), rows, begins, threads);
  }

 private:
  static std::vector<double> numbers(const Numbers& given) {
    return {given.data(), given.data() + given.size()};
  }
  static engine::NumberRange range_of(const Range& given) { return {std::get<0>(given), std::get<1>(given)}; }

  /// Adds numbers that are observed, to the range before if they follow it within the signals.
  void add_range(const engine::NumberRange& x) {
    auto& ranges = tables_.observed;
    const bool follows = !ranges.empty() && ranges.back().first + ranges.back().count == x.first &&
                         x.first + x.count <= tables_.signals;
    if (follows) {
      ranges.back().count += x.count;
    } else {
      ranges.push_back(x);
    }
  }

  template <class Number>
  Number* allocate(const char* name, std::vector<py::ssize_t> shape) {
    const py::object zeros = py::module_::import("numpy").attr("zeros");
    py::array_t<Number> array = zeros(py::tuple(py::cast(shape)), py::dtype::of<Number>());
    parts_[name] = array;
    return array.mutable_data();
  }

  void check(const engine::RecordedWorlds& worlds) const {
    if (worlds.count() != worlds_ || worlds.reading_count() != tables_.signals) {
      throw std::invalid_argument("worlds are not those of the tables");
    }
  }

  void check(const Chosen& chosen) const {
    for (py::ssize_t k = 0; k < chosen.size(); ++k) {
      if (chosen.data()[k] < 0 || chosen.data()[k] >= worlds_)
        throw std::invalid_argument("there is no such world");
    }
  }

  engine::EnvironmentWorlds with(const engine::RecordedWorlds& worlds) const {
    check(worlds);
    return {tables_, arrays_, worlds};
  }

  /// Readings of worlds that Python has computed; null to read the signals.
  const double* given(const std::optional<Rows>& readings, py::ssize_t worlds) const {
    if (!readings) return nullptr;
    if (readings->size() == worlds * tables_.signals) return readings->data();
    throw std::invalid_argument("readings have another shape");
  }

  py::ssize_t worlds_ = 0;
  engine::EnvironmentTables tables_ = {};
  engine::EnvironmentArrays arrays_ = {};
  py::dict parts_;
};

}  // namespace

void bind_environment(py::module_& m) {
  m.def("quantiles",
        &quantiles,
        "kind"_a,
        "arguments"_a,
        "u"_a,
        "Quantiles of a distribution at u, between 0 and 1.");
  py::class_<Tables>(m, "EnvironmentTables", "Actions, ends, rewards and observations of worlds.")
      .def(py::init(&Tables::make),
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
           "period"_a,
           "displacement"_a,
           "velocity"_a,
           "changes"_a,
           "schedules"_a,
           "single"_a,
           "Places of numbers are (first, count) among a world's signals, its action and the change of that. "
           "ends are (numbers, below, above), rewards (numbers, kernel, weight, width), where a kernel "
           "\"end\" has the number of an end. What is drawn is (distributions, places, use), changes are "
           "(whether it pushes, what, schedule), schedules (control steps between, -1 for a time that is "
           "drawn, that, use). single: whether observations are floats.")
      .def_property_readonly("parts", &Tables::parts, "Arrays by name, with one row a world.")
      .def("act",
           &Tables::act,
           "worlds"_a,
           "actions"_a,
           "Sets actions and their inputs; returns the first world whose action is not finite, or -1.")
      .def("begin", &Tables::begin, "chosen"_a, "seed"_a, "Begins episodes of worlds: their keys.")
      .def("start", &Tables::start, "worlds"_a, "chosen"_a, "Draws what worlds start with that have begun.")
      .def("end_step",
           &Tables::end_step,
           "worlds"_a,
           "readings"_a = py::none(),
           "threads"_a = 1,
           "Returns rewards, terminations and truncations (worlds,) of a control step, the worlds that "
           "commands and pushes have changed after it, which have to be observed again if readings are "
           "given, and faults: bit 0 NaN in an end, 1 a reward and 2 an observation that is not finite.")
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
