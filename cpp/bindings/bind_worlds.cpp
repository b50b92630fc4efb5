// Worlds on the Python side: the records of many worlds, and the one function that advances them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "bindings/released_gil.hpp"
#include "bindings/stepping_arguments.hpp"
#include "engine/contact_model.hpp"
#include "engine/events.hpp"
#include "engine/float_contacts.hpp"
#include "engine/integrators.hpp"
#include "engine/record_check.hpp"
#include "engine/recorded_worlds.hpp"
#include "engine/smooth_law.hpp"
#include "engine/threads.hpp"
#include "engine/world_numbers.hpp"
#include "engine/world_operations.hpp"
#include "stepping/adaptive.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

using engine::checked_radius;
using engine::Events;
using engine::FloatContacts;
using engine::integrator_named;
using engine::list_numbers;
using engine::ModelContacts;
using engine::NumberList;
using engine::SmoothLaw;
using engine::world_sizes;

namespace {

using Indices = py::array_t<int, py::array::c_style | py::array::forcecast>;
using Integers = py::array_t<std::int64_t, py::array::c_style>;
using Reals = py::array_t<double, py::array::c_style>;

/// The finest tolerance of the solver, relative to the largest impulse, that floats meet.
constexpr float finest_of_floats = 1e-5F;

constexpr const char* adaptive = "dopri5";

/// How the worlds of a scene are stepped.
struct WorldScheme {
  std::string integrator;
  double step;  ///< the longest within an interval, and that of the grid [s]
  double spectral_radius;
  int passes;
  double solver_tolerance;
  double accuracy, least_step;
  Numbers rtol, atol;  ///< (nv) of steps of adapted size, of every coordinate of v
  const Events* events;
};

/// Instants of sampled blocks.
struct WorldBlocks {
  std::vector<double> periods;
  int first_bit;
  std::uint64_t python;
  int key;  ///< place of the key of random numbers among those of the signals; −1 for none
};

/// Tag of worlds that are stepped one at a time.
struct Alone;
using One = simd::Pack<double, 1, Alone>;

/// Steps that Python makes in the arrays of a world's record: step(world, t, h) returns whether it is good.
class PythonSteps {
 public:
  static constexpr bool adapts = false, whole = false;

  PythonSteps(const py::object& step, std::ptrdiff_t world) : step_(step), world_(world) {}

  simd::Mask<One> make(simd::Mask<One> wanted, One time, One h) const {
    const bool good = py::cast<bool>(step_(world_, simd::lane(time, 0), simd::lane(h, 0)));
    return good ? wanted : simd::nowhere<One>();
  }

  simd::Mask<One> unsolved() const { return simd::nowhere<One>(); }
  void mark_jumps(simd::Mask<One>) const {}  // schemes in Python carry no accelerations of the engine

 private:
  const py::object& step_;
  std::ptrdiff_t world_;
};

/// Worlds whose q and v are of the type Real, in which they are stepped.
template <class Real>
class EngineWorlds : public engine::RecordedWorlds {
 public:
  static constexpr bool is_single = sizeof(Real) == 4;
  using RealRows = py::array_t<Real, py::array::c_style>;

  EngineWorlds(const Model& model,
               const Actuation& actuation,
               const ModelContacts* contacts,
               py::ssize_t count,
               WorldScheme scheme,
               WorldBlocks blocks,
               py::object step)
      : model_(&model),
        actuation_(actuation),
        contacts_(contacts),
        scheme_(std::move(scheme)),
        blocks_(std::move(blocks)),
        count_(count),
        python_step_(std::move(step)),
        is_convex_(!in_python() && scheme_.integrator == "convex"),
        is_adaptive_(!in_python() && scheme_.integrator == adaptive),
        smooth_(std::make_unique<SmoothLaw>(is_convex_ || is_single || in_python() ? nullptr : contacts)),
        float_contacts_(is_single ? contacts : nullptr) {
    if (count < 1) throw std::invalid_argument("count must be 1 or more, got " + std::to_string(count));
    if (model.callback_numbers() > 0 && !in_python()) {
      throw std::invalid_argument("a model with callback joints needs python_step");
    }
    if (is_convex_ && contacts == nullptr) throw std::invalid_argument("'convex' needs contacts");
    if (!is_convex_ && !is_adaptive_ && !in_python()) integrator_ = integrator_named(scheme_.integrator);
    if (is_single && in_python()) throw std::invalid_argument("Python makes steps in double precision alone");
    if (is_single && is_adaptive_) {
      throw std::invalid_argument("'" + scheme_.integrator + "' steps in double precision alone");
    }
    if (is_single && scheme_.accuracy > 0) {
      throw std::invalid_argument("accuracy needs double precision");
    }
    if (!(scheme_.step > 0)) {
      throw std::invalid_argument("step must be positive [s], got " + std::to_string(scheme_.step));
    }
    auto& n = parts_.sizes;
    n = world_sizes(
        model, is_convex_ ? contacts : nullptr, in_python() || is_adaptive_ ? nullptr : &integrator_);
    n.signals = model.signals() == nullptr ? 0 : model.signals()->numbers();
    n.blocks = static_cast<int>(blocks_.periods.size());
    if (is_adaptive_) {
      if (scheme_.rtol.size() == 0) throw std::invalid_argument("rtol and atol must be given");
      check_tolerance(scheme_.rtol, "rtol");
      check_tolerance(scheme_.atol, "atol");
      const int events = scheme_.events == nullptr ? 0 : scheme_.events->size();
      const int states = model.signals() == nullptr ? 0 : model.signals()->states;
      n.scheme = stepping::AdaptivePlaces::of(events, n.q, n.v, states).count;
    }
    parts_.visit(Allocation{*this});
    Allocation{*this}("report", parts_.report, n.points * contact::ContactReport::numbers);
    seen_q_.assign(static_cast<std::size_t>(count * n.q), 0);
    seen_v_.assign(static_cast<std::size_t>(count * n.v), 0);
    seen_t_.assign(static_cast<std::size_t>(count), 0);
    stop_.assign(static_cast<std::size_t>(count), {});
    goal_.assign(static_cast<std::size_t>(count), 0);
    bounds_.sizes = n;
    bounds_.step = scheme_.step;
    bounds_.periods = blocks_.periods;
    bounds_.first_bit = blocks_.first_bit;
    bounds_.key = blocks_.key;
    bounds_.is_adaptive = is_adaptive_;
    bounds_.is_convex = is_convex_;
    bounds_.events = scheme_.events == nullptr ? 0 : scheme_.events->size();
    if (is_convex_) bounds_.contacts = contacts->memory();
    bounds_.quaternions = model.quaternions();
    std::fill_n(parts_.length, count, std::int64_t{-1});
    std::fill_n(parts_.step, count, scheme_.step);
    std::fill_n(parts_.instants, count * n.blocks, std::int64_t{1});
  }

  std::ptrdiff_t count() const override { return count_; }
  const std::int64_t* status() const override { return parts_.status; }
  double* signals(std::ptrdiff_t world) const override {
    return parts_.signals + world * parts_.sizes.signals;
  }
  std::ptrdiff_t reading_count() const override {
    return model_->signals() == nullptr ? 0 : model_->signals()->reading_count;
  }

  int nv() const override { return parts_.sizes.v; }

  void accelerate(std::ptrdiff_t world, int place, double change) const override {
    Real& v = parts_.v[world * parts_.sizes.v + place];
    v = static_cast<Real>(v + change);
  }

  void displace(const int* worlds, std::ptrdiff_t count, const double* dq) const override {
    const int nq = parts_.sizes.q;
    std::vector<double> q(static_cast<std::size_t>(count * nq)), moved(q.size());
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      std::copy_n(parts_.q + std::ptrdiff_t{worlds[k]} * nq, nq, q.data() + k * nq);
    }
    engine::Batch<double> batch = {};
    batch.states = count;
    batch.q = q.data();
    batch.x = dq;
    const std::vector<double> of_callbacks(static_cast<std::size_t>(count * model_->callback_numbers()));
    batch.callback = of_callbacks.data();  // which change no coordinates
    batch.out = moved.data();
    engine::run_batch<double>(&engine::StateKernels<double>::integrate, *model_, batch, 1);
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const double* const from = moved.data() + k * nq;
      std::transform(from, from + nq, parts_.q + std::ptrdiff_t{worlds[k]} * nq, [](double x) {
        return static_cast<Real>(x);
      });
    }
  }

  void read(const int* worlds, std::ptrdiff_t begin, std::ptrdiff_t count, double* rows) const override {
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
    engine::Batch<double> batch = {};
    batch.states = count;
    batch.times = rows_of(parts_.t, 1);
    batch.q = rows_of(parts_.q, n.q);
    batch.v = rows_of(parts_.v, n.v);
    batch.signals = const_cast<double*>(rows_of(parts_.signals, n.signals));  // which reading does not change
    const double* const values = rows_of(varied_.values, varied_.count);
    batch.x = next;  // accelerations of 0
    batch.out = rows;
    engine::read_signals(*model_, batch, {varied_.count, varied_.place, values, varied_.joint_forces});
  }

  /// Readings (worlds, signals) of all signals, or of those of some worlds.
  Reals readings(const std::optional<Indices>& index, int threads) const {
    if (index) check(*index, "worlds");
    check_threads(threads);
    const py::ssize_t states = index ? index->size() : count_, size = reading_count();
    Reals found({states, size});
    double* const rows = found.mutable_data();
    const ReleasedGil nogil;
    engine::parallel_for(
        states, engine::kernels().float64.width, threads, [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
          read(index ? index->data() + begin : nullptr, begin, end - begin, rows + begin * size);
        });
    return found;
  }

  void set_actuation(const Actuation& actuation) {
    actuation.view(*model_);
    actuation_ = actuation;
  }
  const py::dict& parts() const { return arrays_; }

  /// Steps by another model from now on, which has the same states and other numbers, or programs.
  void set_model(const Model& model) {
    const auto* const signals = model.signals();
    const bool fits = model.nq() == parts_.sizes.q && model.nv() == parts_.sizes.v &&
                      model.loop_nq() == parts_.sizes.loop_q &&
                      (signals == nullptr ? 0 : signals->numbers()) == parts_.sizes.signals;
    if (!fits) throw std::invalid_argument("model must have as many coordinates and numbers of signals");
    model_ = &model;
    schedule_keys_.clear();  // its shapes may be elsewhere
  }

  /// Lets worlds differ in the numbers at `places`, ascending, whose values (worlds, places) are read in
  /// every call.
  void set_varied(const Integers& places, const Reals& values, bool joint_forces, double reach) {
    const NumberList known = list_numbers(*model_, is_convex_ ? contacts_ : nullptr);
    const py::ssize_t n = places.size();
    for (py::ssize_t k = 0; k < n; ++k) {
      const bool ascends = k == 0 || places.data()[k] > places.data()[k - 1];
      if (ascends && places.data()[k] >= 0 &&
          places.data()[k] < static_cast<py::ssize_t>(known.values.size()))
        continue;
      throw std::invalid_argument("places must ascend from 0 to " + std::to_string(known.values.size() - 1) +
                                  ", got " + std::to_string(places.data()[k]));
    }
    if (values.ndim() != 2 || values.shape(0) != count_ || values.shape(1) != n) {
      throw std::invalid_argument("values must have shape (" + std::to_string(count_) + ", " +
                                  std::to_string(n) + "), got " + describe(values));
    }
    schedule_keys_.clear();
    places_.assign(places.data(), places.data() + n);
    values_ = values;
    varied_ = {static_cast<int>(n), places_.data(), values_.data(), joint_forces};
    if (is_convex_ && reach > 0) lengthen_levers(reach);
  }

  /// Lets the smooth forces of other contacts of the model act from now on; those of None are none.
  void set_smooth_contacts(const py::object& contacts) {
    smooth_ =
        std::make_unique<SmoothLaw>(contacts.is_none() ? nullptr : &py::cast<const ModelContacts&>(contacts));
    smooth_contacts_ = contacts;
  }

  /// Copies whole records, source k to target k.
  void copy(const Indices& source, const Indices& target) {
    check(source, "source");
    check(target, "target");
    if (source.size() != target.size()) {
      throw std::invalid_argument("source and target must be equally many, got " +
                                  std::to_string(source.size()) + " and " + std::to_string(target.size()));
    }
    const py::bytes bytes = save(source);
    take(std::string_view(bytes).data(), target);
  }

  /// Records one after the other: of every part the numbers of the world, lists as far as they are in use.
  py::bytes save(const Indices& worlds) {
    check(worlds, "worlds");
    std::size_t size = 0;
    for (py::ssize_t k = 0; k < worlds.size(); ++k) parts_.visit(Size{size, worlds.data()[k]});
    const auto bytes =
        py::reinterpret_steal<py::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
    if (!bytes) throw py::error_already_set();
    char* to = PyBytes_AS_STRING(bytes.ptr());
    for (py::ssize_t k = 0; k < worlds.size(); ++k) parts_.visit(Writer{to, worlds.data()[k]});
    return bytes;
  }

  /// Overwrites worlds by records; all are checked before the first number is written.
  void load(const char* bytes, std::size_t size, const Indices& worlds) {
    check(worlds, "worlds");
    engine::RecordCheck<Real> records(bounds_, bytes, bytes + size);
    for (py::ssize_t k = 0; k < worlds.size(); ++k) records.next(worlds.data()[k]);
    records.finish();
    take(bytes, worlds);
  }

  /// Worlds whose t, q or v Python has written since the last call.
  std::vector<int> written(const std::optional<Indices>& index) const {
    std::vector<int> found;
    each(index, [&](py::ssize_t, std::ptrdiff_t world) {
      if (is_written(world)) found.push_back(static_cast<int>(world));
    });
    return found;
  }

  /// Takes over what Python has written: the clock begins anew at another t, a scheme at another q or v. A
  /// quaternion is normalised within 1e-6 of unit length; a world with another one, or with NaN, is lost.
  /// Returns whether a world was lost by it.
  bool accept(const std::optional<Indices>& index) {
    bool lost = false;
    each(index, [&](py::ssize_t, std::ptrdiff_t world) {
      if (!is_written(world) || parts_.status[world] != 0) return;
      if (!is_state(world)) {
        parts_.status[world] = static_cast<std::int64_t>(stepping::WorldStatus::written);
        lost = true;
        return;
      }
      if (seen_t_[static_cast<std::size_t>(world)] != parts_.t[world]) begin_clock(world);
      restart_scheme(world);
      see(world);
    });
    return lost;
  }

  /// Puts worlds back to the t, q and v that they had before Python wrote others.
  void restore(const Indices& worlds) {
    check(worlds, "worlds");
    const auto& n = parts_.sizes;
    for (py::ssize_t k = 0; k < worlds.size(); ++k) {
      const std::ptrdiff_t world = worlds.data()[k];
      std::copy_n(seen_q_.data() + world * n.q, n.q, parts_.q + world * n.q);
      std::copy_n(seen_v_.data() + world * n.v, n.v, parts_.v + world * n.v);
      parts_.t[world] = seen_t_[static_cast<std::size_t>(world)];
    }
  }

  /// Makes steps on the grid; returns how many worlds did not make them all, see stops(). Worlds whose steps
  /// are of adapted size have a grid of `length` [s].
  py::ssize_t step(std::int64_t steps,
                   const std::optional<Indices>& index,
                   py::ssize_t most,
                   int threads,
                   std::optional<double> length) {
    if (index) check(*index, "worlds");
    check_threads(threads);
    if (is_adaptive_ && (!length || !(*length > 0))) {
      throw std::invalid_argument("length must be positive [s]");
    }
    each(index, [&](py::ssize_t k, std::ptrdiff_t world) {
      if (is_adaptive_ && parts_.step[world] != *length) {
        parts_.begin[world] = parts_.t[world];
        parts_.step[world] = *length;
        parts_.made[world] = 0;
      }
      const bool on_grid = parts_.length[world] < 0;
      goal_[static_cast<std::size_t>(k)] = (on_grid ? parts_.made[world] : 0) + steps;
    });
    return go_on(index, most, threads);
  }

  /// Goes on with a call of step that was interrupted, of the same worlds.
  py::ssize_t go_on(const std::optional<Indices>& index, py::ssize_t most, int threads) {
    engine::WorldBatch<Real> batch = {};
    const stepping::Actuation forces = actuation_.view(*model_);
    batch.actuation = &forces;
    batch.states = index ? index->size() : count_;
    batch.call.goal = goal_.data();
    batch.call.most = most;
    batch.call.stop = stop_.data();
    batch.call.index = index ? index->data() : nullptr;
    run(batch, threads);
    py::ssize_t left = 0;
    each(index, [&](py::ssize_t k, std::ptrdiff_t world) {
      see(world);
      left += stop_[static_cast<std::size_t>(k)] == stepping::WorldStop::reached ? 0 : 1;
    });
    return left;
  }

  /// Why the last call of step left each of its worlds.
  Integers stops(py::ssize_t states) const {
    Integers found(states);
    std::memcpy(found.mutable_data(), stop_.data(), static_cast<std::size_t>(states) * sizeof(std::int64_t));
    return found;
  }

  void see(std::ptrdiff_t world) {
    const auto& n = parts_.sizes;
    std::copy_n(parts_.q + world * n.q, n.q, seen_q_.data() + world * n.q);
    std::copy_n(parts_.v + world * n.v, n.v, seen_v_.data() + world * n.v);
    seen_t_[static_cast<std::size_t>(world)] = parts_.t[world];
  }

  /// Notes the states of worlds, whose changes `written` looks for.
  void see_all() {
    for (py::ssize_t k = 0; k < count_; ++k) see(k);
  }

  /// Begins the clock of a world at its t: the grid of the scene's step, and the instants after t.
  void begin_clock(std::ptrdiff_t world) {
    const double t = parts_.t[world];
    parts_.begin[world] = t;
    parts_.step[world] = scheme_.step;
    parts_.made[world] = 0;
    parts_.length[world] = -1;
    for (int k = 0; k < parts_.sizes.blocks; ++k) {
      const double n = std::floor(t / blocks_.periods[static_cast<std::size_t>(k)] + 1e-9);
      parts_.instants[world * parts_.sizes.blocks + k] =
          simd::whole_within(n, std::int64_t{-1}, stepping::most_steps) + 1;
    }
  }

  /// Advances worlds to times, row by row; returns why each was left.
  Integers advance(const std::optional<Indices>& index,
                   const Reals& times,
                   Integers row,
                   std::optional<RealRows> q_rows,
                   std::optional<RealRows> v_rows,
                   std::optional<Reals> loop_rows,
                   std::optional<Reals> signal_rows,
                   std::optional<Reals> report,
                   std::optional<Reals> report_rows,
                   std::optional<Reals> inputs,
                   const std::vector<int>& input_places,
                   py::ssize_t most,
                   int threads,
                   std::optional<py::ssize_t> count) {
    if (index) check(*index, "worlds");
    check_threads(threads);
    const py::ssize_t states = index ? index->size() : count_;
    const auto demand = [](auto&& array, const char* name, py::ssize_t numbers) {
      using Number = std::remove_pointer_t<decltype(array->mutable_data())>;
      if (!array) return static_cast<Number*>(nullptr);
      if (array->size() == numbers && array->writeable()) return array->mutable_data();
      throw std::invalid_argument(std::string(name) + " must be writeable and have " +
                                  std::to_string(numbers) + " numbers, got " + std::to_string(array->size()));
    };
    const py::ssize_t rows = count.value_or(times.size());
    if (rows < 0 || rows > times.size()) {
      throw std::invalid_argument("count must be from 0 to " + std::to_string(times.size()) + ", got " +
                                  std::to_string(rows));
    }
    const py::ssize_t report_numbers =
        is_convex_ ? py::ssize_t{contact::ContactReport::numbers} * parts_.sizes.points : 0;
    Integers stop(states);
    engine::WorldBatch<Real> batch = {};
    batch.states = states;
    const stepping::Actuation forces = actuation_.view(*model_);
    batch.actuation = &forces;
    batch.report = demand(report, "report", states * report_numbers);
    batch.report_rows = demand(report_rows, "report_rows", states * rows * report_numbers);
    auto& call = batch.call;
    call.index = index ? index->data() : nullptr;
    call.times = times.data();
    call.rows = rows;
    call.known = times.size();
    call.most = most;
    call.row = demand(&row, "row", states);
    call.stop = reinterpret_cast<stepping::WorldStop*>(stop.mutable_data());
    call.q_rows = demand(q_rows, "q_rows", states * rows * parts_.sizes.q);
    call.v_rows = demand(v_rows, "v_rows", states * rows * parts_.sizes.v);
    call.loop_rows = demand(loop_rows, "loop_rows", states * rows * parts_.sizes.loop_q);
    call.signal_rows = demand(signal_rows, "signal_rows", states * rows * parts_.sizes.signals);
    call.input_rows = inputs && inputs->ndim() == 3 ? inputs->shape(1) : 0;
    call.inputs =
        demand(inputs, "inputs", states * call.input_rows * static_cast<py::ssize_t>(input_places.size()));
    call.input_count = static_cast<int>(input_places.size());
    call.input_place = input_places.data();
    for (const int place : input_places) {
      if (place < 0 || place >= parts_.sizes.signals)
        throw std::invalid_argument("input_places are no places of signals");
    }
    run(batch, threads);
    each(index, [&](py::ssize_t, std::ptrdiff_t world) { see(world); });
    return stop;
  }

  /// What Newton's method does while step() advances one world by one convex step.
  std::vector<contact::NewtonIteration> newton_iterations(const py::function& step) {
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

  void check_tolerance(const Numbers& x, const char* name) const {
    if (x.ndim() != 1 || x.shape(0) != parts_.sizes.v) {
      throw std::invalid_argument(std::string(name) + " must have shape (" + std::to_string(parts_.sizes.v) +
                                  ",)");
    }
    for (py::ssize_t i = 0; i < x.size(); ++i) {
      if (x.data()[i] > 0) continue;
      throw std::invalid_argument(std::string(name) + " must be positive, got " +
                                  std::to_string(x.data()[i]));
    }
  }

  void check(const Indices& worlds, const char* name) const {
    for (py::ssize_t k = 0; k < worlds.size(); ++k) {
      if (worlds.data()[k] >= 0 && worlds.data()[k] < count_) continue;
      throw std::invalid_argument(std::string(name) + " must be from 0 to " + std::to_string(count_ - 1) +
                                  ", got " + std::to_string(worlds.data()[k]));
    }
  }

 private:
  /// Makes an array of zeros for every part; memory is taken where it is written.
  struct Allocation {
    EngineWorlds& worlds;

    template <class Number>
    void operator()(const char* name, Number*& part, int numbers) {
      const py::object zeros = py::module_::import("numpy").attr("zeros");
      py::array_t<Number> array = zeros(py::make_tuple(worlds.count_, numbers), py::dtype::of<Number>());
      part = array.mutable_data();
      worlds.arrays_[name] = array;
    }

    void list(const char* name, double*& part, int numbers, const std::int64_t*, int) {
      (*this)(name, part, numbers);
    }
  };

  struct Size {
    std::size_t& size;
    std::ptrdiff_t world;

    template <class Number>
    void operator()(const char*, const Number*, int numbers) {
      size += static_cast<std::size_t>(numbers) * sizeof(Number);
    }

    void list(const char*, const double*, int, const std::int64_t* count, int an_entry) {
      size += static_cast<std::size_t>(count[world] * an_entry) * sizeof(double);
    }
  };

  struct Writer {
    char*& to;
    std::ptrdiff_t world;

    template <class Number>
    void operator()(const char*, const Number* part, int numbers) {
      put(part + world * numbers, static_cast<std::size_t>(numbers) * sizeof(Number));
    }

    void list(const char*, const double* part, int numbers, const std::int64_t* count, int an_entry) {
      put(part + world * numbers, static_cast<std::size_t>(count[world] * an_entry) * sizeof(double));
    }

    void put(const void* from, std::size_t size) {
      std::memcpy(to, from, size);
      to += size;
    }
  };

  /// Reads records that were checked.
  struct Reader {
    const char* at;
    std::ptrdiff_t world;

    template <class Number>
    void operator()(const char*, Number* part, int numbers) {
      take(part + world * numbers, static_cast<std::size_t>(numbers) * sizeof(Number));
    }

    void list(const char*, double* part, int numbers, const std::int64_t* count, int an_entry) {
      take(part + world * numbers, static_cast<std::size_t>(count[world] * an_entry) * sizeof(double));
    }

    void take(void* to, std::size_t size) {
      std::memcpy(to, at, size);
      at += size;
    }
  };

  void take(const char* bytes, const Indices& worlds) {
    Reader reader{bytes, 0};
    for (py::ssize_t k = 0; k < worlds.size(); ++k) {
      reader.world = worlds.data()[k];
      parts_.visit(reader);
    }
  }

  /// Bounds the motion of roots whose centre of mass is up to `reach` [m] farther from the joint than the
  /// model's.
  void lengthen_levers(double reach) {
    const auto contacts = own_contacts();
    const int count = contacts.carriers > 0 ? contacts.levers[contacts.carriers - 1].end : 0;
    levers_.assign(contacts.lever, contacts.lever + count);
    for (int n = 0; n < contacts.carriers; ++n) {
      const contact::Levers& own = contacts.levers[n];
      if (own.end - own.root == 2) {
        levers_[static_cast<std::size_t>(own.root) + 1].length += static_cast<Real>(2 * reach);
      }
    }
  }

  /// The contacts in the precision of the worlds.
  contact::Contacts<Real> own_contacts() const {
    if constexpr (is_single) {
      return float_contacts_.view();
    } else {
      return contacts_->view();
    }
  }

  void run(engine::WorldBatch<Real>& batch, int threads) {
    batch.integrator = integrator_;
    batch.spectral_radius = scheme_.spectral_radius;
    batch.contact_forces = smooth_->forces();
    double smallest = 0;
    for (const double period : blocks_.periods)
      smallest = smallest == 0 ? period : std::min(smallest, period);
    auto& call = batch.call;
    call.worlds = parts_;
    if (model_->signals() == nullptr) call.worlds.signals = nullptr;
    call.blocks = {static_cast<int>(blocks_.periods.size()),
                   blocks_.periods.data(),
                   blocks_.first_bit,
                   blocks_.python,
                   1e-9 * smallest};
    call.longest = scheme_.step;
    stepping::AdaptiveSettings settings = {};
    if (is_adaptive_) {
      settings = {{scheme_.rtol.data(), scheme_.atol.data(), scheme_.atol.data()}, {}, scheme_.step};
      if (scheme_.events != nullptr) settings.events = scheme_.events->view();
      call.adaptive = &settings;
    }
    if constexpr (!is_single) {
      if (in_python()) return run_in_python(call, batch.states);
    }
    batch.varied = varied_.count > 0 ? &varied_ : nullptr;
    const ReleasedGil nogil;
    if (is_convex_) {
      batch.contacts.passes = scheme_.passes;
      batch.contacts.log = batch.states == 1 ? log_ : nullptr;
      batch.contacts.work = model_->signals() == nullptr ? nullptr : contacts_->work();
    }
    if (is_convex_) {
      batch.contacts.contacts = own_contacts();
      if (!levers_.empty()) batch.contacts.contacts.lever = levers_.data();
      batch.contacts.tolerance = static_cast<Real>(scheme_.solver_tolerance);
      if constexpr (is_single)
        batch.contacts.tolerance = std::max(batch.contacts.tolerance, finest_of_floats);
      batch.contacts.accuracy = static_cast<Real>(scheme_.accuracy);
      batch.contacts.least_step = static_cast<Real>(scheme_.least_step);
      if (batch.varied == nullptr && scheme_.accuracy == 0) batch.schedules = schedules();
    }
    engine::run_worlds(*model_, batch, is_convex_, threads);
  }

  bool in_python() const { return !python_step_.is_none(); }

  /// Advances worlds one after the other by steps that Python makes; it runs their sampled blocks, too.
  void run_in_python(const stepping::WorldCall<double>& call, std::ptrdiff_t states) {
    const auto& n = parts_.sizes;
    for (std::ptrdiff_t k = 0; k < states; ++k) {
      const std::ptrdiff_t world = call.world(k);
      engine::WorldLanes<One> lanes = {};
      const auto row = [world](double* part, int count) {
        return reinterpret_cast<One*>(part + world * count);  // one lane lies as its number
      };
      lanes.q = row(parts_.q, n.q);
      lanes.v = row(parts_.v, n.v);
      lanes.loop_q = row(parts_.loop_q, n.loop_q);
      if (call.worlds.signals != nullptr) lanes.signals.numbers = row(parts_.signals, n.signals);
      PythonSteps steps(python_step_, world);
      stepping::PackAdvance<One, PythonSteps> advance(call, k, steps);
      const auto no_blocks = [](One, std::uint64_t, const auto&) {};
      advance.run(
          no_blocks, engine::WorldInputs<One>{call, k, lanes}, engine::StateRows<One>{call, k, lanes});
    }
  }

  /// Memory of the pairs' schedules, none where it is large. Worlds that differ in numbers have none: these
  /// may be written between calls.
  engine::SavedSchedules schedules() {
    constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 27;  // bytes
    const std::ptrdiff_t stride =
        engine::SavedSchedules::stride_of(contacts_->view(), model_->view<double>().bodies);
    if (stride * count_ > most) return {};
    if (schedule_keys_.empty()) {
      schedule_keys_.assign(static_cast<std::size_t>(count_), 0);
      schedules_.reset(new unsigned char[static_cast<std::size_t>(stride * count_)]);
    }
    return {schedules_.get(), schedule_keys_.data(), stride};
  }

  /// f(state, world) for the worlds of a call.
  template <class F>
  void each(const std::optional<Indices>& index, const F& f) const {
    const py::ssize_t states = index ? index->size() : count_;
    for (py::ssize_t k = 0; k < states; ++k) f(k, index ? index->data()[k] : k);
  }

  bool is_written(std::ptrdiff_t world) const {
    const auto& n = parts_.sizes;
    const auto differs = [](const Real* a, const Real* b, int count) {
      return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(Real)) != 0;
    };
    return differs(parts_.q + world * n.q, seen_q_.data() + world * n.q, n.q) ||
           differs(parts_.v + world * n.v, seen_v_.data() + world * n.v, n.v) ||
           parts_.t[world] != seen_t_[static_cast<std::size_t>(world)];
  }

  /// Whether q and v are finite and quaternions of unit length, after those that are nearly so are
  /// normalised.
  bool is_state(std::ptrdiff_t world) const {
    const auto& n = parts_.sizes;
    Real* const q = parts_.q + world * n.q;
    const Real* const v = parts_.v + world * n.v;
    const auto finite = [](double x) { return std::isfinite(x); };
    if (!std::all_of(q, q + n.q, finite) || !std::all_of(v, v + n.v, finite) || !finite(parts_.t[world])) {
      return false;
    }
    for (const auto& place : model_->quaternions()) {
      Real* const x = q + place.at;
      double square = 0;
      for (int i = 0; i < 4; ++i) square += double{x[i]} * x[i];
      const double length = std::sqrt(square);
      if (std::abs(length - 1) > 1e-6) return false;
      if (std::abs(length - 1) <= 4 * std::numeric_limits<Real>::epsilon()) continue;  // rounding alone
      for (int i = 0; i < 4; ++i) x[i] = static_cast<Real>(x[i] / length);
    }
    return true;
  }

  /// Predictions and carried momenta begin anew; counts stay. Contacts keep what they remember.
  void restart_scheme(std::ptrdiff_t world) const {
    std::fill_n(parts_.pivots + world * parts_.sizes.pivots, parts_.sizes.pivots, 0.0);
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

  const Model* model_;
  Actuation actuation_;
  const ModelContacts* contacts_;
  WorldScheme scheme_;
  WorldBlocks blocks_;
  py::ssize_t count_;
  py::object python_step_;                ///< none for the schemes of the engine
  contact::IterationLog* log_ = nullptr;  ///< of the world that `newton_iterations` advances
  bool is_convex_;
  bool is_adaptive_;
  std::unique_ptr<SmoothLaw> smooth_;
  py::object smooth_contacts_;  ///< of smooth_, if they are not those of the worlds
  engine::Integrator integrator_ = {};
  FloatContacts float_contacts_;
  stepping::WorldArrays<Real> parts_ = {};
  engine::RecordBounds bounds_ = {};
  std::vector<Real> seen_q_, seen_v_;
  std::vector<double> seen_t_;
  std::vector<stepping::WorldStop> stop_;
  std::vector<std::int64_t> goal_;
  std::unique_ptr<unsigned char[]> schedules_;
  std::vector<std::uint64_t> schedule_keys_;
  py::dict arrays_;
  std::vector<std::ptrdiff_t> places_;
  Reals values_ = Reals(0);
  tree::VariedNumbers varied_ = {};
  std::vector<contact::Lever<Real>> levers_;
};

template <class Real>
void bind_worlds_of(py::module_& m, const char* name, const char* text) {
  using EngineWorlds = bindings::EngineWorlds<Real>;
  py::class_<EngineWorlds, engine::RecordedWorlds>(m, name, text)
      .def(py::init([](const Model& model,
                       const Actuation& actuation,
                       const ModelContacts* contacts,
                       py::ssize_t count,
                       const std::string& integrator,
                       double step,
                       const std::vector<double>& periods,
                       int first_bit,
                       std::uint64_t python,
                       int key,
                       double spectral_radius,
                       int passes,
                       double solver_tolerance,
                       double accuracy,
                       double least_step,
                       const Numbers& rtol,
                       const Numbers& atol,
                       const Events* events,
                       py::object python_step) {
             return std::make_unique<EngineWorlds>(model,
                                                   actuation,
                                                   contacts,
                                                   count,
                                                   WorldScheme{integrator,
                                                               step,
                                                               checked_radius(spectral_radius),
                                                               passes,
                                                               solver_tolerance,
                                                               accuracy,
                                                               least_step,
                                                               rtol,
                                                               atol,
                                                               events},
                                                   WorldBlocks{periods, first_bit, python, key},
                                                   std::move(python_step));
           }),
           py::keep_alive<1, 2>(),
           py::keep_alive<1, 4>(),
           py::keep_alive<1, 19>(),
           "model"_a,
           "actuation"_a,
           "contacts"_a.none(true),
           "count"_a,
           "integrator"_a,
           "step"_a,
           py::kw_only(),
           "periods"_a = std::vector<double>{},
           "first_bit"_a = 0,
           "python"_a = 0,
           "key"_a = -1,
           "spectral_radius"_a = 0.9,
           "passes"_a = 2,
           "solver_tolerance"_a = contact::solver_tolerance,
           "accuracy"_a = 0.0,
           "least_step"_a = 0.0,
           "rtol"_a = Numbers(0),
           "atol"_a = Numbers(0),
           "events"_a = nullptr,
           "python_step"_a = py::none())
      .def("__len__", &EngineWorlds::count)
      .def_property_readonly("parts",
                             &EngineWorlds::parts,
                             "Arrays of the record's parts by name, (worlds, numbers), which advance writes.")
      .def(
          "set_varied",
          &EngineWorlds::set_varied,
          "places"_a,
          "values"_a.noconvert(),
          "joint_forces"_a,
          "reach"_a = 0.0,
          "Lets worlds differ in numbers of `model_numbers` at ascending places; values (worlds, places) are "
          "read in every call, not copied. joint_forces: forces of joints, which the model may lack, are "
          "among "
          "them. reach [m]: how much farther from their joints centres of mass of roots are than the "
          "model's.")
      .def(
          "readings",
          &EngineWorlds::readings,
          "worlds"_a = py::none(),
          "threads"_a = 1,
          "Returns all signals (worlds, readings); those that depend on accelerations, wrenches and contacts "
          "are meaningless.")
      .def("set_model",
           &EngineWorlds::set_model,
           "model"_a,
           py::keep_alive<1, 2>(),
           "Steps by another model from now on, with the same states and other numbers or programs.")
      .def("set_actuation",
           &EngineWorlds::set_actuation,
           "actuation"_a,
           "Lets other prescribed forces act from now on.")
      .def("set_smooth_contacts",
           &EngineWorlds::set_smooth_contacts,
           "contacts"_a.none(true),
           "Lets the smooth forces of other contacts, or none, act from now on.")
      .def("copy", &EngineWorlds::copy, "source"_a, "target"_a, "Copies records of worlds to other worlds.")
      .def("save", &EngineWorlds::save, "worlds"_a, "Returns the records of worlds as bytes.")
      .def(
          "load",
          [](EngineWorlds& worlds, const py::bytes& bytes, const Indices& which) {
            const std::string_view view = bytes;
            worlds.load(view.data(), view.size(), which);
          },
          "saved"_a,
          "worlds"_a,
          "Overwrites the records of worlds by saved ones.")
      .def("written",
           &EngineWorlds::written,
           "worlds"_a = py::none(),
           "Returns the worlds whose t, q or v were written.")
      .def("accept",
           &EngineWorlds::accept,
           "worlds"_a = py::none(),
           "Takes over written t, q and v; returns whether a world was lost by it.")
      .def("restore",
           &EngineWorlds::restore,
           "worlds"_a,
           "Puts worlds back to the t, q and v that they had before others were written.")
      .def("see", &EngineWorlds::see_all, "Notes t, q and v: what they are now was not written from outside.")
      .def(
          "see_worlds",
          [](EngineWorlds& worlds, const Indices& which) {
            worlds.check(which, "worlds");
            for (py::ssize_t k = 0; k < which.size(); ++k) worlds.see(which.data()[k]);
          },
          "worlds"_a,
          "As `see`, of some worlds.")
      .def(
          "begin_clock",
          [](EngineWorlds& worlds, const Indices& which) {
            worlds.check(which, "worlds");
            for (py::ssize_t k = 0; k < which.size(); ++k) worlds.begin_clock(which.data()[k]);
          },
          "worlds"_a,
          "Begins the grid of steps at the t of worlds, and sets their next instants.")
      .def(
          "step",
          &EngineWorlds::step,
          "steps"_a,
          "worlds"_a = py::none(),
          "most"_a = py::ssize_t{1} << 62,
          "threads"_a = 1,
          "length"_a = py::none(),
          "Makes steps on the grid, `most` at most; returns how many worlds did not make all of them. length "
          "[s] is that of the grid of worlds whose steps are of adapted size.")
      .def("go_on",
           &EngineWorlds::go_on,
           "worlds"_a = py::none(),
           "most"_a = py::ssize_t{1} << 62,
           "threads"_a = 1,
           "Goes on with the steps of the last call of `step`, of the same worlds.")
      .def("newton_iterations",
           &EngineWorlds::newton_iterations,
           "step"_a,
           "Returns what Newton's method does while step() advances one world by one convex step.")
      .def("stops", &EngineWorlds::stops, "count"_a, "Returns why `step` left its worlds, as `advance` does.")
      .def(
          "advance",
          &EngineWorlds::advance,
          "worlds"_a = py::none(),
          py::kw_only(),
          "times"_a,
          "row"_a.noconvert(),
          "q_rows"_a.noconvert() = py::none(),
          "v_rows"_a.noconvert() = py::none(),
          "loop_rows"_a.noconvert() = py::none(),
          "signal_rows"_a.noconvert() = py::none(),
          "report"_a.noconvert() = py::none(),
          "report_rows"_a.noconvert() = py::none(),
          "inputs"_a.noconvert() = py::none(),
          "input_places"_a = std::vector<int>{},
          "most"_a = py::ssize_t{1} << 62,
          "threads"_a = 1,
          "count"_a = py::none(),
          "Advances worlds, all or some, through times (rows,) [s], or the first `count` of them. row "
          "(worlds,) counts the rows written, "
          "in and out, into q_rows (worlds, "
          "rows, nq), v_rows, signal_rows and report_rows; report (worlds, points, 18) holds the last step's "
          "contacts and the impulses since the last row, in and out. inputs (worlds, n, inputs) are held at "
          "input_places of the signals up to each row, as far as there are; those up to the first are set "
          "already. A world makes at most `most` steps. Returns "
          "for each world why it was left: 0 it has reached the end, 1 its steps are used up, 2 Python has "
          "to run "
          "the blocks of its part 'pending', 3 it is lost, see its part 'status', 4 it is at an event.");
}

}  // namespace

void bind_worlds(py::module_& m) {
  m.def(
      "vary_states",
      [](Model& model, const std::optional<Integers>& places, const Reals& values, bool joint_forces) {
        model.vary(places ? tree::VariedNumbers{static_cast<int>(places->size()),
                                                places->data(),
                                                values.data(),
                                                joint_forces}
                          : tree::VariedNumbers{});
      },
      "model"_a,
      "places"_a,
      "values"_a.noconvert(),
      "joint_forces"_a,
      "Lets the states of all later batches of a model differ in numbers of `model_numbers` at ascending "
      "places, with "
      "values (states, places), both read in every call, not copied; places None ends that.");
  m.def(
      "model_numbers",
      [](const Model& model, const ModelContacts* contacts) {
        const NumberList found = list_numbers(model, contacts);
        return py::make_tuple(Reals(static_cast<py::ssize_t>(found.values.size()), found.values.data()),
                              found.tables);
      },
      "model"_a,
      "contacts"_a.none(true),
      "Returns all numbers of a model and of contacts of convex steps, and their tables: name, place of the "
      "first "
      "number, records.");
  py::class_<engine::RecordedWorlds>(m, "RecordedWorlds", "Worlds of either precision.");
  bind_worlds_of<double>(
      m,
      "Worlds",
      "Records of worlds of one scene, and their advance. `periods`, `first_bit` and "
      "`python` are the periods [s] of the "
      "sampled blocks, the bit of the first of them, and the bits that Python runs; `key` is "
      "the place of the key of random numbers among the signals. "
      "python_step(world, t, h), if "
      "given, makes a step of length h [s] in the parts of a world, whatever the "
      "integrator, and returns whether "
      "its "
      "state is finite and closed; all blocks run in Python then.");
  bind_worlds_of<float>(m, "FloatWorlds", "The same of worlds in single precision.");
}

}  // namespace pysim::bindings
