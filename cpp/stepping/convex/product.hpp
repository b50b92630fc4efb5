// Product of a convex step's derivatives with cotangents: from those of the state at the end to those of the
// state at the start, by the implicit function theorem.
//
//     A (v₁ − v*) = Σ Jᵀγ(J v₁; x, s, r)          λ = H⁻¹ v̄₁,  H = A + Σ JᵀGJ at the solution
//     v̄* = A λ      Ā = −λ (v₁ − v*)ᵀ      γ̄ = J λ      J̄ = γ (λ) + …
//
// Radii that were renewed are those of a problem of their own, μ γ_n, which is solved in the same way: worlds
// in which points slide take two solutions, others one. Contacts are differentiated by contact_product.hpp,
// sums over the tree by recursions (dynamics/rnea_product.hpp). Forces of actuators and the motion of free
// bodies are run once more with numbers on a tape (simd/reverse.hpp), so their derivatives are those of the
// text that made the step.
//
// A step is on one side of every switch (touches, sticks, is bounded); its derivative is that of this side.
#pragma once

#include "constraints/coordinate_law_product.hpp"
#include "constraints/projection_product.hpp"
#include "stepping/convex/contact_product.hpp"
#include "stepping/convex/rows_product.hpp"
#include "stepping/convex/step.hpp"
#include "stepping/taped_step.hpp"
#include "stepping/velocity_terms_product.hpp"

namespace pysim::stepping {

template <class S>
class ConvexStepDerivatives;

template <class S>
class ConvexStepProduct : public TapedStep<S> {
  using Base = TapedStep<S>;

 public:
  using Real = typename S::Real;
  using Base::differs;
  using typename Base::N;
  using typename Base::Parameter;
  using typename Base::R;
  using Pair = contact::ContactPair<Parameter>;

  /// Memory is taken where `w` is; `system` has signals that the step may change. `varied` are the numbers in
  /// which worlds may differ; null for none.
  ConvexStepProduct(const System<S>& system,
                    const ConvexRun<S>& run,
                    const tree::VariedNumbers* varied,
                    S h,
                    Workspace<S>& w)
      : Base(system, varied, w),
        contacts_(run.contacts),
        places_(memory_of(run.contacts, system.model.nv)),
        h_(h),
        rounds_(model_.nv, w),
        renewal_{take<S>(w, model_.nv), simd::nowhere<S>()},
        tree_(model_, nullptr, w),
        step_(system_, run, h, w),
        contact_(run.contacts, step_.deflections_, step_.factor_, step_.problem_, h, w),
        held_(model_, step_.rows_, step_.A_, w),
        rows_(model_, taped_model_, tape_),
        projection_(model_, w) {
    w_ = w;
    for (int i = 0; i < model_.nv; ++i) renewal_.delta[i] = all<S>(0);
    step_.free_.rounds = &rounds_;
    step_.problem_.renewal = &renewal_;
  }

  /// Makes the step of a segment, of length h in all lanes, from `start` in `end`, which begins as a copy of
  /// it. Its solution may be known, null if it is not; it is used where no rows hold. The sampled blocks that
  /// are due at its end are not run but in the product. Returns the worlds where the step was solved in one
  /// part.
  Mask<S> make(const StepSegment<S>& segment,
               const ContactState<S>& start,
               const ContactState<S>& end,
               const contact::Solution<S>* known = nullptr) {
    if (known != nullptr && step_.rows_.empty() && !moves_bodies_alone()) {
      step_.known_ = known;
      simd::copy_each<S>(static_cast<const S*>(known->renewal.delta), model_.nv, renewal_.delta);
      renewal_.worlds = known->renewal.worlds;
    }
    note_signals();
    const auto good = step_.make(simd::everywhere<S>(), segment.time, end);
    start_ = &start;
    end_ = &end;
    record(segment, start);
    return good;
  }

  const ContactProduct<S>& contacts() const { return contact_; }

  /// Replaces cotangents at the end by those at the start, and adds to the sums. Returns whether the tape had
  /// room.
  bool pull(const StateCotangents<S>& bar, const ParameterCotangents<S>& sums) {
    const S o = all<S>(0);
    const int nv = model_.nv;
    Workspace<S> w = w_;
    S* const sum = take<S>(w, 9 * std::ptrdiff_t{nv});
    for (int i = 0; i < 9 * nv; ++i) sum[i] = o;
    const StepMatrixCotangents<S> matrix = {sum, sum + nv, sums.theta};
    S *const v_bar = sum + 3 * nv, *const first_bar = sum + 4 * nv, *const start_bar = sum + 5 * nv,
             *const shift_bar = sum + 6 * nv, *const inertia_bar = sum + 7 * nv;
    const BodyCotangents<S>& of = body_;
    for (Force<S>* const each : {of.displacement, of.start, of.shift, of.now[0], of.now[1]}) {
      for (int b = 0; b < model_.bodies; ++b) each[b] = spatial::zero_force<S>();
    }
    auto* const places = take<Vec3<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) places[b] = spatial::zero3<S>();
    tree_.gather_places(places);
    pull_states(bar);
    if (projects()) {
      projection_.pull(bar.q, bar.v, {nullptr, inertia_bar, sums.theta}, places, rows_, tape_, w);
    }
    seed_end(bar);
    tape_.pull(begin_end_, begin_states_);
    evaluate(0);
    for (int i = 0; i < nv; ++i) v_bar[i] = take_cotangent(v1_[i]);
    if (sums.switches.counts()) count_switches(sums.switches);
    contact_.pull_end(bar.deflections, bar.turnings);
    pull_coordinates_end(bar, v_bar, shift_bar);
    gather_twists(0, v_bar, w);
    pull_pass(0, v_bar, bar, shift_bar, matrix, w);
    if (any(renewal_.worlds)) {
      evaluate(1);
      contact_.pull_renewed(renewal_.worlds);
      gather_twists(1, first_bar, w);
      pull_pass(1, first_bar, bar, shift_bar, matrix, w);
    }
    if (projects()) held_.pull(tree_, matrix.q, rows_, w);
    const bool has_room = contact_.pull_start(*start_, bar.deflections, bar.turnings, sums.laws, w);
    for (int pass = 0; pass < made_passes(); ++pass) {
      tree_.gather(twists_.now[pass], velocity_[pass], of.now[pass], matrix.q, nullptr);
    }
    tree_.gather(twists_.start, start_v_, of.start, matrix.q, start_bar);
    tree_.gather(twists_.shift, static_cast<const S*>(step_.free_.shift), of.shift, matrix.q, shift_bar);
    tree_.gather_displacements(of.displacement, matrix.q);
    for (int i = 0; i < nv; ++i) seed(shift_[i], shift_bar[i]);
    tape_.pull(begin_free_, begin_end_);
    pull_free_velocity(start_bar, matrix, w);
    for (int i = 0; i < dynamics::step_block_numbers(nv); ++i) seed(base_[i], matrix.base[i]);
    for (int i = 0; i < nv; ++i) inertia_bar[i] += matrix.base[i];
    seed_numbers(inertia_bar, places);
    tape_.pull(0, begin_free_);
    read_inputs(matrix.q, start_bar, bar, sums);
    return has_room && rows_.has_room();
  }

 private:
  friend class ConvexStepDerivatives<S>;

  using Base::begin_tape, Base::current_, Base::each_users_joint, Base::for_tape, Base::inputs, Base::keep;
  using Base::model_, Base::move_joint, Base::note_signals, Base::number_, Base::number_count, Base::on_tape;
  using Base::rates_, Base::read_numbers, Base::record_blocks, Base::seed_gravity, Base::seed_numbers;
  using Base::seed_signals, Base::seed_state, Base::start_numbers_, Base::still_inputs, Base::system_;
  using Base::take_inputs_of_signals, Base::tape_, Base::taped_model_, Base::taped_system;
  using Base::w_;

  static constexpr int passes = BodyCotangents<S>::passes;

  const FreeVelocity<S, EulerStep<S>>& free() const { return step_.free_; }
  const contact::ContactKinds<S>& kinds() const { return step_.problem_.kinds; }
  const dynamics::StepMatrix<S>& matrix() const { return step_.A_; }

  /// Passes whose impulses count in some world.
  int made_passes() const { return any(renewal_.worlds) ? passes : 1; }

  /// Whether a body moves alone: its momentum is the sum of the impulses of a solution.
  bool moves_bodies_alone() const {
    bool alone = false;
    for (int b = 0; b < model_.bodies; ++b) alone |= contacts_.single[b];
    return alone;
  }

  template <class T>
  static Vec3<T> three(const R* x) {
    return {T(x[0]), T(x[1]), T(x[2])};
  }

  /// Whether the state that the step found is projected onto loops.
  bool projects() const { return model_.rows > 0; }

  /// Runs the step and the sampled blocks at its end once more on the tape.
  void record(const StepSegment<S>& segment, const ContactState<S>& start) {
    const S time = fma(all<S>(Real(0.5)), h_, segment.time);  // of the forces
    time_of_end_ = segment.time + h_;
    start_v_ = tree::full_v(model_, static_cast<const S*>(start.v), w_);
    start_q_ = tree::full_q(model_, static_cast<const S*>(start.q), w_);
    take_inputs_of_numbers();
    take_inputs_of_state();
    tree_.place(start_q_, start_v_, w_);
    place_twists();
    take_inputs_of_motion();
    record_forces(time);
    begin_free_ = tape_.edges;
    record_free_velocity();
    place_changes();
    begin_end_ = tape_.edges;
    record_motion();
    begin_states_ = tape_.edges;
    record_states(time);
    record_blocks(segment, at_end_.q, at_end_.v);
    contact_.begin(twists_, body_, made_passes());
    if (any(renewal_.worlds)) {
      evaluate(1);
      contact_.renew_limits(renewal_.worlds);
    }
    if (projects()) begin_rows();
  }

  /// The model as functions on the tape read it.
  void take_inputs_of_numbers() {
    taped_contacts_ = {};
    begin_tape([this](auto& copy, auto& numbers) {
      using Numbers = std::remove_reference_t<decltype(numbers)>;
      constraints::ContactLaw<N> law;  // those of points have inputs of their own
      const tree::CopyFields<N, S, Numbers> pass = {numbers};
      for (int k = 0; k < contacts_.pairs; ++k) {
        constraints::ContactLaw<N>::visit(pass, law, contacts_.pair[k].law);
      }
      coordinate_ = copy.template records<constraints::CoordinateLaw>(
          "coordinates", contacts_.coordinate, contacts_.coordinates);
      taped_contacts_.smooth = copy.template records<tree::Passive>("smooth", contacts_.smooth, model_.nv);
      taped_contacts_.diagonal = copy.numbers("diagonal", contacts_.diagonal, model_.nv);
    });
    if constexpr (!differs) {
      taped_contacts_ = contacts_;
      coordinate_ = contacts_.coordinate;
    }
  }

  void take_inputs_of_state() {
    const int nv = model_.nv;
    dq_ = still_inputs(nv);
    v_ = inputs(start_v_, nv);
    take_inputs_of_signals();
    theta_ = this->template take_taped<R>(10 * model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) {
      if (!contacts_.single[b]) continue;  // the free velocity of trees has products of its own
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
      twists_.now[pass] = take<Motion<S>>(w_, model_.bodies);
      body_.now[pass] = take<Force<S>>(w_, model_.bodies);
      if (pass < made_passes()) tree_.spread(velocity_[pass], twists_.now[pass]);
    }
    twists_.start = take<Motion<S>>(w_, model_.bodies);
    twists_.shift = take<Motion<S>>(w_, model_.bodies);
    tree_.spread(start_v_, twists_.start);
    tree_.spread(step_.free_.shift, twists_.shift);
    body_.displacement = take<Force<S>>(w_, model_.bodies);
    body_.start = take<Force<S>>(w_, model_.bodies);
    body_.shift = take<Force<S>>(w_, model_.bodies);
    bounded_bar_ = take<contact::BoundedForce<S>>(w_, step_.free_.damping.bounded_count());
  }

  /// Rows, where there are some, change v*, too.
  void place_changes() {
    if (step_.rows_.empty()) return;
    for (int pass = 0; pass < passes; ++pass) {
      for (int i = 0; i < model_.nv; ++i) change_[pass][i] = velocity_[pass][i] - free_[i].value;
    }
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
    v1_ = inputs(velocity_[0], nv);
  }

  /// τ and what A has beside M, as FreeVelocity computes them.
  void record_forces(S time) {
    const int nv = model_.nv, count = number_count();
    Workspace<R> w = for_tape();
    q_ = take<R>(w, model_.nq);
    tau_ = take<R>(w, nv);
    base_ = take<R>(w, dynamics::step_block_numbers(nv));
    current_ = take<R>(w, count);
    R* const rate = take<R>(w, system_.states());
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      move_joint(b, start_q_ + joint.q, dq_ + joint.v, q_ + joint.q);
    }
    for (int i = 0; i < count; ++i) current_[i] = number_[i];
    System<R> system = taped_system(w);
    system.signals.rate = rate;
    if (system.states() > 0) {
      system.signals.base = system.signals.start = number_;
      system.signals.factor = R(h_);
    }
    const R h(h_);
    const UsersState at = users_state(q_, v_, w);
    R* const users_tau = model_.mimic ? take<R>(w, model_.reduced_nv) : tau_;
    system.actuate(R(time), at.q, at.v, users_tau, w);
    ActuatorDamping<R> damping(system, w);
    damping.evaluate(system, R(time), at.q, at.v, w);
    if (model_.mimic) spread_forces(users_tau);
    const EulerStep<R> stage;
    add_joint_forces<R>(taped_model_, taped_contacts_, stage, h, q_, v_, base_, tau_, w);
    damping.add(stage, v_, h, base_, tau_);
    if (model_.elements > 0) elements::add_element_forces<R>(taped_model_, q_, v_, tau_, w);
    bounded_ = take<contact::BoundedForce<R>>(w, damping.bounded_count());
    bounded_count_ = damping.bounded_count();
    for (int n = 0; n < bounded_count_; ++n) bounded_[n] = damping.bounded(n, v_, false, h);
    rates_ = rate;
    keep(w);
  }

  /// The user's coordinates, which are the tree's but those of mimic joints.
  struct UsersState {
    const R *q, *v;
  };

  UsersState users_state(const R* q, const R* v, Workspace<R>& w) const {
    if (!model_.mimic) return {q, v};
    R *const users_q = take<R>(w, model_.reduced_nq), *const users_v = take<R>(w, model_.reduced_nv);
    each_users_joint([&](const tree::Joint& joint) {
      for (int i = 0; i < joint.nq; ++i) users_q[joint.reduced_q + i] = q[joint.q + i];
      for (int i = 0; i < joint.nv; ++i) users_v[joint.reduced_v + i] = v[joint.v + i];
    });
    return {users_q, users_v};
  }

  /// τ of the tree's coordinates from the user's.
  void spread_forces(const R* users_tau) const {
    for (int i = 0; i < model_.nv; ++i) tau_[i] = R(all<S>(0));
    each_users_joint([&](const tree::Joint& joint) {
      for (int i = 0; i < joint.nv; ++i) tau_[joint.v + i] = users_tau[joint.reduced_v + i];
    });
  }

  spatial::Inertia<R> inertia(int b) const { return spatial::all_inertia<R>(theta_ + 10 * b); }

  void record_free_velocity() {
    const int nv = model_.nv;
    const R h(h_), o(all<S>(0));
    const auto moving = rounds_.share > all<S>(0);
    free_ = this->template take_taped<R>(nv);
    shift_ = this->template take_taped<R>(nv);
    momentum_ = this->template take_taped<Force<R>>(model_.bodies);
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

  /// q₁ and v₁, on the tape.
  void record_motion() {
    const int nv = model_.nv;
    const R h(h_);
    q1_ = this->template take_taped<R>(model_.nq);
    end_v_ = this->template take_taped<R>(nv);
    const R* const v1 = v1_;
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
    if (projects()) project_end();
  }

  /// Projects the user's coordinates of the end once more.
  void project_end() {
    S *const q = take<S>(w_, model_.reduced_nq), *const v = take<S>(w_, model_.reduced_nv);
    each_users_joint([&](const tree::Joint& joint) {
      for (int i = 0; i < joint.nq; ++i) q[joint.reduced_q + i] = q1_[joint.q + i].value;
      for (int i = 0; i < joint.nv; ++i) v[joint.reduced_v + i] = end_v_[joint.v + i].value;
    });
    projection_.make(time_of_end_, q, v, start_->loop_q, w_);
  }

  /// The user's state at the end of the step, on the tape. One that was projected is an input, with the
  /// displacement of its configuration.
  UsersState take_end() {
    if (!projects()) {
      Workspace<R> w = for_tape();
      const UsersState end = users_state(q1_, end_v_, w);
      keep(w);
      return end;
    }
    end_dq_ = still_inputs(model_.reduced_nv);
    at_end_v_ = inputs(end_->v, model_.reduced_nv);
    R* const q = this->template take_taped<R>(model_.reduced_nq);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      move_joint(b, end_->q + joint.reduced_q, end_dq_ + joint.reduced_v, q + joint.reduced_q);
    }
    return {q, at_end_v_};
  }

  /// States of elements at the end, on the tape.
  void record_states(S time) {
    at_end_ = take_end();
    Workspace<R> w = for_tape();
    const System<R> system = taped_system(w);
    if (system.states() == 0) return;
    R* mean = nullptr;
    const UsersState& end = at_end_;
    if (system.integrates()) {
      const UsersState start = users_state(q_, v_, w);
      mean = take<R>(w, model_.reduced_nv);
      for (int i = 0; i < model_.reduced_nv; ++i) mean[i] = R(all<S>(Real(0.5))) * (start.v[i] + end.v[i]);
    }
    end_states<R>(system, R(time), R(h_), end.q, end.v, mean, number_, w);
  }

  /// Takes cotangents of the signals back to the state at the end.
  void pull_states(const StateCotangents<S>& bar) const {
    seed_signals(bar);
    tape_.pull(begin_states_);
    for (int i = 0; projects() && i < model_.reduced_nv; ++i) {
      bar.q[i] += take_cotangent(end_dq_[i]);
      bar.v[i] += take_cotangent(at_end_v_[i]);
    }
  }

  /// Finds the multipliers of rows in the passes.
  void begin_rows() {
    S* const free = take<S>(w_, model_.nv);
    for (int i = 0; i < model_.nv; ++i) free[i] = free_[i].value;
    held_.begin(
        {step_.free_.base, free, start_q_, start_->loop_q, time_of_end_, velocity_, made_passes()},
        [this](int pass, S* to, const Workspace<S>& w) {
          evaluate(pass);
          sum_pushes(pass, to, w);
        },
        w_);
  }

  /// Σ Jᵀγ (nv) of the impulses of a pass, which have been made.
  void sum_pushes(int pass, S* to, Workspace<S> w) const {
    auto* const wrench = take<Force<S>>(w, model_.bodies);
    for (int i = 0; i < model_.nv; ++i) to[i] = all<S>(0);
    for (int b = 0; b < model_.bodies; ++b) wrench[b] = spatial::zero_force<S>();
    contact_.add_impulses(wrench);
    tree_.gather(twists_.now[pass], velocity_[pass], wrench, nullptr, to);
    const auto& kinds = step_.problem_.kinds;
    for (int k = 0; k < contacts_.coordinates; ++k) {
      to[contacts_.coordinate[k].v] += kinds.coordinates.coordinate[k].made;
    }
    for (int n = 0; n < bounded_count_; ++n) to[bounded_[n].v] += kinds.bounded.bounded[n].made;
  }

  void seed_end(const StateCotangents<S>& bar) const {
    each_users_joint([&](const tree::Joint& joint) {
      const int q = joint.reduced_v;
      seed_state(joint, q1_ + joint.q, end_v_ + joint.v, bar.q + q, bar.v + q);
    });
  }

  /// Deflections of dry friction at the end.
  void pull_coordinates_end(const StateCotangents<S>& bar, S* v_bar, S* shift_bar) const {
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = step_.problem_.kinds.coordinates.coordinate[k];
      const auto& law = contacts_.coordinate[k];
      S s_bar = all<S>(0);
      constraints::next_deflection_product<S>(law, C.at, h_, C.now, bar.coordinates[k], s_bar, v_bar[law.v]);
      bar.coordinates[k] = s_bar;
      shift_bar[law.v] += s_bar;
    }
    for (int n = 0; n < bounded_count_; ++n) bounded_bar_[n] = contact::BoundedForce<S>{};
  }

  /// Of numbers in which worlds may differ.
  static void seed_law(const constraints::CoordinateLaw<N>& law,
                       const constraints::CoordinateCotangents<S>& bar) {
    seed(law.friction, bar.friction), seed(law.stiffness, bar.stiffness), seed(law.damping, bar.damping);
    seed(law.lower, bar.below), seed(law.upper, -bar.above);
  }

  /// Takes cotangents of a pass's twists to its velocities, while the problem is linear in them; those by q
  /// follow with all others.
  void gather_twists(int pass, S* v_bar, Workspace<S> w) const {
    auto* const x_bar = take<Force<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) x_bar[b] = body_.now[pass][b];
    tree_.gather(twists_.now[pass], velocity_[pass], x_bar, nullptr, v_bar);
  }

  /// Makes the impulses of a pass in the problem.
  void evaluate(int pass) {
    auto& kinds = step_.problem_.kinds;
    contact_.evaluate(pass);
    if (pass == 0) contact_.mark_touching([this](const auto& P) { return step_.outcome_.touches(P); });
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

  void count_switches(const SwitchCounts<S>& counts) const {
    contact_.count_switches(counts, step_.run_.passes > 1);
    const auto& kinds = step_.problem_.kinds;
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = kinds.coordinates.coordinate[k];
      counts.add_coordinate(k, contacts_.coordinate[k], C.at, h_, C.now);
    }
    for (int n = 0; n < bounded_count_; ++n) {
      counts.add_bound(n, kinds.bounded.bounded[n].law, kinds.bounded.bounded[n].now);
    }
  }

  /// Takes cotangents of a pass's solution (nv) back to v*, A and the impulses' laws.
  void pull_pass(int pass,
                 S* v_bar,
                 const StateCotangents<S>& bar,
                 S* shift_bar,
                 const StepMatrixCotangents<S>& matrix,
                 Workspace<S> w) {
    const int nv = model_.nv;
    S* const lambda = take<S>(w, nv);
    simd::copy_each<S>(step_.problem_.apply_inverse(step_.free_.base, v_bar, w), nv, lambda);
    if (projects()) held_.keep(pass, lambda);
    auto* const L = take<Motion<S>>(w, model_.bodies);
    auto *const L_bar = take<Force<S>>(w, model_.bodies), *const held = take<Force<S>>(w, model_.bodies);
    tree_.spread(lambda, L);
    for (int b = 0; b < model_.bodies; ++b) L_bar[b] = held[b] = spatial::zero_force<S>();
    contact_.pull_pass(pass, L, L_bar, held);
    if (contact_.count() > 0) tree_.gather(L, lambda, held, nullptr, v_bar);
    const auto& kinds = step_.problem_.kinds;
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = kinds.coordinates.coordinate[k];
      const auto& law = contacts_.coordinate[k];
      v_bar[law.v] = fnma(C.impulse.slope, lambda[law.v], v_bar[law.v]);
      constraints::CoordinateCotangents<S> sums = {};
      constraints::coordinate_impulse_product<S>(law, C.at, h_, C.now, lambda[law.v], sums);
      if constexpr (differs) seed_law(coordinate_[k], sums);
      bar.coordinates[k] += sums.s;
      const S position = sums.above - sums.below;
      shift_bar[law.v] += sums.s + position;
      matrix.q[law.v] += position;
    }
    for (int n = 0; n < bounded_count_; ++n) {
      const auto& B = kinds.bounded.bounded[n];
      const int i = bounded_[n].v;
      v_bar[i] = fnma(B.impulse.slope, lambda[i], v_bar[i]);
      contact::bounded_impulse_product<S>(B.law, h_, B.now, lambda[i], bounded_bar_[n]);
    }
    if (!step_.rows_.empty()) apply_matrix(lambda, L, v_bar, w);
    for (int i = 0; i < nv; ++i) seed(free_[i], v_bar[i]);
    subtract_matrix_product(model_,
                            tree_,
                            static_cast<const S*>(lambda),
                            L,
                            L_bar,
                            static_cast<const S*>(change_[pass]),
                            matrix,
                            w);
  }

  /// Sets v̄* = A λ, which rows do not change; L are the twists that λ gives.
  void apply_matrix(const S* lambda, const Motion<S>* L, S* to, Workspace<S> w) const {
    auto* const momentum = take<Force<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) momentum[b] = dynamics::body_inertia<S>(model_, b) * L[b];
    S* const minus = take<S>(w, model_.nv);
    const S* const base = step_.free_.base;
    for (int i = 0; i < model_.nv; ++i) {
      to[i] = (all<S>(model_.armature[i]) + base[i]) * lambda[i];
      minus[i] = -lambda[i];
    }
    dynamics::subtract_beside_diagonal(model_, base, static_cast<const S*>(minus), to);
    tree_.gather(L, lambda, momentum, nullptr, to);
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
    for (int n = 0; n < bounded_count_; ++n) {
      const auto& own = bounded_[n];
      const auto& own_bar = bounded_bar_[n];
      seed(own.a, own_bar.a), seed(own.c, own_bar.c), seed(own.lower, own_bar.lower);
      seed(own.upper, own_bar.upper), seed(own.constant, own_bar.constant), seed(own.share, own_bar.share);
    }
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
      minus[i] = -kappa[i];
    }
    dynamics::subtract_block_cotangents(
        model_, static_cast<const S*>(kappa), static_cast<const S*>(acceleration), matrix.base);
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
    seed_gravity(gravity_bar);
  }

  void read_inputs(const S* q_bar,
                   const S* start_bar,
                   const StateCotangents<S>& bar,
                   const ParameterCotangents<S>& sums) const {
    for (int i = 0; i < model_.reduced_nv; ++i) bar.q[i] = bar.v[i] = all<S>(0);
    for (int i = 0; i < model_.nv; ++i) {
      const auto& users = model_.mimic_v[i];
      const S ratio = all<S>(users.ratio);
      bar.q[users.own] = fma(ratio, q_bar[i] + take_cotangent(dq_[i]), bar.q[users.own]);
      bar.v[users.own] = fma(ratio, start_bar[i] + take_cotangent(v_[i]), bar.v[users.own]);
    }
    for (int i = 0; i < 10 * model_.bodies; ++i) {
      if (!contacts_.single[i / 10]) continue;
      const S own = take_cotangent(theta_[i]);
      if (sums.theta != nullptr) sums.theta[i] += own;
    }
    read_numbers(bar, sums);
  }

  const contact::Contacts<Parameter>& contacts_;
  const ContactMemory places_;
  const S h_;
  VelocityRounds<S> rounds_;
  contact::Renewal<S> renewal_;
  dynamics::TreeProduct<S> tree_;
  ConvexStep<S> step_;
  ContactProduct<S> contact_;
  HeldRowsProduct<S, differs> held_;
  constraints::RowProduct<S, differs> rows_;
  constraints::ProjectionProduct<S, differs> projection_;
  const ContactState<S>*start_ = nullptr, *end_ = nullptr;
  S time_of_end_;
  const S *start_q_ = nullptr, *start_v_ = nullptr;

  int begin_free_ = 0, begin_end_ = 0, begin_states_ = 0;         ///< places on the tape
  contact::Contacts<typename R::Parameter> taped_contacts_ = {};  ///< their forces of joints
  const constraints::CoordinateLaw<typename R::Parameter>* coordinate_;
  R *dq_, *v_, *theta_;
  R *before_, *rate_, *rate_change_, *share_, *v1_;
  R *q_, *tau_, *base_;
  R *free_, *shift_, *q1_, *end_v_;
  UsersState at_end_ = {};                           ///< projected
  const R *end_dq_ = nullptr, *at_end_v_ = nullptr;  ///< displacement of q there, and v, that are inputs
  Force<R>* momentum_;
  contact::BoundedForce<R>* bounded_;
  int bounded_count_ = 0;
  contact::BoundedForce<S>* bounded_bar_;
  S *velocity_[passes], *change_[passes];  ///< (nv) of the passes, and their v − v*
  BodyTwists<S> twists_;
  BodyCotangents<S> body_;
};

}  // namespace pysim::stepping
