// Tables of environments on the Python side; documented in pysim/environments/environment.py.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <tuple>

#include "bindings/fixed_shape_arrays.hpp"
#include "bindings/model_functions.hpp"
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
         double period,
         const Draw& displacement,
         const Draw& velocity,
         const std::vector<Change>& changes,
         const std::vector<Schedule>& schedules,
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
      const auto kind = static_cast<engine::RewardKernel>(place_of(kernel, kernel_names));
      own.rewards.push_back({range_of(x), kind, weight, width});
    }
    for (const auto& x : observed) add_range(range_of(x));
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
    arrays_.number = allocate<std::int64_t>("number", {worlds});
    arrays_.episode = allocate<std::int64_t>("episode", {worlds});
    arrays_.due = allocate<std::int64_t>("due", {worlds, count});
    arrays_.occurs = allocate<bool>("occurs", {worlds, count});
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
    check(worlds);
    check(chosen);
    const py::ssize_t count = chosen.size(), nv = worlds.nv();
    std::vector<double> dq(static_cast<std::size_t>(count * nv));
    for (py::ssize_t k = 0; k < count; ++k) {
      engine::start(tables_, arrays_, worlds, chosen.data()[k], dq.data() + k * nv);
    }
    if (!tables_.displacement.place.empty()) worlds.displace(chosen.data(), count, dq.data());
  }

  /// Ends a control step of all worlds; worlds that it changes are read again, unless readings are given.
  py::tuple end_step(const engine::RecordedWorlds& worlds,
                     const std::optional<Rows>& readings,
                     int threads) const {
    py::array_t<double> reward(worlds_);
    py::array_t<bool> terminated(worlds_), truncated(worlds_);
    const engine::Transition found = {
        reward.mutable_data(), terminated.mutable_data(), truncated.mutable_data()};
    std::vector<unsigned char> changes(static_cast<std::size_t>(worlds_));
    const auto end = [&](py::ssize_t world, bool lost, double* frame) {
      ++arrays_.steps[world];
      const unsigned faults = engine::end_step(tables_, arrays_, found, world, lost);
      changes[static_cast<std::size_t>(world)] = engine::change(tables_, arrays_, worlds, world, lost);
      return faults | engine::observe(tables_, arrays_, world, engine::FrameUse::follows, lost, frame);
    };
    unsigned faults = each(worlds, nullptr, worlds_, readings, threads, end);
    std::vector<int> changed;
    for (int k = 0; k < worlds_; ++k) {
      if (changes[static_cast<std::size_t>(k)] != 0) changed.push_back(k);
    }
    const Chosen again(static_cast<py::ssize_t>(changed.size()), changed.data());
    if (!readings && !changed.empty()) faults |= observe(worlds, again, {}, false, threads);
    return py::make_tuple(reward, terminated, truncated, again, faults);
  }

  /// Observes some worlds again, or for the first time in an episode; returns faults.
  unsigned observe(const engine::RecordedWorlds& worlds,
                   const Chosen& chosen,
                   const std::optional<Rows>& readings,
                   bool begins,
                   int threads) const {
    check(chosen);
    const auto use = begins ? engine::FrameUse::begins : engine::FrameUse::replaces;
    return each(worlds,
                chosen.data(),
                chosen.size(),
                readings,
                threads,
                [&](py::ssize_t world, bool lost, double* frame) {
                  return engine::observe(tables_, arrays_, world, use, lost, frame);
                });
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

  /// Takes the readings of worlds, or reads their signals, and calls f(world, lost, memory of a frame);
  /// returns all faults.
  template <class F>
  unsigned each(const engine::RecordedWorlds& worlds,
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
    const std::int64_t* const status = worlds.status();
    std::atomic<unsigned> faults = 0;
    const ReleasedGil nogil;
    engine::parallel_for(count, block, threads, [&](py::ssize_t first, py::ssize_t last) {
      std::vector<double> rows(static_cast<std::size_t>(chosen == nullptr ? 0 : block * size));
      std::vector<double> frame(static_cast<std::size_t>(tables_.frame()));
      unsigned found = 0;
      for (py::ssize_t begin = first; begin < last; begin += block) {
        const py::ssize_t n = std::min(block, last - begin);
        double* const all = arrays_.readings + begin * size;
        if (given != nullptr) {
          if (chosen == nullptr) std::copy_n(given + begin * size, n * size, all);
        } else if (chosen == nullptr) {
          worlds.read(nullptr, begin, n, all);
        } else {
          worlds.read(chosen + begin, 0, n, rows.data());
        }
        const double* const from = given == nullptr ? rows.data() : given + begin * size;
        for (py::ssize_t k = 0; k < n; ++k) {
          const py::ssize_t world = chosen == nullptr ? begin + k : chosen[begin + k];
          if (chosen != nullptr) std::copy_n(from + k * size, size, arrays_.readings + world * size);
          found |= f(world, status[world] != 0, frame.data());
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
  m.def("quantiles",
        &quantiles,
        "kind"_a,
        "arguments"_a,
        "u"_a,
        "Quantiles of a distribution at u, between 0 and 1.");
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
                    double,
                    const Draw&,
                    const Draw&,
                    const std::vector<Change>&,
                    const std::vector<Schedule>&,
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
           "period"_a,
           "displacement"_a,
           "velocity"_a,
           "changes"_a,
           "schedules"_a,
           "single"_a,
           "Places of numbers are (first, count) among a world's signals, its action and the change of that. "
           "ends "
           "are (numbers, below, above), rewards (numbers, kernel, weight, width), where a kernel \"end\" "
           "has the "
           "number of an end. What is drawn is (distributions, places, use), changes are (whether it pushes, "
           "what, schedule), schedules (control steps between, -1 for a time that is drawn, that, use). "
           "single: "
           "whether observations are floats.")
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
           "commands and "
           "pushes have changed after it, which have to be observed again if readings are given, and faults: "
           "bit 0 "
           "NaN in an end, 1 a reward and 2 an observation that is not finite.")
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
