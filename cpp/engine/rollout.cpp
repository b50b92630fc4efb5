// Rollouts on the records of worlds.
#include "engine/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "engine/worlds.hpp"
#include "tree/model_copy.hpp"

namespace pysim::engine {

namespace {

using Models = std::vector<const tree::Model*>;
using Numbers = std::vector<std::ptrdiff_t>;  // of worlds

bool is_one(const Models& models) {
  return std::all_of(models.begin(), models.end(), [&](const tree::Model* m) { return m == models[0]; });
}

/// Worlds that can share packs. The bits of a world depend on whether its model is planar; convex steps need
/// one model.
std::vector<Numbers> groups_of(const Models& models, std::ptrdiff_t states, bool convex) {
  std::vector<Numbers> groups;
  if (is_one(models)) {
    groups.emplace_back(static_cast<std::size_t>(states));
    std::iota(groups[0].begin(), groups[0].end(), 0);
    return groups;
  }
  const auto go_together = [convex](const tree::Model& one, const tree::Model& other) {
    const auto a = one.view<double>(), b = other.view<double>();
    return convex ? &one == &other : a.planar_tree == b.planar_tree && a.planar_loops == b.planar_loops;
  };
  for (std::size_t k = 0; k < models.size(); ++k) {
    const auto fits = [&](const Numbers& group) {
      return go_together(*models[static_cast<std::size_t>(group[0])], *models[k]);
    };
    auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end()) group = groups.insert(group, Numbers{});
    group->push_back(static_cast<std::ptrdiff_t>(k));
  }
  return groups;
}

/// Numbers of a model, one after the other.
struct NumberValues {
  std::vector<double>& values;

  void begin(const char*, int) {}
  void operator()(double& to, const double& from) {
    to = from;
    values.push_back(from);
  }
};

/// Numbers in which the models of some worlds differ.
class DifferentNumbers {
 public:
  DifferentNumbers(const Models& models, const Numbers& worlds) {
    std::vector<double> all;  // (worlds, numbers)
    for (const std::ptrdiff_t world : worlds) {
      const auto view = models[static_cast<std::size_t>(world)]->view<double>();
      NumberValues numbers{all};
      tree::Workspace<double> w = {static_cast<double*>(tree::workspace_memory())};
      tree::ModelCopy<double, double, NumberValues>(w, numbers).of(view);
      varied_.joint_forces |= view.joint_forces;
      if (world == worlds[0]) all.reserve(all.size() * worlds.size());
    }
    const std::size_t count = all.size() / worlds.size();
    std::vector<char> differs(count);
    for (auto own = all.begin(); own != all.end(); own += static_cast<std::ptrdiff_t>(count)) {
      for (std::size_t i = 0; i < count; ++i) {
        if (std::memcmp(&own[static_cast<std::ptrdiff_t>(i)], &all[i], sizeof(double)) != 0) differs[i] = 1;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (differs[i] != 0) places_.push_back(static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t k = 0; k < worlds.size(); ++k) {
      for (const std::ptrdiff_t i : places_) values_.push_back(all[k * count + static_cast<std::size_t>(i)]);
    }
    varied_.count = static_cast<int>(places_.size());
    varied_.place = places_.data();
    varied_.values = values_.data();
  }

  /// Null where the models are equal.
  const tree::VariedNumbers* view() const { return varied_.count > 0 ? &varied_ : nullptr; }

 private:
  std::vector<std::ptrdiff_t> places_;
  std::vector<double> values_;
  tree::VariedNumbers varied_ = {};
};

/// Rows of some worlds of an array, in place where they are all of them.
template <class Real>
class ChosenRows {
 public:
  using Number = std::remove_const_t<Real>;

  ChosenRows(Real* rows, std::ptrdiff_t numbers, std::ptrdiff_t states, const Numbers& worlds)
      : rows_(rows), numbers_(numbers), worlds_(worlds) {
    if (rows == nullptr || static_cast<std::ptrdiff_t>(worlds.size()) == states) return;
    copies_.resize(worlds.size() * static_cast<std::size_t>(numbers));
    for (std::size_t k = 0; k < worlds.size(); ++k) std::copy_n(row(k), numbers, copy(k));
  }

  Real* data() { return copies_.empty() ? rows_ : copies_.data(); }

  void save() {
    for (std::size_t k = 0; k < worlds_.size() && !copies_.empty(); ++k)
      std::copy_n(copy(k), numbers_, row(k));
  }

 private:
  Real* row(std::size_t k) const { return rows_ + worlds_[k] * numbers_; }
  Number* copy(std::size_t k) { return copies_.data() + static_cast<std::ptrdiff_t>(k) * numbers_; }

  Real* rows_;
  std::ptrdiff_t numbers_;
  const Numbers& worlds_;
  std::vector<Number> copies_;
};

/// Rolls worlds out that share packs, all of the states or some.
template <class Real>
void roll_out_group(const Rollout& rollout,
                    const Numbers& group,
                    std::ptrdiff_t states,
                    const RolloutArrays<Real>& arrays,
                    const std::function<void()>& between) {
  const std::size_t first = rollout.models.size() == 1 ? 0 : static_cast<std::size_t>(group[0]);
  const tree::Model& model = *rollout.models[first];
  const auto count = static_cast<std::ptrdiff_t>(group.size());
  const int nq = model.nq(), nv = model.nv(), loop_nq = model.loop_nq();
  WorldScheme scheme = {rollout.is_convex() ? "convex" : rollout.integrator, rollout.step};
  scheme.spectral_radius = rollout.spectral_radius;
  scheme.has_signals = false;
  OwnedMemory memory;
  Worlds<Real> worlds(model,
                      rollout.is_convex() ? rollout.contacts[first] : nullptr,
                      count,
                      std::move(scheme),
                      {},
                      {},
                      memory.allocate());
  const auto& parts = worlds.parts();
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const std::ptrdiff_t world = group[static_cast<std::size_t>(k)];
    std::copy_n(arrays.q0 + world * nq, nq, parts.q + k * nq);
    std::copy_n(arrays.v0 + world * nv, nv, parts.v + k * nv);
    std::copy_n(arrays.loop_q + world * loop_nq, loop_nq, parts.loop_q + k * loop_nq);
  }
  ChosenRows<const Real> controls(arrays.controls, rollout.steps * nv, states, group);
  ChosenRows<Real> q(arrays.q, rollout.rows() * nq, states, group),
      v(arrays.v, rollout.rows() * nv, states, group);
  std::unique_ptr<DifferentNumbers> numbers;
  if (!is_one(rollout.models) && !rollout.is_convex()) {
    numbers = std::make_unique<DifferentNumbers>(rollout.models, group);
  }
  const std::vector<std::int64_t> goal(group.size(), rollout.steps);
  std::vector<std::int64_t> row(group.size(), 0);
  std::vector<stepping::WorldStop> stop(group.size());
  WorldBatch<Real> batch = {};
  batch.varied = numbers == nullptr ? nullptr : numbers->view();
  auto& call = batch.call;
  call.rows = rollout.rows();
  call.every = rollout.every;
  call.goal = goal.data();
  call.row = row.data();
  call.stop = stop.data();
  call.q_rows = q.data();
  call.v_rows = v.data();
  call.controls = controls.data();
  call.control_steps = rollout.steps;
  Allowance allowance;
  allowance.wall = 0.05;
  const auto is_unfinished = [](stepping::WorldStop why) { return why == stepping::WorldStop::unfinished; };
  do {
    worlds.advance(worlds.all(), batch, allowance, rollout.threads);
    between();
  } while (std::any_of(stop.begin(), stop.end(), is_unfinished));
  q.save();
  v.save();
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const double* const from = parts.loop_q + k * loop_nq;
    std::copy_n(from, loop_nq, arrays.loop_q + group[static_cast<std::size_t>(k)] * loop_nq);
  }
}

}  // namespace

bool Rollout::has_one_model() const {
  return is_one(models);
}

void check(const Rollout& rollout) {
  if (rollout.models.empty()) {
    throw std::invalid_argument("models must hold a model for every world, got none");
  }
  if (rollout.models[0]->callback_numbers() > 0) {
    throw std::invalid_argument("a model with callback joints is stepped from Python, by pysim.simulate");
  }
  if (!(rollout.step > 0) || !std::isfinite(rollout.step)) {
    throw std::invalid_argument("step must be positive [s], got " + std::to_string(rollout.step));
  }
  if (rollout.steps < 0) {
    throw std::invalid_argument("steps must be 0 or more, got " + std::to_string(rollout.steps));
  }
  if (rollout.every < 1 || rollout.steps % rollout.every != 0) {
    throw std::invalid_argument("every must divide the number of steps, " + std::to_string(rollout.steps) +
                                ", got " + std::to_string(rollout.every));
  }
}

template <class Real>
void roll_out(const Rollout& rollout,
              std::ptrdiff_t worlds,
              const RolloutArrays<Real>& arrays,
              const std::function<void()>& between) {
  for (const Numbers& group : groups_of(rollout.models, worlds, rollout.is_convex())) {
    if (!group.empty()) roll_out_group(rollout, group, worlds, arrays, between);
  }
}

template void roll_out<double>(const Rollout&,
                               std::ptrdiff_t,
                               const RolloutArrays<double>&,
                               const std::function<void()>&);
template void roll_out<float>(const Rollout&,
                              std::ptrdiff_t,
                              const RolloutArrays<float>&,
                              const std::function<void()>&);

}  // namespace pysim::engine
