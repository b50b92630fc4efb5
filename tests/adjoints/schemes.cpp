// Steps of schemes without contacts that are solved, and of smooth contacts.
#include "mechanism.hpp"
// kernels, which call functions of numbers by their qualified names
#include "fitted_loops.hpp"
#include "stepping/generalized_alpha.hpp"
#include "stepping/implicit_midpoint.hpp"
#include "stepping/rattle.hpp"
#include "stepping/runge_kutta.hpp"
#include "stepping/scheme_product.hpp"
#include "stepping/semi_implicit.hpp"
#include "stepping/step_halving.hpp"

namespace pysim::stepping {

template <>
simd::Mask<adjoints::T> finite<adjoints::T>(const ModelOf<adjoints::T>& model,
                                            const adjoints::T* q,
                                            const adjoints::T* v) {
  double sum = 0;
  for (int i = 0; i < model.reduced_nq; ++i) sum += adjoints::value(q[i]);
  for (int i = 0; i < model.reduced_nv; ++i) sum += adjoints::value(v[i]);
  return sum - sum == 0 ? simd::everywhere<adjoints::T>() : simd::nowhere<adjoints::T>();
}

/// Newton's method goes on until slopes have converged, too.
template <>
simd::Mask<adjoints::T> iterate(const System<adjoints::T>& system,
                                const Stage<adjoints::T>& stage,
                                simd::Mask<adjoints::T> wanted,
                                const SolverState<adjoints::T>& memory,
                                adjoints::T* w) {
  using adjoints::T;
  constexpr int further = 20;
  Workspace<T> scratch = system.workspace;
  Newton<T> newton(system, stage, wanted, memory, w, scratch);
  System<T> inner = system;
  inner.workspace = scratch;
  int n = 0;
  while (n < Newton<T>::most && newton.go_on()) newton.iterate(inner, n++);
  for (int k = 0; k < further; ++k) {
    newton.active = newton.solved;
    newton.iterate(inner, n);
  }
  return newton.solved;
}

/// All corrections of λ are made, until slopes have converged, too.
template <>
simd::Mask<adjoints::T> RattleIterate<adjoints::T>::take(int nq,
                                                         int nv,
                                                         const adjoints::T* next_q,
                                                         const adjoints::T* next_v,
                                                         simd::Mask<adjoints::T> made,
                                                         adjoints::T) {
  simd::copy_where<adjoints::T>(active, next_q, nq, q);
  simd::copy_where<adjoints::T>(active, next_v, nv, v);
  good = made;
  return active;
}

}  // namespace pysim::stepping

namespace pysim::adjoints {

/// Laws of smooth contacts, which are the same in all worlds.
using U = simd::Tangent<simd::Pack<double, 1, simd::Plain>>;

inline bool smooth_wrench(const void* law, int pair, const void* motion, void* wrench, void*) {
  const auto& smooth = *static_cast<const contact::SmoothContacts*>(law);
  U* const no_slopes = nullptr;
  return contact::smooth_wrench<U>(
      smooth, pair, static_cast<const U*>(motion), static_cast<U*>(wrench), no_slopes);
}

class Stepped : Mechanism {
 public:
  Stepped(const Scene& scene, Random& random)
      : Mechanism(scene, random, !scene.model().planar_loops),
        parts_(scene.worlds().parts()),
        actuation_(scene.worlds().actuation()),
        sensors_(scene.worlds().sensor_list()),
        h_(scene.worlds().scheme().step),
        spectral_radius_(scene.worlds().scheme().spectral_radius),
        carried_(parts_.sizes.scheme) {
    if (const auto* const contacts = scene.worlds().contact_forces()) {
      forces_ = *contacts;
      forces_.pack = forces_.single = &smooth_wrench;
      model_.contacts = contacts;
      dual_model_.contacts = &forces_;
    }
    if (model_.rows > 0)
      retract(1e-5);  // a state on its constraints is not projected, but those beside it are
    aim();
  }

  template <class Scheme>
  void compare(const char* name) {
    const auto dv = random_.normals(nv_), dx = random_.normals(parts_.sizes.signals), dm = memory_direction();
    const auto q_bar = random_.normals(nv_), v_bar = random_.normals(nv_), m_bar = memory_direction(),
               x_bar = random_.normals(parts_.sizes.signals), y_bar = random_.normals(reading_count());
    Comparison made;
    {
      const auto slopes = [](const double* x, const std::vector<double>& along, auto& w) {
        T* const to = tree::take<T>(w, static_cast<int>(along.size()));
        for (std::size_t i = 0; i < along.size(); ++i) to[i] = dual(x[i], along[i]);
        return to;
      };
      auto w = scratch();
      const auto take_state = [&] {
        T* const q = tree::take<T>(w, parts_.sizes.q);
        simd::copy_each<T>(q_dual_, parts_.sizes.q, q);
        return stepping::SchemeState<T>{q,
                                        slopes(parts_.v, dv, w),
                                        slopes(parts_.scheme, dm, w),
                                        slopes(parts_.loop_q, still(parts_.sizes.loop_q), w),
                                        slopes(parts_.pivots, still(parts_.sizes.pivots), w)};
      };
      const auto start = take_state(), state = take_state();
      stepping::System<T> system = {dual_model_, actuation_, w, nullptr};
      auto dependence = constraints::take_dependence<T>(model_.rows, w);
      system.dependence = &dependence;
      if (model_.signals != nullptr) {
        system.signals.numbers = slopes(parts_.signals, dx, w);
        system.signals.rate = tree::take<T>(w, model_.signals->states);
      }
      system.spectral_radius = spectral_radius_;
      system.workspace = w;
      const auto end = stepping::make_step<Scheme, T>(
          system, simd::nowhere<T>(), constant(parts_.t[0]), constant(h_), start, state);
      if (simd::none(end.good)) std::exit(5);
      push_configuration(state.q, q_bar, made), push(state.v, v_bar, made), push(state.memory, m_bar, made);
      if (model_.signals != nullptr) push(system.signals.numbers, x_bar, made);
      if (reading_count() > 0) push_readings(system, state, y_bar, made);
    }
    auto& w = plain_;
    const auto numbers = [](const double* x, int count, auto& to) {
      P* const at = tree::take<P>(to, count);
      for (int i = 0; i < count; ++i) at[i] = P{x[i]};
      return at;
    };
    const auto state = [&] {
      return stepping::SchemeState<P>{numbers(parts_.q, parts_.sizes.q, w),
                                      numbers(parts_.v, nv_, w),
                                      numbers(parts_.scheme, carried_, w),
                                      numbers(parts_.loop_q, parts_.sizes.loop_q, w),
                                      numbers(parts_.pivots, parts_.sizes.pivots, w)};
    };
    const auto start = state(), end = state();
    simd::copy_each<P>(q_, parts_.sizes.q, start.q);
    stepping::System<P> system = {model_, actuation_, w, nullptr};
    if (model_.signals != nullptr) {
      system.signals.numbers = numbers(parts_.signals, parts_.sizes.signals, w);
      system.signals.rate = tree::take<P>(w, model_.signals->states);
    }
    system.spectral_radius = spectral_radius_;
    const auto varied = directions_.varied();
    P *const q = plain(q_bar), *const v = plain(v_bar), *const m = plain(m_bar), *const x = plain(x_bar),
             *const theta = zeros(10 * model_.bodies), *const sums = zeros(varied.count),
             *const y = plain(y_bar);
    system.workspace = w;
    stepping::SchemeStepProduct<P, Scheme> product(system, &varied, carried_, P{h_}, w, &sensors_);
    const double t = parts_.t[0];
    const auto reads = reading_count() > 0 ? stepping::ReadSignals::all : stepping::ReadSignals::none;
    const stepping::StepSegment<P> segment = {simd::everywhere<P>(), P{t}, P{h_}, P{t + h_}, 0, {0}, reads};
    if (simd::none(product.make(segment, simd::nowhere<P>(), start, end))) std::exit(7);
    if (!product.pull({q, v, nullptr, nullptr, nullptr, x, m, y}, {theta, nullptr, sums, {}})) std::exit(6);
    pull(q, along_, made), pull(v, dv, made), pull(m, dm, made), pull(theta, directions_.theta, made);
    pull(sums, directions_.along, made);
    if (model_.signals != nullptr) pull(x, dx, made);
    note(name, made);
  }

 private:
  /// Directions of accelerations that a scheme carries; its counts have none.
  std::vector<double> memory_direction() {
    auto d = random_.normals(carried_);
    const int counts = stepping::solver_numbers(0);
    for (int i = 0; i < counts && i < carried_; ++i) d[static_cast<std::size_t>(i)] = 0;
    return d;
  }

  /// Signals at the end.
  void push_readings(const stepping::System<T>& system,
                     const stepping::SchemeState<T>& end,
                     const std::vector<double>& bar,
                     Comparison& to) const {
    stepping::System<T> inner = system;
    auto& w = inner.workspace;
    T *const numbers = tree::take<T>(w, parts_.sizes.signals), *const readings =
                                                                   tree::take<T>(w, reading_count());
    simd::copy_each<T>(system.signals.numbers, parts_.sizes.signals, numbers);
    const T *const q = end.q, *const v = end.v, *const own = numbers;
    stepping::measure_smooth_contacts<T>(dual_model_, &sensors_, simd::everywhere<T>(), q, v, numbers, w);
    inner.loop_q = end.loop_q;
    inner.dependence = nullptr;
    const spatial::Force<T>* const unloaded = nullptr;
    stepping::read_end<T>(inner, constant(parts_.t[0] + h_), q, v, own, unloaded, readings);
    push(readings, bar, to);
  }

  const stepping::WorldArrays<double>& parts_;
  const stepping::Actuation& actuation_;
  const contact::SensorList& sensors_;
  const double h_, spectral_radius_;
  const int carried_;
  tree::ContactForces forces_ = {};
};

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 3) return 2;
  using namespace pysim::adjoints;
  namespace stepping = pysim::stepping;
  const Scene scene(words[1]);
  Random random = {std::mt19937_64(std::strtoull(words[2], nullptr, 10))};
  const std::string scheme = scene.worlds().scheme().integrator;
  for (const int steps : {1, 1, 3, 4}) {
    pysim_worlds_step(scene.handle(), steps, 1);
    Stepped world(scene, random);
    if (scheme == "generalized_alpha") {
      world.compare<stepping::Halving<stepping::GeneralizedAlpha>>("step of generalised α");
    } else if (scheme == "implicit_midpoint") {
      world.compare<stepping::Halving<stepping::Rattle<stepping::ImplicitMidpoint>>>(
          "step by the implicit midpoint");
    } else {
      world.compare<stepping::SemiImplicit>("semi-implicit step");
      world.compare<stepping::Rk2>("step by rk2");
      world.compare<stepping::Rk4>("step by rk4");
    }
  }
  print_errors();
  return 0;
}
