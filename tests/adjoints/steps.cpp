// Convex steps as a whole.
#include "mechanism.hpp"
// kernels, which call functions of numbers by their qualified names
#include "contact/copy.hpp"
#include "stepping/convex/product.hpp"
#include "stepping/convex/touching_points.hpp"

namespace pysim::collision {

/// Fields are the same in all worlds.
template <>
struct UniformOf<adjoints::T> {
  using type = simd::Tangent<simd::Pack<double, 1, simd::Plain>>;
};

}  // namespace pysim::collision

namespace pysim::contact {

/// Newton's method ends where the slopes of impulses are those of the laws, too.
template <>
Mask<adjoints::T> ConvexProblem<adjoints::T>::converged() const {
  using adjoints::slope;
  constexpr double enough = 1e-10;  // of the largest one: equations of coupled bodies are iterated
  bool good = true;
  kinds.each([&](const auto& kind) { good = good && any(kind.converged()); });
  double most = 0, off = 0;
  const auto add = [&](const adjoints::T& made, const adjoints::T& by_law) {
    most = std::max(most, std::fabs(slope(by_law)));
    off = std::max(off, std::fabs(slope(made) - slope(by_law)));
  };
  const auto add_three = [&](const auto& x) {
    add(x.gamma_hat.x, x.impulse.gamma.x), add(x.gamma_hat.y, x.impulse.gamma.y),
        add(x.gamma_hat.z, x.impulse.gamma.z);
  };
  pairs.each([&](int k, const Pair& pair) {
    for (int i = 0; i < pairs.used[k]; ++i) {
      add_three(kinds.points.point[pairs.first[k] + i]);
      if (pair.turning >= 0) add_three(kinds.turnings.turning[pairs.first_turning[k] + i]);
    }
  });
  return good && off <= enough * most ? simd::everywhere<adjoints::T>() : simd::nowhere<adjoints::T>();
}

/// Radii are renewed where it has ended.
template <>
Mask<adjoints::T> ConvexProblem<adjoints::T>::settled() {
  return simd::nowhere<adjoints::T>();
}

}  // namespace pysim::contact

namespace pysim::adjoints {

class Stepped : Mechanism {
 public:
  Stepped(const Scene& scene, Random& random)
      : Mechanism(scene, random, true),
        parts_(scene.worlds().parts()),
        actuation_(scene.worlds().actuation()),
        contacts_(*scene.worlds().model_contacts()),
        sensors_(scene.worlds().sensor_list()),
        places_(contacts_.memory()),
        plain_contacts_(copied<P>(constants_, plain_)),
        dual_contacts_(copied<T>(directions_, dual_)),
        h_(scene.worlds().scheme().step),
        passes_(scene.worlds().scheme().passes) {
    if (model_.rows > 0)
      retract(1e-5);  // a state on its constraints is not projected, but those beside it are
    aim();
  }

  void compare() {
    Comparison made;
    const auto start = draw_start();
    StateDirections bar;
    bar.q = random_.normals(nv_), bar.v = random_.normals(nv_);
    bar.deflections = random_.normals(3 * places_.points);
    bar.turnings = random_.normals(3 * places_.turning_points);
    bar.coordinates = random_.normals(places_.coordinates);
    bar.signals = random_.normals(parts_.sizes.signals);
    bar.readings = random_.normals(reading_count());
    push_step(start, bar, made);
    pull_step(start, bar, made);
    note("convex step", made);
  }

 private:
  static constexpr double tolerance = 1e-13;  ///< of impulses

  struct StateDirections {
    std::vector<double> q, v, deflections, turnings, coordinates, signals;
    std::vector<double> readings;  ///< at the end
  };

  template <class To, class Numbers, class W>
  contact::Contacts<To> copied(Numbers& numbers, W& w) const {
    using S = std::remove_pointer_t<decltype(w.next)>;
    tree::ModelCopy<To, S, Numbers> copy(w, numbers);
    return contact::copy_contacts(contacts_.view(), model_.nv, copy, numbers, w);
  }

  StateDirections draw_start() {
    StateDirections d;
    d.q = along_, d.v = random_.normals(nv_);
    d.deflections.assign(static_cast<std::size_t>(3 * places_.points), 0);
    d.turnings.assign(static_cast<std::size_t>(3 * places_.turning_points), 0);
    each_touching([&](int point, const double*) {
      for (int i = 0; i < 3; ++i)
        d.deflections[static_cast<std::size_t>(3 * point + i)] = 1e-3 * random_.normal();
    });
    for (std::size_t i = 0; i < d.turnings.size(); ++i) {
      const double s = parts_.scheme[places_.turning(0) + static_cast<int>(i)];
      d.turnings[i] = s == 0 ? 0 : 1e-3 * random_.normal();
    }
    for (int k = 0; k < places_.coordinates; ++k) d.coordinates.push_back(1e-6 * random_.normal());
    d.signals = random_.normals(parts_.sizes.signals);
    return d;
  }

  /// visit(point, its memory) of points that touch.
  template <class Visit>
  void each_touching(const Visit& visit) const {
    using Entry = stepping::TouchingPoint;
    for (std::int64_t n = 0; n < parts_.touching[0]; ++n) {
      const double* const entry = parts_.contacts + n * Entry::numbers;
      visit(static_cast<int>(entry[Entry::number]), entry + Entry::memory);
    }
  }

  /// The state of the world; number(x, direction, index) makes one.
  template <class S, class Number>
  contact::ContactState<S> state(int which,
                                 contact::LivePoints<S>& live,
                                 const StateDirections& d,
                                 const Number& number,
                                 tree::Workspace<S>& w) const {
    const auto take_all = [&](const double* from, int count, const std::vector<double>* along) {
      S* const to = tree::take<S>(w, count);
      for (int i = 0; i < count; ++i)
        to[i] = number(from[i], along == nullptr ? 0 : (*along)[static_cast<std::size_t>(i)]);
      return to;
    };
    const contact::ContactState<S> made = {take_all(parts_.q, parts_.sizes.q, nullptr),
                                           take_all(parts_.v, parts_.sizes.v, &d.v),
                                           take_all(parts_.loop_q, parts_.sizes.loop_q, nullptr),
                                           live.memory[which],
                                           live.report[which],
                                           &live};
    for (int i = 0; i < parts_.sizes.scheme; ++i) {
      const int of_turning = i - places_.turning(0), of_coordinate = i - places_.coordinate(0);
      const double along = of_turning >= 0 && of_turning < 3 * places_.turning_points
                               ? d.turnings[static_cast<std::size_t>(of_turning)]
                           : of_coordinate >= 0 && of_coordinate < places_.coordinates
                               ? d.coordinates[static_cast<std::size_t>(of_coordinate)]
                               : 0;
      made.memory[i] = number(parts_.scheme[i], along);
    }
    each_touching([&](int point, const double* memory) {
      live.add(point);
      S* const to = made.memory_of(point);
      for (int i = 0; i < contact::ContactMemory::per_point; ++i) {
        to[i] = number(memory[i], i < 3 ? d.deflections[static_cast<std::size_t>(3 * point + i)] : 0);
      }
    });
    return made;
  }

  template <class S, class Number>
  stepping::SignalState<S> signals(const StateDirections& d,
                                   const Number& number,
                                   tree::Workspace<S>& w) const {
    stepping::SignalState<S> made;
    const int count = parts_.sizes.signals;
    if (model_.signals == nullptr) return made;
    made.numbers = tree::take<S>(w, count);
    made.rate = tree::take<S>(w, model_.signals->states);
    for (int i = 0; i < count; ++i) {
      const double x = parts_.signals[i];
      made.numbers[i] = number(x, d.signals[static_cast<std::size_t>(i)]);
    }
    return made;
  }

  /// By dual numbers.
  void push_step(const StateDirections& d, const StateDirections& bar, Comparison& to) {
    auto w = tangents(1 << 22);
    contact::LivePoints<T> live(places_, w);
    auto at = state<T>(0, live, d, dual, w);
    simd::copy_each<T>(q_dual_, parts_.sizes.q, at.q);
    stepping::System<T> system = {dual_model_, actuation_, w, at.loop_q};
    system.signals = signals<T>(d, dual, w);
    system.workspace = w;
    contact::PairSchedule<T> schedule(dual_contacts_, model_.bodies, w);
    const stepping::ConvexRun<T> run = {dual_contacts_, passes_, tolerance, schedule, contacts_.work()};
    stepping::ConvexStep<T> step(system, run, constant(h_), w);
    if (none(step.make(simd::everywhere<T>(), constant(parts_.t[0]), at))) std::exit(5);
    push_configuration(at.q, bar.q, to);
    push(at.v, bar.v, to), push(system.signals.numbers, bar.signals, to);
    push(at.memory + places_.coordinate(0), bar.coordinates, to);
    push(at.memory + places_.turning(0), bar.turnings, to);
    for (int k = 0; k < places_.points; ++k) {
      const auto own = bar.deflections.begin() + 3 * k;
      push(at.remembered(k), {own, own + 3}, to);
    }
    if (reading_count() > 0) push_readings(system, at, bar.readings, w, to);
  }

  /// Signals at the end, from what the contacts report there.
  void push_readings(const stepping::System<T>& system,
                     const contact::ContactState<T>& end,
                     const std::vector<double>& bar,
                     tree::Workspace<T> w,
                     Comparison& to) const {
    T *const numbers = tree::take<T>(w, parts_.sizes.signals), *const readings =
                                                                   tree::take<T>(w, reading_count());
    simd::copy_each<T>(system.signals.numbers, parts_.sizes.signals, numbers);
    stepping::EndReport<T> report(end.live->count, &sensors_, w);
    stepping::add_touching_points<T>(dual_contacts_, end, report, w);
    const T *const q = end.q, *const v = end.v, *const own = numbers;
    const auto* const wrenches = report.act({true, simd::everywhere<T>()}, dual_model_, q, numbers, w);
    stepping::System<T> inner = system;
    inner.workspace = w;
    stepping::read_end<T>(inner, constant(parts_.t[0] + h_), q, v, own, wrenches, readings);
    push(readings, bar, to);
  }

  /// By the adjoint.
  void pull_step(const StateDirections& d, const StateDirections& bar, Comparison& to) {
    const auto plain_number = [](double x, double) { return P{x}; };
    auto& w = plain_;
    contact::LivePoints<P> live(places_, w);
    const auto start = state<P>(0, live, d, plain_number, w), end = state<P>(1, live, d, plain_number, w);
    simd::copy_each<P>(q_, parts_.sizes.q, start.q);
    simd::copy_each<P>(q_, parts_.sizes.q, end.q);
    stepping::System<P> system = {model_, actuation_, w, start.loop_q};
    system.signals = signals<P>(d, plain_number, w);
    system.workspace = w;
    contact::PairSchedule<P> schedule(plain_contacts_, model_.bodies, w);
    stepping::ConvexRun<P> run = {plain_contacts_, passes_, tolerance, schedule, contacts_.work()};
    run.sensors = &sensors_;
    const auto varied = directions_.varied();
    P *const q = plain(bar.q), *const v = plain(bar.v), *const deflections = plain(bar.deflections),
             *const turnings = plain(bar.turnings), *const coordinates = plain(bar.coordinates),
             *const signals_bar = plain(bar.signals), *const theta = zeros(10 * model_.bodies),
             *const laws = zeros(constraints::law_numbers * plain_contacts_.pairs),
             *const numbers = zeros(varied.count), *const readings = plain(bar.readings);
    stepping::ConvexStepProduct<P> product(system, run, &varied, P{h_}, w);
    const double t = parts_.t[0];
    const auto reads = reading_count() > 0 ? stepping::ReadSignals::all : stepping::ReadSignals::none;
    const stepping::StepSegment<P> segment = {simd::everywhere<P>(), P{t}, P{h_}, P{t + h_}, 0, {0}, reads};
    if (none(product.make(segment, start, end))) std::exit(7);
    if (!product.pull({q, v, deflections, turnings, coordinates, signals_bar, nullptr, readings},
                      {theta, laws, numbers, {}}))
      std::exit(6);
    pull(q, d.q, to), pull(v, d.v, to), pull(deflections, d.deflections, to), pull(turnings, d.turnings, to);
    pull(coordinates, d.coordinates, to), pull(signals_bar, d.signals, to),
        pull(theta, directions_.theta, to);
    pull(laws, directions_.laws, to), pull(numbers, directions_.along, to);
  }

  const stepping::WorldArrays<double>& parts_;
  const stepping::Actuation& actuation_;
  const engine::ModelContacts& contacts_;
  const contact::SensorList& sensors_;
  const contact::ContactMemory places_;
  const contact::Contacts<P> plain_contacts_;
  const contact::Contacts<T> dual_contacts_;
  const double h_;
  const int passes_;
};

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 3) return 2;
  using namespace pysim::adjoints;
  const Scene scene(words[1]);
  Random random = {std::mt19937_64(std::strtoull(words[2], nullptr, 10))};
  for (const int steps : {1, 1, 3, 15, 30, 60}) {
    pysim_worlds_step(scene.handle(), steps, 1);
    Stepped(scene, random).compare();
  }
  print_errors();
  return 0;
}
