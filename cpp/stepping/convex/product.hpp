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
#include "stepping/convex/switches.hpp"
#include "stepping/convex/taped_convex_step.hpp"
#include "stepping/convex/taped_report.hpp"

namespace pysim::stepping {

template <class S>
class ConvexStepDerivatives;

template <class S>
class ConvexStepProduct : public TapedConvexStep<S> {
  using Base = TapedConvexStep<S>;

 public:
  using Base::differs;
  using typename Base::N, typename Base::Parameter, typename Base::R, typename Base::Real;

  /// Memory is taken where `w` is; `system` has signals that the step may change. `varied` are the numbers in
  /// which worlds may differ; null for none.
  ConvexStepProduct(const System<S>& system,
                    const ConvexRun<S>& run,
                    const tree::VariedNumbers* varied,
                    S h,
                    Workspace<S>& w)
      : Base(system, run, varied, h, w),
        contact_(run.contacts, step_.deflections_, step_.factor_, step_.problem_, h, w),
        held_(model_, step_.rows_, step_.A_, w),
        rows_(model_, taped_model_, tape_),
        shared_{rows_, nullptr, take<S>(w, model_.loop_nq())},
        accelerations_(model_, shared_, tape_, false, w),
        projection_(model_, w),
        report_(run.contacts.points, run.sensors, w) {
    w_ = w;
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
    for (S& own : gravity_bar_) own = o;
    S *const v_bar = sum + 3 * nv, *const first_bar = sum + 4 * nv, *const start_bar = sum + 5 * nv,
             *const shift_bar = sum + 6 * nv, *const inertia_bar = sum + 7 * nv;
    const BodyCotangents<S>& of = body_;
    for (Force<S>* const each : {of.displacement, of.start, of.shift, of.now[0], of.now[1]}) {
      for (int b = 0; b < model_.bodies; ++b) each[b] = spatial::zero_force<S>();
    }
    auto* const places = take<Vec3<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) places[b] = spatial::zero3<S>();
    tree_.gather_places(places);
    pull_states(bar, {sums.theta, inertia_bar, places, gravity_bar_}, w);
    if (projects()) {
      projection_.pull(bar.q, bar.v, {nullptr, inertia_bar, sums.theta}, places, rows_, w);
    }
    seed_end(bar);
    tape_.pull(begin_end_, begin_states_);
    evaluate(0);
    for (int i = 0; i < nv; ++i) v_bar[i] = take_cotangent(v1_[i]);
    if (sums.switches.counts()) count_switches(sums.switches);
    contact_.pull_end(bar.deflections, bar.turnings);
    report_.pull(contact_);
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

  using Base::at_end_, Base::base_, Base::before_, Base::bounded_, Base::bounded_count_, Base::contacts_;
  using Base::coordinate_, Base::current_, Base::dq_, Base::each_users_joint, Base::end_v_, Base::for_tape;
  using Base::free_, Base::h_, Base::model_, Base::note_signals, Base::number_, Base::number_count,
      Base::on_tape, Base::projects;
  using Base::pull_projected_end, Base::q1_, Base::rate_, Base::rate_change_, Base::read_numbers;
  using Base::record_blocks, Base::record_forces, Base::record_free_velocity, Base::record_motion;
  using Base::record_readings, Base::record_states, Base::renewal_, Base::rounds_, Base::seed_gravity,
      Base::seed_law;
  using Base::seed_numbers, Base::seed_signals, Base::seed_state, Base::share_, Base::shift_, Base::start_q_;
  using Base::start_v_, Base::step_, Base::take_inputs_of_motion, Base::take_inputs_of_numbers;
  using Base::take_inputs_of_state, Base::tape_, Base::taped_model_, Base::taped_system, Base::tau_;
  using Base::theta_, Base::tree_, Base::v1_, Base::v_, Base::w_;

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
    take_inputs_of_motion(velocity_[0]);
    record_forces(time);
    begin_free_ = tape_.edges;
    record_free_velocity();
    place_changes();
    begin_end_ = tape_.edges;
    record_motion(step_.singles_);
    if (projects()) project_end();
    contact_.begin(twists_, body_, made_passes());
    if (any(renewal_.worlds)) {
      evaluate(1);
      contact_.renew_limits(renewal_.worlds);
    }
    begin_states_ = tape_.edges;
    record_states(time, *end_);
    record_end(segment);
    if (projects()) begin_rows();
  }

  /// Sampled blocks and signals at the end, which may read accelerations, wrenches and contacts.
  void record_end(const StepSegment<S>& segment) {
    if (segment.due == 0 && segment.reads == ReadSignals::none) return;
    const auto is_due = [&](int block) { return on_tape(segment.is_due(block)); };
    const auto blocks = report_readers<R>(*model_.signals, &report_.sensors(), segment.due, is_due);
    ReportReaders<R> signals;
    if (segment.reads == ReadSignals::all) {
      signals = {model_.signals->readings.after_dynamics, simd::everywhere<R>()};
    }
    simd::copy_each<S>(static_cast<const S*>(end_->loop_q), model_.loop_nq(), shared_.phi);
    if (blocks.some() || signals.some()) {
      evaluate(0);
      report_.take_points(contact_, tape_);
    }
    if (segment.due != 0) {
      const Reported reported = report(blocks, current_);
      record_blocks(segment, reported.system, at_end_.q, at_end_.v, reported.wrenches);
    }
    if (segment.reads == ReadSignals::none) return;
    R* const numbers = this->template take_taped<R>(number_count());
    for (int i = 0; i < number_count(); ++i) numbers[i] = current_[i];
    const Reported reported = report(signals, numbers);
    record_readings(segment, reported.system, numbers, at_end_.q, at_end_.v, reported.wrenches);
  }

  /// The system at the end, and wrenches of contacts on its bodies, null for none.
  struct Reported {
    System<R> system;
    const Force<R>* wrenches;
  };

  /// Sets the numbers of contact sensors that are read.
  Reported report(const ReportReaders<R>& readers, R* numbers) {
    Workspace<R> w = for_tape();
    const Force<R>* wrenches = nullptr;
    if (readers.some()) wrenches = report_.act(readers, taped_model_, at_end_.q, numbers, w);
    System<R> system = taped_system(w);
    system.taped = &accelerations_;
    return {system, wrenches};
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

  /// Projects the user's coordinates of the end once more.
  void project_end() {
    S *const q = take<S>(w_, model_.reduced_nq), *const v = take<S>(w_, model_.reduced_nv);
    each_users_joint([&](const tree::Joint& joint) {
      for (int i = 0; i < joint.nq; ++i) q[joint.reduced_q + i] = q1_[joint.q + i].value;
      for (int i = 0; i < joint.nv; ++i) v[joint.reduced_v + i] = end_v_[joint.v + i].value;
    });
    projection_.make(time_of_end_, q, v, start_->loop_q, w_);
  }

  /// Takes cotangents of the signals back to the state at the end, and the report of contacts.
  void pull_states(const StateCotangents<S>& bar,
                   const AccelerationCotangents<S>& sums,
                   const Workspace<S>& w) {
    seed_signals(bar);
    accelerations_.pull(tape_.edges, sums, w, begin_states_);
    if (projects()) pull_projected_end(bar);
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
      to[contacts_.coordinate[k].v] += kinds.coordinates.coordinate[k].gamma_hat;
    }
    for (int n = 0; n < bounded_count_; ++n) to[bounded_[n].v] += kinds.bounded.bounded[n].gamma_hat;
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
      C.gamma_hat = C.impulse.gamma;
      C.acts = true;
    }
    for (int n = 0; n < bounded_count_; ++n) {
      auto& B = kinds.bounded.bounded[n];
      B.now = velocity_[pass][B.law.v];
      B.impulse = contact::bounded_impulse(B.law, h_, B.now);
      B.gamma_hat = B.impulse.gamma;
      B.acts = true;
    }
  }

  void count_switches(const SwitchCounts<S>& counts) const {
    contact_.count_switches(counts, step_.run_.passes > 1);
    const auto& kinds = step_.problem_.kinds;
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = kinds.coordinates.coordinate[k];
      count_coordinate(counts, k, contacts_.coordinate[k], C.at, h_, C.now);
    }
    for (int n = 0; n < bounded_count_; ++n) {
      count_bound(counts, n, kinds.bounded.bounded[n].law, kinds.bounded.bounded[n].now);
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
    auto *const L_bar = take<Force<S>>(w, model_.bodies), *const slope_pushes =
                                                              take<Force<S>>(w, model_.bodies);
    tree_.spread(lambda, L);
    for (int b = 0; b < model_.bodies; ++b) L_bar[b] = slope_pushes[b] = spatial::zero_force<S>();
    contact_.pull_pass(pass, L, L_bar, slope_pushes);
    if (contact_.count() > 0) tree_.gather(L, lambda, slope_pushes, nullptr, v_bar);
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
    if (!step_.rows_.empty()) apply_step_matrix<S>(model_, tree_, step_.free_.base, lambda, L, v_bar, w);
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
    if (rounds_.count > 0) {
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
              gravity_bar_);
    seed_gravity(gravity_bar_);
  }

  void read_inputs(const S* q_bar,
                   const S* start_bar,
                   const StateCotangents<S>& bar,
                   const ParameterCotangents<S>& sums) const {
    for (int i = 0; i < model_.reduced_nv; ++i) bar.q[i] = bar.v[i] = all<S>(0);
    for (int i = 0; i < model_.nv; ++i) {
      const auto& users = model_.mimic_v[i];
      const S ratio = all<S>(users.ratio);
      bar.q[users.reduced] = fma(ratio, q_bar[i] + take_cotangent(dq_[i]), bar.q[users.reduced]);
      bar.v[users.reduced] = fma(ratio, start_bar[i] + take_cotangent(v_[i]), bar.v[users.reduced]);
    }
    for (int i = 0; i < 10 * model_.bodies; ++i) {
      if (!contacts_.single[i / 10]) continue;
      const S own = take_cotangent(theta_[i]);
      if (sums.theta != nullptr) sums.theta[i] += own;
    }
    read_numbers(bar, sums);
  }

  ContactProduct<S> contact_;
  HeldRowsProduct<S, differs> held_;
  constraints::RowProduct<S, differs> rows_;
  const SharedInStep<S, differs> shared_;
  TapedAccelerations<R> accelerations_;  ///< of blocks at the end
  constraints::ProjectionProduct<S, differs> projection_;
  TapedReport<S, differs> report_;
  S gravity_bar_[3];
  const ContactState<S>*start_ = nullptr, *end_ = nullptr;
  S time_of_end_;
  int begin_free_ = 0, begin_end_ = 0, begin_states_ = 0;  ///< places on the tape
  contact::BoundedForce<S>* bounded_bar_;
  S *velocity_[passes], *change_[passes];  ///< (nv) of the passes, and their v − v*
  BodyTwists<S> twists_;
  BodyCotangents<S> body_;
};

}  // namespace pysim::stepping
