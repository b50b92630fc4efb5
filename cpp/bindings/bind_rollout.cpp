// Rollouts of models; documented in pysim/simulation/rollouts.py.
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "bindings/model_functions.hpp"
#include "bindings/stepping_arguments.hpp"
#include "engine/integrators.hpp"
#include "engine/world_numbers.hpp"
#include "engine/world_operations.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

using engine::checked_radius;
using engine::integrator_named;
using engine::ModelContacts;
using engine::world_sizes;

namespace {

/// One model for all worlds, or one for each; alike, see Model::structure_difference.
using Models = std::vector<const Model*>;
using Worlds = std::vector<std::ptrdiff_t>;

bool is_one(const Models& models) {
  return std::all_of(models.begin(), models.end(), [&](const Model* m) { return m == models[0]; });
}

/// Arguments other than the arrays.
struct Plan {
  std::vector<const ModelContacts*> contacts;  ///< of every model, under convex steps; none under others
  double step;
  py::ssize_t steps, every;
  engine::Integrator integrator;
  double spectral_radius;
  int threads;

  bool is_convex() const { return !contacts.empty(); }
  py::ssize_t rows() const { return 1 + steps / every; }
};

void check(const Models& models, const Plan& plan) {
  if (models.empty()) throw std::invalid_argument("models must hold a model for every world, got none");
  const Model& model = *models[0];
  if (model.callback_numbers() > 0) {
    throw std::invalid_argument("a model with callback joints is stepped from Python, by pysim.simulate");
  }
  if (!(plan.step > 0) || !std::isfinite(plan.step))
    throw std::invalid_argument("step must be positive [s], got " + std::to_string(plan.step));
  if (plan.steps < 0)
    throw std::invalid_argument("steps must be 0 or more, got " + std::to_string(plan.steps));
  if (plan.every < 1 || plan.steps % plan.every != 0) {
    throw std::invalid_argument("every must divide the number of steps, " + std::to_string(plan.steps) +
                                ", got " + std::to_string(plan.every));
  }
  check_threads(plan.threads);
}

void check_count(const Models& models, const Leading& leading) {
  if (static_cast<std::ptrdiff_t>(models.size()) == leading.states) return;
  throw std::invalid_argument("there are " + std::to_string(models.size()) + " models for " +
                              std::to_string(leading.states) +
                              " worlds; pass one model for all, or a list with one for each");
}

/// Initial coordinates of the joints that close loops, world after world.
template <class Real>
std::vector<Real> loop_starts(const Models& models) {
  std::vector<Real> rows;
  for (const Model* model : models) {
    for (const double x : model->loop_start()) rows.push_back(static_cast<Real>(x));
  }
  return rows;
}

/// Worlds that can share packs. The bits of a world depend on whether its model is planar; convex steps need
/// one model.
std::vector<Worlds> groups_of(const Models& models, std::ptrdiff_t states, bool convex) {
  std::vector<Worlds> groups;
  if (is_one(models)) {
    groups.emplace_back(static_cast<std::size_t>(states));
    std::iota(groups[0].begin(), groups[0].end(), 0);
    return groups;
  }
  const auto go_together = [convex](const Model& one, const Model& other) {
    const auto a = one.view<double>(), b = other.view<double>();
    return convex ? &one == &other : a.planar_tree == b.planar_tree && a.planar_loops == b.planar_loops;
  };
  for (std::size_t k = 0; k < models.size(); ++k) {
    const auto fits = [&](const Worlds& group) {
      return go_together(*models[static_cast<std::size_t>(group[0])], *models[k]);
    };
    auto group = std::find_if(groups.begin(), groups.end(), fits);
    if (group == groups.end()) group = groups.insert(group, Worlds{});
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
  DifferentNumbers(const Models& models, const Worlds& worlds) {
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

/// Records of worlds as long as a rollout.
template <class Real>
class RolloutRecords {
 public:
  RolloutRecords(const stepping::WorldSizes& sizes, std::ptrdiff_t count) : count_(count) {
    parts_.sizes = sizes;
    parts_.visit(*this);
    (*this)("report", parts_.report, sizes.points* contact::ContactReport::numbers);
  }

  stepping::WorldArrays<Real>& parts() { return parts_; }

  /// Zeros for a part; memory is taken where it is written.
  template <class Number>
  void operator()(const char*, Number*& part, int numbers) {
    const auto size = static_cast<std::size_t>(count_ * numbers);
    blocks_.emplace_back(std::calloc(size + 1, sizeof(Number)), &std::free);
    if (blocks_.back() == nullptr) throw std::bad_alloc();
    part = static_cast<Number*>(blocks_.back().get());
  }

  void list(const char* name, double*& part, int numbers, const std::int64_t*, int) {
    (*this)(name, part, numbers);
  }

 private:
  std::ptrdiff_t count_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
  stepping::WorldArrays<Real> parts_ = {};
};

/// Arrays of a rollout, a row a world.
template <class Real>
struct RolloutArrays {
  const Real *q0, *v0, *controls;
  Real *loop_q, *q, *v;
};

/// Rows of some worlds of an array, in place where they are all of them.
template <class Real>
class ChosenRows {
 public:
  using Number = std::remove_const_t<Real>;

  ChosenRows(Real* rows, std::ptrdiff_t numbers, std::ptrdiff_t states, const Worlds& worlds)
      : rows_(rows), numbers_(numbers), worlds_(worlds) {
    if (rows == nullptr || static_cast<std::ptrdiff_t>(worlds.size()) == states) return;
    own_.resize(worlds.size() * static_cast<std::size_t>(numbers));
    for (std::size_t k = 0; k < worlds.size(); ++k) std::copy_n(row(k), numbers, own(k));
  }

  Real* data() { return own_.empty() ? rows_ : own_.data(); }

  void save() {
    for (std::size_t k = 0; k < worlds_.size() && !own_.empty(); ++k) std::copy_n(own(k), numbers_, row(k));
  }

 private:
  Real* row(std::size_t k) const { return rows_ + worlds_[k] * numbers_; }
  Number* own(std::size_t k) { return own_.data() + static_cast<std::ptrdiff_t>(k) * numbers_; }

  Real* rows_;
  std::ptrdiff_t numbers_;
  const Worlds& worlds_;
  std::vector<Number> own_;
};

/// Advances worlds in pieces of about a twentieth of a second, so that Ctrl-C is handled. The pieces do not
/// change the bits of the result.
template <class Real>
void advance_in_pieces(const Model& model, engine::WorldBatch<Real>& batch, const Plan& plan) {
  using Clock = std::chrono::steady_clock;
  constexpr double wanted = 0.05;        // [s]
  constexpr std::ptrdiff_t few = 32768;  // steps of worlds of one body: explicit ones take no longer
  std::ptrdiff_t piece = std::max(std::ptrdiff_t{1}, few / (batch.states * model.nbodies() + 1));
  const auto goes_on = [&] {
    return std::any_of(batch.call.stop, batch.call.stop + batch.states, [](stepping::WorldStop why) {
      return why == stepping::WorldStop::unfinished;
    });
  };
  do {
    batch.call.most = piece;
    const auto start = Clock::now();
    {
      const ReleasedGil nogil;
      engine::run_worlds(model, batch, plan.is_convex(), plan.threads);
    }
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    const double factor = std::clamp(wanted / std::max(took, 1e-9), 0.5, 16.0);
    piece = std::max(std::ptrdiff_t{1}, static_cast<std::ptrdiff_t>(factor * static_cast<double>(piece)));
  } while (goes_on());
}

/// Rolls worlds out, all of the states or some, which share packs.
template <class Real>
void roll_out(const Models& models,
              const Worlds& worlds,
              std::ptrdiff_t states,
              const RolloutArrays<Real>& arrays,
              const Plan& plan) {
  const std::size_t first = models.size() == 1 ? 0 : static_cast<std::size_t>(worlds[0]);
  const Model& model = *models[first];
  const ModelContacts* const contacts = plan.is_convex() ? plan.contacts[first] : nullptr;
  const auto count = static_cast<std::ptrdiff_t>(worlds.size());
  const int nq = model.nq(), nv = model.nv(), loop_nq = model.loop_nq();
  RolloutRecords<Real> records(world_sizes(model, contacts, &plan.integrator), count);
  auto& parts = records.parts();
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const std::ptrdiff_t world = worlds[static_cast<std::size_t>(k)];
    std::copy_n(arrays.q0 + world * nq, nq, parts.q + k * nq);
    std::copy_n(arrays.v0 + world * nv, nv, parts.v + k * nv);
    std::copy_n(arrays.loop_q + world * loop_nq, loop_nq, parts.loop_q + k * loop_nq);
  }
  ChosenRows<const Real> controls(arrays.controls, plan.steps * nv, states, worlds);
  ChosenRows<Real> q(arrays.q, plan.rows() * nq, states, worlds),
      v(arrays.v, plan.rows() * nv, states, worlds);
  std::unique_ptr<DifferentNumbers> numbers;
  if (!is_one(models) && !plan.is_convex()) numbers = std::make_unique<DifferentNumbers>(models, worlds);

  const std::vector<double> zeros(static_cast<std::size_t>(nv), 0.0);
  const stepping::Actuation none = {zeros.data(), zeros.data(), zeros.data(), zeros.data()};
  const std::vector<std::int64_t> goal(worlds.size(), plan.steps);
  std::vector<std::int64_t> row(worlds.size(), 0);
  std::vector<stepping::WorldStop> stop(worlds.size());
  engine::WorldBatch<Real> batch = {};
  batch.states = count;
  batch.actuation = &none;
  batch.integrator = plan.integrator;
  batch.spectral_radius = plan.spectral_radius;
  batch.varied = numbers == nullptr ? nullptr : numbers->view();
  if constexpr (sizeof(Real) == 8) {
    if (contacts != nullptr) batch.contacts.contacts = contacts->view();
    batch.contacts.passes = 2;
  }
  auto& call = batch.call;
  call.worlds = parts;
  call.worlds.signals = nullptr;
  call.longest = plan.step;
  call.rows = plan.rows();
  call.every = plan.every;
  call.goal = goal.data();
  call.row = row.data();
  call.stop = stop.data();
  call.q_rows = q.data();
  call.v_rows = v.data();
  call.controls = controls.data();
  call.control_steps = plan.steps;
  advance_in_pieces(model, batch, plan);
  q.save();
  v.save();
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const double* const from = parts.loop_q + k * loop_nq;
    std::copy_n(from, loop_nq, arrays.loop_q + worlds[static_cast<std::size_t>(k)] * loop_nq);
  }
}

template <class Real>
py::tuple rollout(const Models& models,
                  py::handle q0,
                  py::handle v0,
                  py::handle controls,
                  const Plan& plan,
                  py::handle loop_q,
                  py::handle out_q,
                  py::handle out_v) {
  check(models, plan);
  const Model& model = *models[0];
  Call<Real> call(model, q0, "q0");
  call.set_v(v0, "v0");
  const std::ptrdiff_t states = call.leading().states;
  if (models.size() > 1) check_count(models, call.leading());
  if (is_given(controls)) call.set_x(controls, "controls", Shape{plan.steps, model.nv()});
  const py::array q = call.output(out_q, {plan.rows(), model.nq()}, "out[0]");
  const py::array v = call.output(out_v, {plan.rows(), model.nv()}, "out[1]");
  LoopCoordinates<Real> phi(loop_q, is_one(models) ? call.loop_start() : loop_starts<Real>(models));
  const auto& batch = call.batch();
  const RolloutArrays<Real> arrays = {
      batch.q, batch.v, batch.x, phi.data(), numbers<Real>(q), numbers<Real>(v)};
  for (const Worlds& worlds : groups_of(models, states, plan.is_convex())) {
    if (!worlds.empty()) roll_out(models, worlds, states, arrays, plan);
  }
  return py::make_tuple(q, v);
}

}  // namespace

void bind_rollout(py::module_& m) {
  m.def(
      "rollout",
      [](const Models& models,
         const std::vector<const ModelContacts*>& contacts,
         py::handle q0,
         py::handle v0,
         py::handle controls,
         double step,
         py::ssize_t steps,
         py::ssize_t every,
         const std::string& integrator,
         double spectral_radius,
         int threads,
         py::handle loop_q,
         py::handle out_q,
         py::handle out_v) {
        const Plan plan = {
            contacts,
            step,
            steps,
            every,
            contacts.empty() ? integrator_named(integrator) : engine::Integrator::semi_implicit,
            checked_radius(spectral_radius),
            threads};
        return is_single(q0) ? rollout<float>(models, q0, v0, controls, plan, loop_q, out_q, out_v)
                             : rollout<double>(models, q0, v0, controls, plan, loop_q, out_q, out_v);
      },
      "models"_a,
      "contacts"_a,
      "q0"_a,
      "v0"_a,
      "controls"_a,
      "step"_a,
      "steps"_a,
      "every"_a,
      "integrator"_a,
      "spectral_radius"_a,
      "threads"_a,
      "loop_q"_a,
      "out_q"_a,
      "out_v"_a);
}

}  // namespace pysim::bindings
