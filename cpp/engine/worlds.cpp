// Worlds of one scene: their records begin, are saved, loaded and advanced.
//
// The file is long because it is all that one class does; what can be read without the class lies beside it
// (record_memory.hpp, written_states.hpp, call_pieces.hpp, caller_steps.hpp, watched_steps.hpp).
#include "engine/worlds.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/caller_steps.hpp"
#include "engine/contact_dispatch.hpp"
#include "engine/dispatch.hpp"
#include "engine/integrators.hpp"
#include "engine/threads.hpp"
#include "engine/varied_readings.hpp"
#include "engine/watched_steps.hpp"
#include "engine/world_numbers.hpp"
#include "stepping/adaptive_state.hpp"

namespace pysim::engine {

namespace {

/// The finest tolerance of the solver, relative to the largest impulse, that floats meet.
constexpr float finest_of_floats = 1e-5F;

constexpr const char* adaptive = "dopri5";

}  // namespace

template <class Real>
Worlds<Real>::Worlds(const tree::Model& model,
                     const ModelContacts* contacts,
                     std::ptrdiff_t count,
                     WorldScheme scheme,
                     WorldBlocks blocks,
                     CallerStep caller_step,
                     const Allocate& allocate,
                     int caller_numbers)
    : model_(&model),
      contacts_(contacts),
      scheme_(std::move(scheme)),
      blocks_(std::move(blocks)),
      count_(count),
      caller_step_(std::move(caller_step)),
      is_convex_(!caller_step_ && scheme_.integrator == "convex"),
      is_adaptive_(!caller_step_ && scheme_.integrator == adaptive),
      zeros_(static_cast<std::size_t>(model.nv()), 0.0),
      actuation_({zeros_.data(), zeros_.data(), zeros_.data(), zeros_.data()}),
      smooth_(std::make_unique<SmoothLaw>(is_convex_ || is_single || caller_step_ ? nullptr : contacts)),
      float_contacts_(is_single ? contacts : nullptr) {
  if (count < 1) throw std::invalid_argument("count must be 1 or more, got " + std::to_string(count));
  check_scheme();
  if (!is_convex_ && !is_adaptive_ && !caller_step_) integrator_ = integrator_named(scheme_.integrator);
  auto& n = parts_.sizes;
  n = world_sizes(
      model, is_convex_ ? contacts : nullptr, caller_step_ || is_adaptive_ ? nullptr : &integrator_);
  n.signals = model.signals() == nullptr || !scheme_.has_signals ? 0 : model.signals()->numbers();
  n.blocks = static_cast<int>(blocks_.periods.size());
  n.caller_numbers = caller_numbers;
  const int events = scheme_.events == nullptr ? 0 : scheme_.events->size();
  if (watches_steps()) n.events = events;
  if (is_adaptive_) {
    const int states = model.signals() == nullptr ? 0 : model.signals()->states;
    n.scheme = stepping::AdaptivePlaces::of(events, n.q, n.v, states).count;
  }
  PartAllocation memory{allocate, count};
  parts_.visit(memory);
  memory("report", parts_.report, n.points * contact::ContactReport::numbers);
  written_.emplace(parts_, count);
  stop_.assign(static_cast<std::size_t>(count), {});
  goal_.assign(static_cast<std::size_t>(count), 0);
  constexpr std::ptrdiff_t few = 32768;  // steps of worlds of one body: explicit ones take a few milliseconds
  pieces_ =
      CallPieces(caller_step_ ? 16 : std::max(std::ptrdiff_t{1}, few / (count * (model.nbodies() + 1))));
  set_bounds();
  std::fill_n(parts_.length, count, std::int64_t{-1});
  std::fill_n(parts_.step, count, scheme_.step);
  std::fill_n(parts_.instants, count * n.blocks, std::int64_t{1});
}

template <class Real>
void Worlds<Real>::check_scheme() const {
  if (model_->callback_numbers() > 0 && !caller_step_) {
    throw std::invalid_argument("a model with callback joints needs python_step");
  }
  if (is_convex_ && contacts_ == nullptr) throw std::invalid_argument("'convex' needs contacts");
  if (is_single && caller_step_) throw std::invalid_argument("Python makes steps in double precision alone");
  if (is_single && is_adaptive_) {
    throw std::invalid_argument("'" + scheme_.integrator + "' steps in double precision alone");
  }
  if (is_single && scheme_.events != nullptr) {
    throw std::invalid_argument("events are located in double precision alone");
  }
  if (is_single && scheme_.accuracy > 0) throw std::invalid_argument("accuracy needs double precision");
  if (!(scheme_.step > 0)) {
    throw std::invalid_argument("step must be positive [s], got " + std::to_string(scheme_.step));
  }
  if (!is_adaptive_) return;
  if (scheme_.rtol.empty()) throw std::invalid_argument("rtol and atol must be given");
  check_tolerance(scheme_.rtol, "rtol");
  check_tolerance(scheme_.atol, "atol");
}

template <class Real>
void Worlds<Real>::check_tolerance(const std::vector<double>& x, const char* name) const {
  if (x.size() != static_cast<std::size_t>(model_->nv())) {
    throw std::invalid_argument(std::string(name) + " must have shape (" + std::to_string(model_->nv()) +
                                ",)");
  }
  for (const double value : x) {
    if (value > 0) continue;
    throw std::invalid_argument(std::string(name) + " must be positive, got " + std::to_string(value));
  }
}

template <class Real>
void Worlds<Real>::set_bounds() {
  bounds_.sizes = parts_.sizes;
  bounds_.step = scheme_.step;
  bounds_.periods = blocks_.periods;
  bounds_.first_bit = blocks_.first_bit;
  bounds_.key = blocks_.key;
  bounds_.is_adaptive = is_adaptive_;
  bounds_.is_convex = is_convex_;
  bounds_.events = scheme_.events == nullptr ? 0 : scheme_.events->size();
  if (is_convex_) bounds_.contacts = contacts_->memory();
  bounds_.quaternions = model_->quaternions();
}

// --------------------------------------------------------------------------------------- states and readings

template <class Real>
std::ptrdiff_t Worlds<Real>::reading_count() const {
  return model_->signals() == nullptr ? 0 : model_->signals()->reading_count;
}

template <class Real>
void Worlds<Real>::accelerate(std::ptrdiff_t world, int place, double change) const {
  Real& v = parts_.v[world * parts_.sizes.v + place];
  v = static_cast<Real>(v + change);
}

template <class Real>
void Worlds<Real>::displace(const int* worlds, std::ptrdiff_t count, const double* dq) const {
  const int nq = parts_.sizes.q;
  std::vector<double> q(static_cast<std::size_t>(count * nq)), moved(q.size());
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    std::copy_n(parts_.q + std::ptrdiff_t{worlds[k]} * nq, nq, q.data() + k * nq);
  }
  Batch<double> batch = {};
  batch.states = count;
  batch.q = q.data();
  batch.x = dq;
  const std::vector<double> of_callbacks(static_cast<std::size_t>(count * model_->callback_numbers()));
  batch.callback = of_callbacks.data();  // which change no coordinates
  batch.out = moved.data();
  run_batch<double>(&StateKernels<double>::integrate, *model_, batch, 1);
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const double* const from = moved.data() + k * nq;
    std::transform(from, from + nq, parts_.q + std::ptrdiff_t{worlds[k]} * nq, [](double x) {
      return static_cast<Real>(x);
    });
  }
}

template <class Real>
void Worlds<Real>::read(const int* worlds, std::ptrdiff_t begin, std::ptrdiff_t count, double* rows) const {
  const auto& n = parts_.sizes;
  std::vector<double> memory(
      static_cast<std::size_t>(count * (1 + n.q + 2 * n.v + n.signals + varied_.count)));
  double* next = memory.data();
  /// Rows of the worlds; doubles of worlds that follow one another are read where they are.
  const auto rows_of = [&](auto* part, std::ptrdiff_t size) {
    using Number = std::remove_const_t<std::remove_pointer_t<decltype(part)>>;
    if (worlds == nullptr) part += begin * size;
    if constexpr (std::is_same_v<Number, double>) {
      if (worlds == nullptr) return static_cast<const double*>(part);
    }
    double* const to = next;
    next += count * size;
    if (worlds == nullptr) {
      std::copy_n(part, count * size, to);
    } else {
      for (std::ptrdiff_t k = 0; k < count; ++k) std::copy_n(part + worlds[k] * size, size, to + k * size);
    }
    return static_cast<const double*>(to);
  };
  Batch<double> batch = {};
  batch.states = count;
  batch.times = rows_of(parts_.t, 1);
  batch.q = rows_of(parts_.q, n.q);
  batch.v = rows_of(parts_.v, n.v);
  batch.signals = const_cast<double*>(rows_of(parts_.signals, n.signals));  // which reading does not change
  const double* const values = rows_of(varied_.values, varied_.count);
  batch.x = next;  // accelerations of 0
  batch.out = rows;
  run_varied(&StateKernels<double>::read_signals,
             *model_,
             batch,
             {varied_.count, varied_.place, values, varied_.joint_forces});
}

template <class Real>
void Worlds<Real>::readings(Selection worlds, int threads, double* rows) const {
  const std::ptrdiff_t size = reading_count();
  parallel_for(worlds.count, kernels().float64.width, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    read(worlds.index == nullptr ? nullptr : worlds.index + begin, begin, end - begin, rows + begin * size);
  });
}

// ----------------------------------------------------------------------------------------------- what varies

template <class Real>
void Worlds<Real>::set_model(const tree::Model& model) {
  const auto* const signals = model.signals();
  const bool fits = model.nq() == parts_.sizes.q && model.nv() == parts_.sizes.v &&
                    model.loop_nq() == parts_.sizes.loop_q &&
                    (signals == nullptr ? 0 : signals->numbers()) == parts_.sizes.signals;
  if (!fits) throw std::invalid_argument("model must have as many coordinates and numbers of signals");
  model_ = &model;
  schedule_keys_.clear();  // its shapes may be elsewhere
}

template <class Real>
void Worlds<Real>::set_varied(std::vector<std::ptrdiff_t> places,
                              const double* values,
                              bool joint_forces,
                              double reach) {
  const NumberList known = list_numbers(*model_, is_convex_ ? contacts_ : nullptr);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const bool ascends = k == 0 || places[k] > places[k - 1];
    if (ascends && places[k] >= 0 && places[k] < static_cast<std::ptrdiff_t>(known.values.size())) continue;
    throw std::invalid_argument("places must ascend from 0 to " + std::to_string(known.values.size() - 1) +
                                ", got " + std::to_string(places[k]));
  }
  schedule_keys_.clear();
  places_ = std::move(places);
  varied_ = {static_cast<int>(places_.size()), places_.data(), values, joint_forces};
  if (is_convex_ && reach > 0) lengthen_levers(reach);
}

template <class Real>
void Worlds<Real>::set_sensors(std::vector<ContactSensor> sensors) {
  sensors_ = std::move(sensors);
  sensor_views_.clear();
  for (const ContactSensor& sensor : sensors_) sensor_views_.push_back(sensor.view());
  sensor_list_ = {static_cast<int>(sensor_views_.size()), sensor_views_.data()};
}

template <class Real>
void Worlds<Real>::set_smooth_contacts(const ModelContacts* contacts) {
  smooth_ = std::make_unique<SmoothLaw>(contacts);
}

/// Bounds the motion of roots whose centre of mass is up to `reach` [m] farther from the joint than the
/// model's.
template <class Real>
void Worlds<Real>::lengthen_levers(double reach) {
  const auto own = contacts();
  const int count = own.carriers > 0 ? own.levers[own.carriers - 1].end : 0;
  levers_.assign(own.lever, own.lever + count);
  for (int n = 0; n < own.carriers; ++n) {
    const contact::Levers& levers = own.levers[n];
    if (levers.end - levers.root == 2) {
      levers_[static_cast<std::size_t>(levers.root) + 1].length += static_cast<Real>(2 * reach);
    }
  }
}

/// The contacts in the precision of the worlds.
template <class Real>
contact::Contacts<Real> Worlds<Real>::contacts() const {
  if constexpr (is_single) {
    return float_contacts_.view();
  } else {
    return contacts_->view();
  }
}

// --------------------------------------------------------------------------------------------- save and load

template <class Real>
void Worlds<Real>::copy(Selection source, Selection target) {
  check(source, "source");
  check(target, "target");
  if (source.count != target.count) {
    throw std::invalid_argument("source and target must be equally many, got " +
                                std::to_string(source.count) + " and " + std::to_string(target.count));
  }
  const std::unique_ptr<char[]> bytes(new char[saved_size(source)]);
  save(source, bytes.get());
  put_back(bytes.get(), target);
}

template <class Real>
std::size_t Worlds<Real>::saved_size(Selection worlds) {
  check(worlds, "worlds");
  std::size_t size = 0;
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) parts_.visit(RecordSize{size, worlds[k]});
  return size;
}

template <class Real>
void Worlds<Real>::save(Selection worlds, char* to) {
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) parts_.visit(RecordWriter{to, worlds[k]});
}

template <class Real>
void Worlds<Real>::load(const char* bytes, std::size_t size, Selection worlds) {
  check(worlds, "worlds");
  RecordCheck<Real> records(bounds_, bytes, bytes + size);
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) records.next(worlds[k]);
  records.finish();
  put_back(bytes, worlds);
}

template <class Real>
void Worlds<Real>::put_back(const char* bytes, Selection worlds) {
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) parts_.visit(RecordReader{bytes, worlds[k]});
}

// ---------------------------------------------------------------------------------- what others have written

template <class Real>
std::vector<int> Worlds<Real>::written(Selection worlds) const {
  std::vector<int> found;
  each(worlds, [&](std::ptrdiff_t, std::ptrdiff_t world) {
    if (written_->is_written(world)) found.push_back(static_cast<int>(world));
  });
  return found;
}

template <class Real>
bool Worlds<Real>::accept(Selection worlds) {
  bool lost = false;
  each(worlds, [&](std::ptrdiff_t, std::ptrdiff_t world) {
    if (!written_->is_written(world) || parts_.status[world] != 0) return;
    if (!is_state(parts_, *model_, world)) {
      parts_.status[world] = static_cast<std::int64_t>(stepping::WorldStatus::written);
      lost = true;
      return;
    }
    if (written_->has_other_time(world)) begin_clock(world);
    restart_scheme(world);
    written_->see(world);
  });
  return lost;
}

template <class Real>
void Worlds<Real>::restore(Selection worlds) {
  check(worlds, "worlds");
  each(worlds, [&](std::ptrdiff_t, std::ptrdiff_t world) { written_->restore(world); });
}

template <class Real>
void Worlds<Real>::see(Selection worlds) {
  check(worlds, "worlds");
  each(worlds, [&](std::ptrdiff_t, std::ptrdiff_t world) { written_->see(world); });
}

template <class Real>
void Worlds<Real>::begin_clock(Selection worlds) {
  check(worlds, "worlds");
  each(worlds, [&](std::ptrdiff_t, std::ptrdiff_t world) { begin_clock(world); });
}

template <class Real>
void Worlds<Real>::begin_clock(std::ptrdiff_t world) {
  const double t = parts_.t[world];
  parts_.begin[world] = t;
  parts_.step[world] = scheme_.step;
  parts_.made[world] = 0;
  parts_.length[world] = -1;
  for (int k = 0; k < parts_.sizes.blocks; ++k) {
    const double n = std::floor(t / blocks_.periods[static_cast<std::size_t>(k)] + 1e-9);
    parts_.instants[world * parts_.sizes.blocks + k] = static_cast<std::int64_t>(n) + 1;
  }
}

/// Predictions and carried momenta begin anew; counts stay. Contacts keep what they remember.
template <class Real>
void Worlds<Real>::restart_scheme(std::ptrdiff_t world) const {
  std::fill_n(parts_.pivots + world * parts_.sizes.pivots, parts_.sizes.pivots, 0.0);
  std::fill_n(parts_.signs + world * parts_.sizes.events, parts_.sizes.events, 0.0);
  double* const numbers = parts_.scheme + world * parts_.sizes.scheme;
  if (is_convex_) {
    const auto memory = contacts_->memory();
    std::fill_n(numbers + memory.next_step(), memory.point(0) - memory.next_step(), 0.0);
    numbers[contact::ContactMemory::failed] = 0;
  } else if (is_adaptive_) {
    numbers[stepping::AdaptivePlaces::begun] = numbers[stepping::AdaptivePlaces::size] = 0;
  } else if (parts_.sizes.scheme > 0) {
    std::fill_n(
        numbers + stepping::solver_counts - 1, parts_.sizes.scheme - stepping::solver_counts + 1, 0.0);
  }
}

// ----------------------------------------------------------------------------------------------------
// advance

/// Lets the scene's step divide time from now on, after rows at times of their own.
template <class Real>
void Worlds<Real>::begin_grid(std::ptrdiff_t world) {
  parts_.begin[world] = parts_.t[world];
  parts_.step[world] = scheme_.step;
  parts_.made[world] = 0;
  parts_.length[world] = -1;
}

template <class Real>
std::ptrdiff_t Worlds<Real>::step(std::int64_t steps,
                                  Selection worlds,
                                  const Allowance& allowance,
                                  int threads,
                                  std::optional<double> length) {
  check(worlds, "worlds");
  if (is_adaptive_ && (!length || !(*length > 0))) {
    throw std::invalid_argument("length must be positive [s]");
  }
  each(worlds, [&](std::ptrdiff_t k, std::ptrdiff_t world) {
    if (is_adaptive_ && parts_.step[world] != *length) {
      parts_.begin[world] = parts_.t[world];
      parts_.step[world] = *length;
      parts_.made[world] = 0;
    }
    if (!is_adaptive_ && parts_.length[world] >= 0) begin_grid(world);
    goal_[static_cast<std::size_t>(k)] = (parts_.length[world] < 0 ? parts_.made[world] : 0) + steps;
  });
  return go_on(worlds, allowance, threads);
}

template <class Real>
std::ptrdiff_t Worlds<Real>::go_on(Selection worlds, const Allowance& allowance, int threads) {
  WorldBatch<Real> batch = {};
  batch.call.stop = stop_.data();
  advance(worlds, batch, allowance, threads);
  std::ptrdiff_t left = 0;
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) {
    left += stop_[static_cast<std::size_t>(k)] == stepping::WorldStop::reached ? 0 : 1;
  }
  return left;
}

template <class Real>
void Worlds<Real>::advance(Selection worlds,
                           WorldBatch<Real>& batch,
                           const Allowance& allowance,
                           int threads) {
  check(worlds, "worlds");
  batch.states = worlds.count;
  batch.call.index = worlds.index;
  if (batch.call.goal == nullptr) batch.call.goal = goal_.data();
  pieces_.run(batch, allowance, [&] { run(batch, threads); });
  each(worlds, [&](std::ptrdiff_t, std::ptrdiff_t world) { written_->see(world); });
}

template <class Real>
std::vector<contact::NewtonIteration> Worlds<Real>::newton_iterations(const std::function<void()>& step) {
  constexpr int most = 1 << 14;  // 127 parts of a step, of 50 iterations and two passes each
  if (!is_convex_) throw std::invalid_argument("'" + scheme_.integrator + "' has no convex problem");
  std::vector<contact::NewtonIteration> iterations(most);
  contact::IterationLog log = {iterations.data(), most};
  const struct Logging {
    contact::IterationLog*& log;
    ~Logging() { log = nullptr; }
  } logging = {log_};
  log_ = &log;
  step();
  iterations.resize(static_cast<std::size_t>(std::min(log.count, most)));
  return iterations;
}

template <class Real>
stepping::SampledPeriods Worlds<Real>::sampled_periods() const {
  const auto& periods = blocks_.periods;
  const double smallest = periods.empty() ? 0 : *std::min_element(periods.begin(), periods.end());
  return {
      static_cast<int>(periods.size()), periods.data(), blocks_.first_bit, blocks_.python, 1e-9 * smallest};
}

template <class Real>
void Worlds<Real>::take_solutions(double* solutions, const std::function<void()>& step) {
  const struct Taking {
    double*& solutions;
    ~Taking() { solutions = nullptr; }
  } taking = {solutions_};
  solutions_ = solutions;
  step();
}

template <class Real>
void Worlds<Real>::run(WorldBatch<Real>& batch, int threads) {
  batch.actuation = &actuation_;
  batch.integrator = integrator_;
  batch.spectral_radius = scheme_.spectral_radius;
  batch.contact_forces = smooth_->forces();
  auto& call = batch.call;
  call.worlds = parts_;
  const bool has_signals = model_->signals() != nullptr && scheme_.has_signals;
  if (!has_signals) call.worlds.signals = nullptr;
  call.blocks = sampled_periods();
  call.longest = scheme_.step;
  stepping::AdaptiveSettings settings = {};
  if (is_adaptive_) {
    settings = {{scheme_.rtol.data(), scheme_.atol.data(), scheme_.atol.data()}, {}, scheme_.step};
    if (scheme_.events != nullptr) settings.events = scheme_.events->view();
    call.adaptive = &settings;
  }
  if (varied_.count > 0) batch.varied = &varied_;
  batch.contacts.sensors = &sensor_list_;
  if (is_convex_) {
    batch.contacts.passes = scheme_.passes;
    batch.contacts.log = batch.states == 1 ? log_ : nullptr;
    batch.contacts.solutions = scheme_.accuracy == 0 ? solutions_ : nullptr;
    batch.contacts.work = has_signals ? contacts_->work() : nullptr;
    batch.contacts.contacts = contacts();
    if (!levers_.empty()) batch.contacts.contacts.lever = levers_.data();
    batch.contacts.tolerance = static_cast<Real>(scheme_.solver_tolerance);
    if constexpr (is_single) batch.contacts.tolerance = std::max(batch.contacts.tolerance, finest_of_floats);
    batch.contacts.accuracy = static_cast<Real>(scheme_.accuracy);
    batch.contacts.least_step = static_cast<Real>(scheme_.least_step);
    if (batch.varied == nullptr && scheme_.accuracy == 0) batch.schedules = schedules();
  }
  if (watches_steps()) return run_watched(batch, threads);
  make_steps(batch, threads);
  if (is_adaptive_ && scheme_.events != nullptr) name_events(batch);
}

/// Whether events are looked for between steps, of fixed size.
template <class Real>
bool Worlds<Real>::watches_steps() const {
  return !is_adaptive_ && scheme_.events != nullptr;
}

/// Makes steps of all worlds that do not rest.
template <class Real>
void Worlds<Real>::make_steps(const WorldBatch<Real>& batch, int threads) {
  if constexpr (!is_single) {
    if (caller_step_) return run_caller_steps(caller_step_, batch.call, parts_, batch.states);
  }
  run_worlds(*model_, batch, is_convex_, threads);
}

/// Makes steps through events, some packs at a time on each thread; those of the caller on this one.
template <class Real>
void Worlds<Real>::run_watched(const WorldBatch<Real>& batch, int threads) {
  if constexpr (!is_single) {
    const stepping::Events events = scheme_.events->view();
    const std::ptrdiff_t worlds_at_once = std::ptrdiff_t{2} * kernels().float64.width;
    parallel_for(batch.states,
                 worlds_at_once,
                 caller_step_ ? 1 : threads,
                 [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
                   WatchedSteps steps(*this,
                                      events,
                                      caller_step_ ? &caller_step_ : nullptr,
                                      varied_,
                                      [&](const WorldBatch<double>& some) { make_steps(some, 1); });
                   for (; begin < end; begin += worlds_at_once) {
                     steps.run(batch, begin, std::min(end, begin + worlds_at_once));
                   }
                 });
  }
}

/// Names the events of steps of adapted size in the reasons why worlds were left.
template <class Real>
void Worlds<Real>::name_events(const WorldBatch<Real>& batch) const {
  const auto& call = batch.call;
  for (std::ptrdiff_t k = 0; k < batch.states; ++k) {
    if (call.stop[k] != stepping::WorldStop::event) continue;
    const double* const carried = parts_.scheme + call.world(k) * parts_.sizes.scheme;
    call.stop[k] =
        static_cast<stepping::WorldStop>(static_cast<std::int64_t>(stepping::WorldStop::event) +
                                         static_cast<std::int64_t>(carried[stepping::AdaptivePlaces::event]));
  }
}

/// Memory of the pairs' schedules, none where it is large. Worlds that differ in numbers have none: these may
/// be written between calls.
template <class Real>
SavedSchedules Worlds<Real>::schedules() {
  constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 27;  // bytes
  const std::ptrdiff_t stride = SavedSchedules::stride_of(contacts_->view(), model_->view<double>().bodies);
  if (stride * count_ > most) return {};
  if (schedule_keys_.empty()) {
    schedule_keys_.assign(static_cast<std::size_t>(count_), 0);
    schedules_.reset(new unsigned char[static_cast<std::size_t>(stride * count_)]);
  }
  return {schedules_.get(), schedule_keys_.data(), stride};
}

template <class Real>
void Worlds<Real>::check(Selection worlds, const char* name) const {
  for (std::ptrdiff_t k = 0; k < worlds.count; ++k) {
    if (worlds[k] >= 0 && worlds[k] < count_) continue;
    throw std::invalid_argument(std::string(name) + " must be from 0 to " + std::to_string(count_ - 1) +
                                ", got " + std::to_string(worlds[k]));
  }
}

template class Worlds<double>;
template class Worlds<float>;

}  // namespace pysim::engine
