// Product of a convex step's derivatives with cotangents: from those of the state at the end to those of the
// state at the start, by the implicit function theorem.
//
//     A (v₁ − v*) = Σ Jᵀγ(J v₁; x, s, r)          λ = H⁻¹ v̄₁,  H = A + Σ JᵀGJ at the solution
//     v̄* = A λ      Ā = −λ (v₁ − v*)ᵀ      γ̄ = J λ      J̄ = γ (λ) + …
//
// Radii that were renewed are those of a problem of their own, μ γ_n, which is solved in the same way: worlds
// in which points slide take two solutions, others one. Laws, geometry, forces of actuators and the motion of
// free bodies are run once more with numbers on a tape (simd/reverse.hpp), so their derivatives are those of
// the text that made the step; sums over the tree are recursions (dynamics/rnea_product.hpp).
//
// A step is on one side of every switch (touches, sticks, is bounded); its derivative is that of this side.
#pragma once

#include "simd/reverse.hpp"
#include "stepping/convex/step.hpp"
#include "stepping/velocity_terms_product.hpp"
#include "tree/model_copy.hpp"

namespace pysim::stepping {

/// Cotangents of a world's state, in and out: q along δ of q ⊕ δ.
template <class S>
struct StateCotangents {
  S *q, *v;        ///< (nv)
  S* deflections;  ///< (points, 3) of contacts, on the world's axes
  S* coordinates;  ///< [coordinates] of deflections of dry friction
  S* signals;      ///< [Signals::numbers]
};

/// Sums of cotangents of what acts in a step, out.
template <class S>
struct ParameterCotangents {
  static constexpr int per_law = 6;  ///< K, d, μ_s, μ_d, k_t, τ

  S* theta;    ///< (bodies, ten) of inertias in the engine's frames
  S* laws;     ///< (pairs, per_law)
  S* numbers;  ///< [count] of numbers in which worlds may differ, but those above
};

/// Numbers of a copied model on a tape; those in which worlds may differ are inputs.
template <class S>
class TapedNumbers {
 public:
  using N = simd::Reverse<S, true>;

  TapedNumbers(const tree::VariedNumbers& varied, simd::Tape<S>& tape, N* inputs)
      : varied_(varied), tape_(tape), inputs_(inputs) {}

  void begin(const char*, int) {}

  void operator()(N& to, const S& from) {
    to = N(from);
    if (next_ < varied_.count && varied_.place[next_] == at_) {
      to = inputs_[next_++] = N(from, &tape_, tape_.add_node());
    }
    ++at_;
  }

 private:
  const tree::VariedNumbers& varied_;
  simd::Tape<S>& tape_;
  N* const inputs_;
  std::ptrdiff_t at_ = 0;
  int next_ = 0;
};

template <class S>
class ConvexStepProduct {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = contact::ContactPair<Parameter>;
  /// Whether worlds may differ in numbers of the model, which are on the tape.
  static constexpr bool differs = !std::is_same_v<Parameter, Real>;
  using R = simd::Reverse<S, differs>;
  using N = simd::Reverse<S, true>;
  using G = simd::Reverse<S>;  ///< of geometry, whose numbers are not on the tape

  /// Memory is taken where `w` is; `system` has signals that the step may change. `varied` are the numbers in
  /// which worlds may differ; null for none.
  ConvexStepProduct(const System<S>& system,
                    const ConvexRun<S>& run,
                    const tree::VariedNumbers* varied,
                    S h,
                    Workspace<S>& w)
      : system_(system),
        model_(system.model),
        contacts_(run.contacts),
        varied_(varied),
        places_(memory_of(run.contacts, system.model.nv)),
        h_(h),
        rounds_(model_.nv, w),
        renewal_{take<S>(w, model_.nv), simd::nowhere<S>()},
        start_numbers_(take<S>(w, number_count())),
        tree_(model_, nullptr, w),
        step_(system_, run, h, w),
        w_(w) {
    for (int i = 0; i < model_.nv; ++i) renewal_.delta[i] = all<S>(0);
    step_.free_.rounds = &rounds_;
    step_.problem_.renewal = &renewal_;
  }

  ConvexStepProduct(const ConvexStepProduct&) = delete;
  ConvexStepProduct& operator=(const ConvexStepProduct&) = delete;

  /// Makes the step from `start` in `end`, which begins as a copy of it. Returns the worlds where it was
  /// solved in one part, and the tape has room for it.
  Mask<S> make(S time, const ContactState<S>& start, const ContactState<S>& end) {
    simd::copy_each<S>(static_cast<const S*>(system_.signals.numbers), number_count(), start_numbers_);
    const auto good = step_.make(simd::everywhere<S>(), time, end);
    record(fma(all<S>(Real(0.5)), h_, time), start);
    return tape_.is_full() ? simd::nowhere<S>() : good;
  }

  /// Replaces cotangents at the end by those at the start, and adds to the sums.
  void pull(const StateCotangents<S>& bar, const ParameterCotangents<S>& sums) {
    const S o = all<S>(0);
    const int nv = model_.nv;
    Workspace<S> w = w_;
    S* const sum = take<S>(w, 6 * std::ptrdiff_t{nv});
    for (int i = 0; i < 6 * nv; ++i) sum[i] = o;
    const StepMatrixCotangents<S> matrix = {sum, sum + nv, sums.theta};
    S *const v_bar = sum + 2 * nv, *const first_bar = sum + 3 * nv, *const start_bar = sum + 4 * nv,
             *const shift_bar = sum + 5 * nv;
    for (int pass = 0; pass < passes; ++pass) {
      for (int b = 0; b < model_.bodies; ++b) twist_bar_[pass][b] = spatial::zero_force<S>();
    }
    seed_end(bar);
    tape_.pull(begin_points_);
    collect_twists(0, v_bar, w);
    pull_pass(0, v_bar, matrix, w);
    pass_limits_on();
    tape_.pull(begin_points_);
    if (any(renewal_.worlds)) {
      collect_twists(1, first_bar, w);
      pull_pass(1, first_bar, matrix, w);
    }
    for (int pass = 0; pass < passes; ++pass) {
      tree_.gather(twist_[pass], velocity_[pass], twist_bar_[pass], matrix.q, nullptr);
    }
    auto* const x_bar = take<Force<S>>(w, model_.bodies);
    collect(&BodyInputs::start, x_bar);
    tree_.gather(start_twist_, start_v_, x_bar, matrix.q, start_bar);
    collect(&BodyInputs::shift, x_bar);
    tree_.gather(shift_twist_, static_cast<const S*>(step_.free_.shift), x_bar, matrix.q, shift_bar);
    collect(&BodyInputs::displacement, x_bar);
    tree_.gather_displacements(x_bar, matrix.q);
    for (int i = 0; i < nv; ++i) seed(shift_[i], shift_bar[i]);
    tape_.pull(begin_free_, begin_points_);
    pull_free_velocity(start_bar, matrix, w);
    for (int i = 0; i < nv; ++i) {
      seed(base_[i], matrix.base[i]);
      if constexpr (differs) seed(taped_model_.armature[i], matrix.base[i]);
    }
    tape_.pull(0, begin_free_);
    read_inputs(matrix.q, start_bar, bar, sums);
  }

 private:
  static constexpr int passes = 2;  ///< the last one, and that whose impulses limit friction

  /// A body on the tape: displacement on its axes, twists at the start, of shifts, and at the passes'
  /// solutions.
  struct BodyInputs {
    R *displacement, *start, *shift, *now[passes];
    spatial::Pose<G> X_WB;
  };

  /// A contact point on the tape.
  struct TapedPoint {
    Vec3<N> gamma[passes];
    Vec3<G> p;
    N lagged, renewed;  ///< radii of friction
    R* limit;           ///< that of the last pass
    R* s;               ///< [3] deflection at the start, on the world's axes
    Vec3<R> next;       ///< the same at the end
    int body, place, slot;
  };

  /// A law of a pair on the tape.
  struct TapedLaw {
    R* number;
    int pair;
  };

  /// Passes whose impulses count in some world.
  int made_passes() const { return any(renewal_.worlds) ? passes : 1; }

  int number_count() const { return system_.signals.numbers == nullptr ? 0 : model_.signals->numbers(); }

  template <class T>
  static Vec3<T> three(const R* x) {
    return {T(x[0]), T(x[1]), T(x[2])};
  }

  static Vec3<N> numbers(const Vec3<G>& a) { return {N(a.x), N(a.y), N(a.z)}; }

  static simd::Mask<R> on_tape(Mask<S> mask) { return {mask.lanes}; }

  R* inputs(const S* values, int count) { return take_inputs<S, differs>(values, count, tape_, w_); }

  R* inputs(const Motion<S>& x) {
    const S values[6] = {x.v.x, x.v.y, x.v.z, x.w.x, x.w.y, x.w.z};
    return inputs(values, 6);
  }

  Workspace<R> for_tape() const { return {reinterpret_cast<R*>(w_.next)}; }
  void keep(const Workspace<R>& used) { w_.next = reinterpret_cast<S*>(used.next); }

  template <class T>
  T* take_taped(int count) {
    Workspace<R> w = for_tape();
    T* const taken = take<T>(w, count);
    keep(w);
    return taken;
  }

  /// Runs the step once more on the tape. `time` is the middle of the step.
  void record(S time, const ContactState<S>& start) {
    start_v_ = start.v;
    start_q_ = start.q;
    take_tape();
    take_inputs_of_numbers();
    take_inputs_of_state(start);
    tree_.place(start.q, start.v, w_);
    place_twists();
    take_inputs_of_motion();
    take_inputs_of_bodies();
    take_inputs_of_points(start);
    record_forces(time);
    begin_free_ = tape_.edges;
    record_free_velocity();
    begin_points_ = tape_.edges;
    for (int n = 0; n < points_; ++n) {
      if (n == 0 || point_[n].body != point_[n - 1].body) place_body(point_[n].body);
    }
    for (int n = 0; n < points_; ++n) record_point(n, start);
    record_coordinates();
    record_end(time);
  }

  void take_tape() {
    constexpr int most = simd::Tape<S>::most;
    tape_.weight = take<S>(w_, most);
    tape_.cotangent = take<S>(w_, most);
    tape_.from = take<int>(w_, most);
    tape_.to = take<int>(w_, most);
  }

  /// The model as functions on the tape read it.
  void take_inputs_of_numbers() {
    if constexpr (differs) {
      varied_number_ = take_taped<N>(varied_->count);
      for (int n = 0; n < varied_->count; ++n) varied_number_[n] = N(all<S>(0));
      TapedNumbers<S> numbers(*varied_, tape_, varied_number_);
      tree::ModelCopy<N, S, TapedNumbers<S>> copy(w_, numbers);
      taped_model_ = copy.of(model_);
      constraints::ContactLaw<N> law;  // those of points have inputs of their own
      const tree::CopyFields<N, S, TapedNumbers<S>> pass = {numbers};
      for (int k = 0; k < contacts_.pairs; ++k) {
        constraints::ContactLaw<N>::visit(pass, law, contacts_.pair[k].law);
      }
      coordinate_ = copy.template records<constraints::CoordinateLaw>(
          "coordinates", contacts_.coordinate, contacts_.coordinates);
      taped_contacts_.smooth = copy.template records<tree::Passive>("smooth", contacts_.smooth, model_.nv);
      taped_contacts_.diagonal = copy.numbers("diagonal", contacts_.diagonal, model_.nv);
    } else {
      taped_model_ = model_;
      taped_contacts_ = contacts_;
      coordinate_ = contacts_.coordinate;
    }
  }

  void take_inputs_of_state(const ContactState<S>& start) {
    const int nv = model_.nv;
    S* const values = take<S>(w_, nv);
    for (int i = 0; i < nv; ++i) values[i] = all<S>(0);
    dq_ = inputs(values, nv);
    v_ = inputs(start.v, nv);
    number_ = inputs(start_numbers_, number_count());
    deflection_ = inputs(start.memory + places_.coordinate(0), contacts_.coordinates);
    theta_ = take_taped<R>(10 * model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) {
      S inertia[10];
      for (int i = 0; i < 10; ++i) inertia[i] = all<S>(model_.constants[b].inertia[i]);
      const R* const of_body = inputs(inertia, 10);
      for (int i = 0; i < 10; ++i) theta_[10 * b + i] = of_body[i];
    }
  }

  /// Velocities of the passes, and what twists they give.
  void place_twists() {
    const int nv = model_.nv;
    for (int pass = 0; pass < passes; ++pass) {
      velocity_[pass] = take<S>(w_, nv);
      change_[pass] = take<S>(w_, nv);
      for (int i = 0; i < nv; ++i) {
        const S delta = step_.delta_[i];
        change_[pass][i] = pass == 0 ? delta : select(renewal_.worlds, renewal_.delta[i], delta);
        velocity_[pass][i] = step_.velocity()[i] + (change_[pass][i] - delta);
      }
      twist_[pass] = take<Motion<S>>(w_, model_.bodies);
      twist_bar_[pass] = take<Force<S>>(w_, model_.bodies);
      tree_.spread(velocity_[pass], twist_[pass]);
    }
    start_twist_ = take<Motion<S>>(w_, model_.bodies);
    shift_twist_ = take<Motion<S>>(w_, model_.bodies);
    tree_.spread(start_v_, start_twist_);
    tree_.spread(step_.free_.shift, shift_twist_);
  }

  /// Velocity terms are those of worlds that have them.
  void take_inputs_of_motion() {
    const int nv = model_.nv;
    const auto moving = rounds_.share > all<S>(0);
    for (int i = 0; i < nv; ++i) {
      rounds_.change[i] = rounds_.made > 0 ? select(moving, rounds_.change[i], all<S>(0)) : all<S>(0);
      rounds_.a[i] = rounds_.made > 0 ? select(moving, rounds_.a[i], all<S>(0)) : all<S>(0);
    }
    before_ = inputs(rounds_.before, nv);
    rate_ = inputs(rounds_.a, nv);
    rate_change_ = inputs(rounds_.change, nv);
    share_ = inputs(&rounds_.share, 1);
    for (int pass = 0; pass < passes; ++pass) v1_[pass] = inputs(velocity_[pass], nv);
  }

  void take_inputs_of_bodies() {
    body_ = take_taped<BodyInputs>(model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) {
      BodyInputs& B = body_[b];
      B.displacement = inputs(spatial::zero_motion<S>());
      B.start = inputs(start_twist_[b]);
      B.shift = inputs(shift_twist_[b]);
      for (int pass = 0; pass < passes; ++pass) B.now[pass] = inputs(twist_[pass][b]);
    }
  }

  void take_inputs_of_points(const ContactState<S>& start) {
    const auto& pairs = step_.problem_.pairs;
    point_ = take_taped<TapedPoint>(contacts_.points);
    law_ = take_taped<TapedLaw>(contacts_.pairs);
    points_ = laws_ = 0;
    pairs.each([&](int k, const Pair& pair) {
      const auto& law = pair.law;
      const S values[] = {all<S>(law.stiffness),
                          all<S>(law.dissipation),
                          all<S>(law.static_friction),
                          all<S>(law.dynamic_friction),
                          all<S>(law.tangential),
                          all<S>(law.relaxation)};
      law_[laws_++] = {inputs(values, ParameterCotangents<S>::per_law), pairs.index[k]};
      for (int m = pairs.first[k]; m < pairs.first[k] + pairs.used[k]; ++m) {
        TapedPoint& T = point_[points_++];
        T.body = pair.b;
        T.place = k;
        T.slot = m;
        T.s = inputs(start.remembered(pairs.slot[m]), 3);
        T.limit = inputs(&step_.problem_.kinds.points.point[m].at.limit, 1);
      }
    });
  }

  /// τ and what A has beside M, as FreeVelocity computes them.
  void record_forces(S time) {
    const int nv = model_.nv, count = number_count();
    Workspace<R> w = for_tape();
    q_ = take<R>(w, model_.nq);
    tau_ = take<R>(w, nv);
    base_ = take<R>(w, nv);
    current_ = take<R>(w, count);
    R* const rate = take<R>(w, system_.states());
    R* const from = take<R>(w, model_.nq);
    for (int i = 0; i < model_.nq; ++i) from[i] = R(start_q_[i]);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      dynamics::retract<R>(joint.block, joint.blocks, from + joint.q, dq_ + joint.v, q_ + joint.q);
    }
    for (int i = 0; i < count; ++i) current_[i] = number_[i];
    System<R> system = taped_system(w);
    system.signals.rate = rate;
    if (system.states() > 0) {
      system.signals.base = system.signals.start = number_;
      system.signals.factor = R(h_);
    }
    const R h(h_);
    system.actuate(R(time), q_, v_, tau_, w);
    ActuatorDamping<R> damping(system, w);
    damping.evaluate(system, R(time), q_, v_, w);
    const EulerStep<R> stage;
    add_joint_forces<R>(taped_model_, taped_contacts_, stage, h, q_, v_, base_, tau_, w);
    damping.add(stage, v_, h, base_, tau_);
    bounded_ = take<contact::BoundedForce<R>>(w, damping.bounded_count());
    bounded_count_ = damping.bounded_count();
    for (int n = 0; n < bounded_count_; ++n) bounded_[n] = damping.bounded(n, v_, false, h);
    rates_ = rate;
    keep(w);
  }

  System<R> taped_system(const Workspace<R>& w) const {
    System<R> system = {taped_model_, system_.actuation, w, nullptr};
    system.signals.numbers = system_.signals.numbers == nullptr ? nullptr : current_;
    system.signals.rate = rates_;
    return system;
  }

  spatial::Inertia<R> inertia(int b) const { return spatial::all_inertia<R>(theta_ + 10 * b); }

  void record_free_velocity() {
    const int nv = model_.nv;
    const R h(h_), o(all<S>(0));
    const auto moving = rounds_.share > all<S>(0);
    free_ = take_taped<R>(nv);
    shift_ = take_taped<R>(nv);
    momentum_ = take_taped<Force<R>>(model_.bodies);
    for (int i = 0; i < nv; ++i) {
      free_[i] = before_[i];
      shift_[i] = o;
    }
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const int i = joint.v;
      if (contacts_.single[b]) {
        const Motion<R> V = {three<R>(v_ + i), three<R>(v_ + i + 3)};
        const Force<R> F = {three<R>(tau_ + i), three<R>(tau_ + i + 3)};
        const auto M = inertia(b);
        const auto q = dynamics::load_quaternion(q_ + joint.q + 3);
        const Mat3<R> axes = tree::placement<R>(taped_model_.constants[b]).R * spatial::rotation(q);
        const Vec3<R> g = transpose_times(axes, spatial::all3<R>(taped_model_.gravity));
        const EulerStep<R> stage;
        momentum_[b] = turn_single(stage, M, V, momentum_about_centre(M, V), F, g, h, free_ + i);
        continue;
      }
      if (any(moving)) {
        add_velocity_terms<R>(
            on_tape(moving), *share_, h, rate_change_ + i, rate_ + i, joint.nv, free_ + i, shift_ + i);
      }
      if (joint.shape == tree::Shape::free)
        turn_root<R>(h, *share_, v_ + i, rate_ + i, free_ + i, shift_ + i);
    }
  }

  /// The pose of a body, with its displacement to first order.
  void place_body(int b) {
    const Pose<S>& X = step_.factor_.X_WB[b];
    BodyInputs& B = body_[b];
    const G e(all<S>(1));
    const Vec3<G> p = three<G>(B.displacement), w = three<G>(B.displacement + 3);
    const auto constant = [](const Vec3<S>& a) { return Vec3<G>{G(a.x), G(a.y), G(a.z)}; };
    const Mat3<G> axes = {constant(X.R.x), constant(X.R.y), constant(X.R.z)};
    B.X_WB = {axes * Mat3<G>{{e, w.z, -w.y}, {-w.z, e, w.x}, {w.y, -w.x, e}}, constant(X.p) + axes * p};
  }

  const constraints::ContactLaw<N> taped_law(int n, const Pair& pair) const {
    const R* const x = law_[n].number;
    constraints::ContactLaw<N> law;
    law.stiffness = x[0], law.dissipation = x[1], law.static_friction = x[2], law.dynamic_friction = x[3];
    law.tangential = x[4], law.relaxation = x[5];
    law.hertz = pair.law.hertz;
    law.rolling = law.spinning = law.lever = N(all<S>(0));
    return law;
  }

  static Vec3<N> at_point(const R* twist, const Vec3<N>& p) {
    return cross_add(three<N>(twist + 3), p, three<N>(twist));
  }

  /// A point as PairsInReach places it, its impulses, and what it remembers.
  void record_point(int n, const ContactState<S>& start) {
    TapedPoint& T = point_[n];
    const auto& pairs = step_.problem_.pairs;
    const Pair& pair = pairs.pair(T.place);
    const contact::PointIterate<S>& P = step_.problem_.kinds.points.point[T.slot];
    const BodyInputs& B = body_[T.body];
    const int index = pairs.slot[T.slot] - pair.first;
    contact::PairPoint<G> from;
    contact::visit_plane_points<G>(pair,
                                   contact::PairPose<G>{nullptr, B.X_WB},
                                   simd::everywhere<G>(),
                                   G(all<S>(Real(simd::infinity))),
                                   [&](const contact::PairPoint<G>& point) {
                                     if (point.index == index) from = point;
                                   });
    const N h(h_), o(all<S>(0));
    int l = 0;
    while (law_[l].pair != pairs.index[T.place]) ++l;
    const constraints::ContactLaw<N> law = taped_law(l, pair);
    const S* const remembered = start.remembered(pairs.slot[T.slot]);
    const auto slid = remembered[ContactMemory::slid] > all<S>(0);
    const Mat3<N> axes = {numbers(B.X_WB.R.x), numbers(B.X_WB.R.y), numbers(B.X_WB.R.z)};
    const auto plus_surface = [&](const Vec3<N>& u) {
      const Vec3<N> surface = {
          N(all<S>(pair.surface[0])), N(all<S>(pair.surface[1])), N(all<S>(pair.surface[2]))};
      return u - transpose_times(axes, surface);
    };
    constraints::ContactPoint<N> at;
    T.p = from.p;
    at.p = numbers(from.p);
    at.n = numbers(from.n);
    at.x = select(simd::Mask<N>{from.exists.lanes}, N(-from.gap), N(all<S>(Real(-1e30))));
    const Vec3<N> s = transpose_times(axes, three<N>(T.s));
    at.s = fnma(dot(at.n, s), at.n, s);
    at.mu = select(simd::Mask<N>{slid.lanes}, law.dynamic_friction, law.static_friction);
    const Vec3<N> before = plus_surface(at_point(B.start, at.p));
    T.lagged = at.mu * h * constraints::normal_force<N>(law, at.x, dot(at.n, before));
    const Vec3<N> shift = at_point(B.shift, at.p);
    const N opening = dot(at.n, shift);
    at.x -= opening;
    at.s += fnma(opening, at.n, shift);
    constraints::ContactImpulse<N> I;
    Vec3<N> u;
    for (int pass = made_passes() - 1; pass >= 0; --pass) {
      at.limit = pass == 0 ? N(*T.limit) : T.lagged;
      u = plus_surface(at_point(B.now[pass], at.p));
      I = constraints::contact_impulse<N>(law, at, h, u);
      T.gamma[pass] = I.gamma;
      if (pass == 1) T.renewed = at.mu * max(dot(at.n, I.gamma), o);
    }
    const auto touches = step_.outcome_.touches(P);
    const Vec3<N> next = constraints::next_deflection<N>(law, at, h, u, I);
    const Vec3<N> kept =
        axes * constraints::remembered_deflection<N>(law.tangential, h, at.mu * dot(at.n, I.gamma), next);
    const auto keep_where = [&](const N& x) { return R(select(simd::Mask<N>{touches.lanes}, x, o)); };
    T.next = {keep_where(kept.x), keep_where(kept.y), keep_where(kept.z)};
  }

  void record_coordinates() {
    const N h(h_);
    for (int pass = 0; pass < passes; ++pass) {
      gamma_[pass] = take_taped<R>(contacts_.coordinates);
      bounded_gamma_[pass] = take_taped<R>(bounded_count_);
    }
    next_deflection_ = take_taped<R>(contacts_.coordinates);
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& own = coordinate_[k];
      const auto constant = [](const auto& x) { return all<N>(x); };
      const constraints::CoordinateLaw<N> law = {own.v,
                                                 own.q,
                                                 constant(own.friction),
                                                 constant(own.lower),
                                                 constant(own.upper),
                                                 constant(own.stiffness),
                                                 constant(own.damping)};
      const N far(all<S>(-simd::infinity)), shift(shift_[own.v]);
      constraints::CoordinateState<N> at = {N(deflection_[k]) + shift, far, far};
      if (own.q >= 0) {
        const N q(q_[own.q]);
        at.below = law.lower - q - shift;
        at.above = q - law.upper + shift;
      }
      for (int pass = 0; pass < made_passes(); ++pass) {
        gamma_[pass][k] = R(constraints::coordinate_impulse<N>(law, at, h, N(v1_[pass][own.v])).gamma);
      }
      next_deflection_[k] = R(constraints::next_deflection<N>(law, at, h, N(v1_[0][own.v])));
    }
    for (int n = 0; n < bounded_count_; ++n) {
      for (int pass = 0; pass < made_passes(); ++pass) {
        bounded_gamma_[pass][n] =
            contact::bounded_impulse<R>(bounded_[n], R(h_), v1_[pass][bounded_[n].v]).gamma;
      }
    }
  }

  /// q₁, v₁ and the states of elements, on the tape.
  void record_end(S time) {
    const int nv = model_.nv;
    const R h(h_);
    q1_ = take_taped<R>(model_.nq);
    end_v_ = take_taped<R>(nv);
    const R* const v1 = v1_[0];
    for (int i = 0; i < model_.nq; ++i) q1_[i] = q_[i];
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const int i = joint.v;
      if (joint.shape != tree::Shape::free) {
        R dq[tree::max_joint_nv];
        for (int k = 0; k < joint.nv; ++k) {
          end_v_[i + k] = v1[i + k];
          dq[k] = fma(h, v1[i + k], shift_[i + k]);
        }
        dynamics::retract<R>(joint.block, joint.blocks, q_ + joint.q, dq, q1_ + joint.q);
      } else if (contacts_.single[b]) {
        const auto M = inertia(b);
        const Motion<R> change = {three<R>(v1 + i) - three<R>(free_ + i),
                                  three<R>(v1 + i + 3) - three<R>(free_ + i + 3)};
        const Force<R> p = momentum_[b] + momentum_about_centre(M, change);
        move_single<R>(
            M, p, on_tape(step_.singles_.cancel(b)), h, v1 + i, shift_ + i, q1_ + joint.q, end_v_ + i);
      } else {
        move_root<R>(h, v1 + i, shift_ + i, q1_ + joint.q, end_v_ + i);
      }
    }
    Workspace<R> w = for_tape();
    const System<R> system = taped_system(w);
    if (system.states() == 0) return;
    R* mean = nullptr;
    if (system.integrates()) {
      mean = take<R>(w, nv);
      for (int i = 0; i < nv; ++i) mean[i] = R(all<S>(Real(0.5))) * (v_[i] + end_v_[i]);
    }
    end_states<R>(system, R(time), h, q1_, end_v_, mean, number_, w);
  }

  void seed_end(const StateCotangents<S>& bar) const {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      S at[8] = {}, q_bar[8] = {};
      for (int i = 0; i < joint.nq; ++i) at[i] = q1_[joint.q + i].value;
      seed_joint<S>(joint, at, bar.q + joint.v, q_bar);
      for (int i = 0; i < joint.nq; ++i) seed(q1_[joint.q + i], q_bar[i]);
    }
    for (int i = 0; i < model_.nv; ++i) seed(end_v_[i], bar.v[i]);
    for (int i = 0; i < number_count(); ++i) seed(current_[i], bar.signals[i]);
    for (int k = 0; k < contacts_.coordinates; ++k) seed(next_deflection_[k], bar.coordinates[k]);
    for (int n = 0; n < points_; ++n) {
      const S* const s = bar.deflections + 3 * step_.problem_.pairs.slot[point_[n].slot];
      seed(point_[n].next.x, s[0]), seed(point_[n].next.y, s[1]), seed(point_[n].next.z, s[2]);
    }
  }

  /// Takes cotangents of twists of the bodies off the tape.
  void collect(R* BodyInputs::* twist, Force<S>* x_bar) const {
    for (int b = 0; b < model_.bodies; ++b) x_bar[b] = take_six(body_[b].*twist);
  }

  static Force<S> take_six(const R* x) {
    return {{take_cotangent(x[0]), take_cotangent(x[1]), take_cotangent(x[2])},
            {take_cotangent(x[3]), take_cotangent(x[4]), take_cotangent(x[5])}};
  }

  /// Takes cotangents of a pass's velocities off the tape: of the bodies' twists, which depend on q as well,
  /// and if `v_bar` is not null of v itself, which is given while its problem is linear.
  void collect_twists(int pass, S* v_bar, Workspace<S> w) const {
    auto* const x_bar = take<Force<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) {
      x_bar[b] = take_six(body_[b].now[pass]);
      twist_bar_[pass][b] += x_bar[b];
    }
    for (int i = 0; i < model_.nv; ++i) {
      const S own = take_cotangent(v1_[pass][i]);
      if (v_bar != nullptr) v_bar[i] += own;
    }
    if (v_bar != nullptr) tree_.gather(twist_[pass], velocity_[pass], x_bar, nullptr, v_bar);
  }

  /// Makes the impulses of a pass in the problem.
  void evaluate(int pass) {
    auto& kinds = step_.problem_.kinds;
    for (int n = 0; n < points_; ++n) {
      const TapedPoint& T = point_[n];
      auto& P = kinds.points.point[T.slot];
      const Pair& pair = step_.problem_.pairs.pair(T.place);
      const Motion<S>& V = twist_[pass][T.body];
      P.at.limit = pass == 0 ? T.limit->value : P.lagged;
      P.now = cross_add(V.w, P.at.p, V.v) -
              transpose_times(step_.problem_.pairs.R_AB[T.place], spatial::all3<S>(pair.surface));
      P.impulse = constraints::contact_impulse(pair.law, P.at, h_, P.now);
      P.made = P.impulse.gamma;
      P.pushes = true;
    }
    for (int k = 0; k < contacts_.coordinates; ++k) {
      auto& C = kinds.coordinates.coordinate[k];
      C.now = velocity_[pass][contacts_.coordinate[k].v];
      C.impulse = constraints::coordinate_impulse(contacts_.coordinate[k], C.at, h_, C.now);
      C.made = C.impulse.gamma;
      C.acts = true;
    }
    for (int n = 0; n < bounded_count_; ++n) {
      auto& B = kinds.bounded.bounded[n];
      B.now = velocity_[pass][B.law.v];
      B.impulse = contact::bounded_impulse(B.law, h_, B.now);
      B.made = B.impulse.gamma;
      B.acts = true;
    }
  }

  /// Takes cotangents of a pass's solution (nv) back to v*, A and the impulses' laws.
  void pull_pass(int pass, S* v_bar, const StepMatrixCotangents<S>& matrix, Workspace<S> w) {
    const int nv = model_.nv;
    evaluate(pass);
    S* const lambda = take<S>(w, nv);
    simd::copy_each<S>(step_.problem_.apply_inverse(step_.free_.base, v_bar, w), nv, lambda);
    auto* const L = take<Motion<S>>(w, model_.bodies);
    auto *const L_bar = take<Force<S>>(w, model_.bodies), *const held = take<Force<S>>(w, model_.bodies);
    tree_.spread(lambda, L);
    for (int b = 0; b < model_.bodies; ++b) L_bar[b] = held[b] = spatial::zero_force<S>();
    const auto& kinds = step_.problem_.kinds;
    for (int n = 0; n < points_; ++n) {
      const TapedPoint& T = point_[n];
      const auto& P = kinds.points.point[T.slot];
      const Motion<S>& V = L[T.body];
      const Vec3<S> u = cross_add(V.w, P.at.p, V.v), f = P.impulse.slope_times(P.at.n, u),
                    by_p = cross(P.made, V.w);
      seed(T.gamma[pass].x, u.x), seed(T.gamma[pass].y, u.y), seed(T.gamma[pass].z, u.z);
      seed(T.p.x, by_p.x), seed(T.p.y, by_p.y), seed(T.p.z, by_p.z);
      L_bar[T.body] += Force<S>{P.made, cross(P.at.p, P.made)};
      held[T.body] = held[T.body] - Force<S>{f, cross(P.at.p, f)};
    }
    tree_.gather(L, lambda, held, nullptr, v_bar);
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const int i = contacts_.coordinate[k].v;
      v_bar[i] = fnma(kinds.coordinates.coordinate[k].impulse.slope, lambda[i], v_bar[i]);
      seed(gamma_[pass][k], lambda[i]);
    }
    for (int n = 0; n < bounded_count_; ++n) {
      const int i = bounded_[n].v;
      v_bar[i] = fnma(kinds.bounded.bounded[n].impulse.slope, lambda[i], v_bar[i]);
      seed(bounded_gamma_[pass][n], lambda[i]);
    }
    for (int i = 0; i < nv; ++i) seed(free_[i], v_bar[i]);
    tape_.pull(begin_points_);
    collect_twists(pass, nullptr, w);
    tree_.gather(L, lambda, L_bar, matrix.q, nullptr);
    subtract_matrix_product(
        model_, tree_, static_cast<const S*>(lambda), static_cast<const S*>(change_[pass]), matrix, w);
  }

  /// Adds cotangents of the last pass's radii to those of the first pass, or to its impulses.
  void pass_limits_on() const {
    const S o = all<S>(0);
    for (int n = 0; n < points_; ++n) {
      const S bar = take_cotangent(*point_[n].limit);
      if (any(renewal_.worlds)) seed(point_[n].renewed, select(renewal_.worlds, bar, o));
      seed(point_[n].lagged, select(renewal_.worlds, o, bar));
    }
  }

  /// Takes cotangents of trees' velocities without contacts back to the forces and the start.
  void pull_free_velocity(S* start_bar, const StepMatrixCotangents<S>& matrix, Workspace<S> w) {
    const int nv = model_.nv;
    const S o = all<S>(0);
    auto& A = step_.A_;
    if (!A.in_rows) {
      A.recursion.unload();
      A.recursion.factor(step_.free_.base);
    }
    S *const before = take<S>(w, nv), *const rate = take<S>(w, nv), *const change = take<S>(w, nv),
             *const kappa = take<S>(w, nv), *const minus = take<S>(w, nv), *const unused = take<S>(w, nv),
             *const acceleration = take<S>(w, nv);
    for (int i = 0; i < nv; ++i) {
      before[i] = take_cotangent(before_[i]);
      rate[i] = take_cotangent(rate_[i]);
      change[i] = take_cotangent(rate_change_[i]);
      kappa[i] = unused[i] = o;
    }
    const S share = take_cotangent(*share_);
    if (rounds_.made > 0) {
      pull_velocity_terms<S>(rounds_,
                             A,
                             tree_,
                             contacts_.single,
                             step_.free_.base,
                             h_,
                             start_q_,
                             start_v_,
                             {rate, change, before, start_bar, share},
                             matrix,
                             tape_,
                             w);
    }
    A.solve(contacts_.single, before, kappa);
    for (int i = 0; i < nv; ++i) {
      kappa[i] = h_ * kappa[i];
      acceleration[i] = (rounds_.before[i] - start_v_[i]) / h_;
      start_bar[i] += before[i];
      seed(tau_[i], kappa[i]);
      matrix.base[i] = fnma(kappa[i], acceleration[i], matrix.base[i]);
      minus[i] = -kappa[i];
    }
    S gravity_bar[3] = {o, o, o};
    tree_.add(start_v_,
              acceleration,
              minus,
              true,
              matrix.q,
              start_bar,
              unused,
              matrix.theta,
              nullptr,
              nullptr,
              gravity_bar);
    if constexpr (differs) {
      for (int i = 0; i < 3; ++i) seed(taped_model_.gravity[i], gravity_bar[i]);
    }
  }

  void read_inputs(const S* q_bar,
                   const S* start_bar,
                   const StateCotangents<S>& bar,
                   const ParameterCotangents<S>& sums) const {
    for (int i = 0; i < model_.nv; ++i) {
      bar.q[i] = q_bar[i] + take_cotangent(dq_[i]);
      bar.v[i] = start_bar[i] + take_cotangent(v_[i]);
    }
    for (int i = 0; i < number_count(); ++i) bar.signals[i] = take_cotangent(number_[i]);
    for (int k = 0; k < contacts_.coordinates; ++k) bar.coordinates[k] = take_cotangent(deflection_[k]);
    for (int i = 0; i < 3 * contacts_.points; ++i) bar.deflections[i] = all<S>(0);
    for (int n = 0; n < points_; ++n) {
      S* const s = bar.deflections + 3 * step_.problem_.pairs.slot[point_[n].slot];
      for (int i = 0; i < 3; ++i) s[i] = take_cotangent(point_[n].s[i]);
    }
    for (int i = 0; i < 10 * model_.bodies; ++i) sums.theta[i] += take_cotangent(theta_[i]);
    if constexpr (differs) {
      for (int n = 0; n < varied_->count; ++n) sums.numbers[n] += take_cotangent(varied_number_[n]);
    }
    for (int n = 0; n < laws_; ++n) {
      S* const of_pair = sums.laws + ParameterCotangents<S>::per_law * law_[n].pair;
      for (int i = 0; i < ParameterCotangents<S>::per_law; ++i)
        of_pair[i] += take_cotangent(law_[n].number[i]);
    }
  }

  System<S> system_;
  const ModelOf<S>& model_;
  const contact::Contacts<Parameter>& contacts_;
  const tree::VariedNumbers* const varied_;
  const ContactMemory places_;
  const S h_;
  VelocityRounds<S> rounds_;
  contact::Renewal<S> renewal_;
  S* const start_numbers_;  ///< of the signals; a step takes the memory behind it
  dynamics::TreeProduct<S> tree_;
  ConvexStep<S> step_;
  Workspace<S> w_;
  const S *start_q_ = nullptr, *start_v_ = nullptr;

  simd::Tape<S> tape_;
  int begin_free_ = 0, begin_points_ = 0;  ///< places on the tape
  ModelOf<R> taped_model_;
  contact::Contacts<typename R::Parameter> taped_contacts_ = {};  ///< their forces of joints
  const constraints::CoordinateLaw<typename R::Parameter>* coordinate_;
  N* varied_number_ = nullptr;
  R *dq_, *v_, *number_, *deflection_, *theta_;
  R *before_, *rate_, *rate_change_, *share_, *v1_[passes];
  R *q_, *tau_, *base_, *current_, *rates_ = nullptr;
  R *free_, *shift_, *q1_, *end_v_;
  R *gamma_[passes], *bounded_gamma_[passes], *next_deflection_;
  Force<R>* momentum_;
  contact::BoundedForce<R>* bounded_;
  int bounded_count_ = 0;
  BodyInputs* body_;
  TapedPoint* point_;
  TapedLaw* law_;
  int points_ = 0, laws_ = 0;
  S *velocity_[passes], *change_[passes];  ///< (nv) of the passes, and their v − v*
  Motion<S>*twist_[passes], *start_twist_, *shift_twist_;
  Force<S>* twist_bar_[passes];
};

}  // namespace pysim::stepping
