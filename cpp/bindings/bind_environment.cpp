// Tables of environments on the Python side; documented in pysim/environments/environment.py.
#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/model_functions.hpp"
#include "bindings/released_gil.hpp"
#include "engine/environment_steps.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using Rows = PlainArray<double, py::array::forcecast>;
using Chosen = PlainArray<int, py::array::forcecast>;
/// The field of a name in a record of pysim/environments/plan.py.
template <class T>
T field(const py::handle& record, const char* name) {
  return py::cast<T>(record.attr(name));
}

engine::Distribution distribution_of(const std::string& kind, const std::vector<double>& arguments) {
  const auto& names = engine::distribution_names;
  const auto* const name = std::find(std::begin(names), std::end(names), kind);
  if (name == std::end(names)) throw std::invalid_argument("there is no '" + kind + "'");
  engine::Distribution distribution = {static_cast<engine::DistributionKind>(name - names), {}};
  if (arguments.size() > 3) throw std::invalid_argument("a distribution has three arguments at most");
  std::copy(arguments.begin(), arguments.end(), distribution.argument);
  return distribution;
}

engine::Distribution distribution_of(const py::handle& record) {
  return distribution_of(field<std::string>(record, "kind"), field<std::vector<double>>(record, "arguments"));
}

engine::DrawTable draw_of(const py::handle& record) {
  engine::DrawTable table = {};
  for (const py::handle x : record.attr("distributions")) table.distribution.push_back(distribution_of(x));
  table.place = field<std::vector<int>>(record, "places");
  table.use = field<std::uint64_t>(record, "use");
  if (table.place.size() != table.distribution.size()) throw std::invalid_argument("places are not as many");
  return table;
}

engine::NumberRange range_of(const py::handle& record) {
  return {field<int>(record, "first"), field<int>(record, "count")};
}

/// Quantiles of a distribution at u, in the same shape.
py::array_t<double> quantiles(const std::string& kind,
                              const std::vector<double>& arguments,
                              const Numbers& u) {
  const engine::Distribution distribution = distribution_of(kind, arguments);
  py::array_t<double> values(std::vector<py::ssize_t>(u.shape(), u.shape() + u.ndim()));
  std::transform(u.data(), u.data() + u.size(), values.mutable_data(), [&](double x) {
    return engine::quantile(distribution, x);
  });
  return values;
}

class Tables {
 public:
  static Tables make(const py::object& plan, py::ssize_t worlds, bool single) {
    Tables tables;
    tables.worlds_ = worlds;
    auto& table = tables.tables_;
    table.signals = field<int>(plan, "signals");
    table.scale = field<std::vector<double>>(plan, "scale");
    table.offset = field<std::vector<double>>(plan, "offset");
    table.actions = static_cast<int>(table.scale.size());
    table.lowest = field<double>(plan, "lowest");
    table.highest = field<double>(plan, "highest");
    table.first_input = field<int>(plan, "first_input");
    for (const py::handle end : plan.attr("ends")) {
      table.ends.push_back(
          {range_of(end.attr("x")), field<double>(end, "below"), field<double>(end, "above")});
    }
    for (const py::handle reward : plan.attr("rewards")) {
      table.rewards.push_back({range_of(reward.attr("x")),
                               engine::reward_kernel(field<std::string>(reward, "kernel")),
                               field<int>(reward, "end"),
                               field<double>(reward, "weight"),
                               field<double>(reward, "width")});
    }
    for (const py::handle seen : plan.attr("observed")) tables.add_range(range_of(seen.attr("x")));
    table.factor = field<std::vector<double>>(plan, "factors");
    table.deviation = field<std::vector<double>>(plan, "deviations");
    for (int k = 0; k < table.frame(); ++k) {
      if (table.deviation[static_cast<std::size_t>(k)] != 0) table.noisy.push_back(k);
    }
    table.limit = field<double>(plan, "limit");
    table.history = field<int>(plan, "history");
    table.length = field<std::int64_t>(plan, "length");
    table.period = field<double>(plan, "period");
    table.displacement = draw_of(plan.attr("displacement"));
    table.velocity = draw_of(plan.attr("velocity"));
    for (const py::handle change : plan.attr("changes")) {
      table.changes.push_back(
          {field<bool>(change, "pushes"), draw_of(change.attr("drawn")), field<int>(change, "schedule")});
    }
    for (const py::handle schedule : plan.attr("schedules")) {
      table.schedules.push_back({field<std::int64_t>(schedule, "every"),
                                 distribution_of(schedule.attr("time")),
                                 field<std::uint64_t>(schedule, "use")});
    }
    const auto count = static_cast<py::ssize_t>(table.schedules.size());
    tables.arrays_.number = tables.allocate<std::int64_t>("number", {worlds});
    tables.arrays_.episode = tables.allocate<std::int64_t>("episode", {worlds});
    tables.arrays_.due = tables.allocate<std::int64_t>("due", {worlds, count});
    tables.arrays_.occurs = tables.allocate<bool>("occurs", {worlds, count});
    tables.arrays_.steps = tables.allocate<std::int64_t>("steps", {worlds});
    tables.arrays_.key = tables.allocate<double>("key", {worlds});
    tables.arrays_.action = tables.allocate<double>("action", {worlds, table.actions});
    tables.arrays_.action_rate = tables.allocate<double>("action_rate", {worlds, table.actions});
    tables.arrays_.readings = tables.allocate<double>("readings", {worlds, table.signals});
    tables.arrays_.has_double_history = !single;
    if (single) {
      tables.arrays_.history = tables.allocate<float>("history", {worlds, table.history, table.frame()});
    } else {
      tables.arrays_.history = tables.allocate<double>("history", {worlds, table.history, table.frame()});
    }
    tables.arrays_.terms =
        tables.allocate<double>("terms", {worlds, static_cast<py::ssize_t>(table.rewards.size())});
    tables.arrays_.ends =
        tables.allocate<bool>("ends", {worlds, static_cast<py::ssize_t>(table.ends.size())});
    return tables;
  }

  const py::dict& parts() const { return parts_; }

  /// Sets actions (worlds, actions) and the inputs that follow; returns the first world whose action is not
  /// finite, −1 if there is none and only then anything is set.
  py::ssize_t act(const engine::RecordedWorlds& worlds, const Rows& actions) const {
    check(worlds);
    if (actions.size() != worlds_ * tables_.actions)
      throw std::invalid_argument("actions have another shape");
    const double* const action = actions.data();
    for (py::ssize_t k = 0; k < actions.size(); ++k) {
      if (!std::isfinite(action[k])) return k / tables_.actions;
    }
    for (py::ssize_t k = 0; k < worlds_; ++k) {
      engine::set_action(tables_, arrays_, k, action + k * tables_.actions, worlds.signals(k));
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
    const double* const rows = checked(readings, worlds_);
    py::array_t<double> reward(worlds_);
    py::array_t<bool> terminated(worlds_), truncated(worlds_);
    const engine::Transition transition = {
        reward.mutable_data(), terminated.mutable_data(), truncated.mutable_data()};
    std::vector<int> changed;
    unsigned faults = 0;
    without_gil([&] { faults = engine::end_steps(all, transition, rows, threads, changed); });
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
    const double* const rows = checked(readings, chosen.size());
    const ReleasedGil nogil;
    return engine::observe_worlds(all, chosen.data(), chosen.size(), rows, begins, threads);
  }

 private:
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
  const double* checked(const std::optional<Rows>& readings, py::ssize_t worlds) const {
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
      .def(
          py::init(&Tables::make),
          "plan"_a,
          "worlds"_a,
          "single"_a,
          "plan: a pysim.environments.plan.Plan, whose fields are read by name. single: whether observations "
          "are floats.")
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
