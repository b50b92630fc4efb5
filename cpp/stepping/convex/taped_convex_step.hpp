// A convex step once more on a tape: the forces of actuators and joints, velocities without contacts, the
// motion, and states of elements. Products of its derivatives begin there.
//
// What a step solves for has derivatives of its own (convex/product.hpp) and is an input: velocity terms, v*
// before them, and v₁.
#pragma once

#include "stepping/convex/step.hpp"
#include "stepping/taped_step.hpp"
#include "stepping/velocity_terms_product.hpp"

namespace pysim::stepping {

template <class S>
class TapedConvexStep : public TapedStep<S> {
  using Base = TapedStep<S>;

 public:
  using Real = typename S::Real;
  using Base::differs;
  using typename Base::N;
  using typename Base::Parameter;
  using typename Base::R;

 protected:
  using Base::begin_tape, Base::current_, Base::each_users_joint, Base::for_tape, Base::inputs, Base::keep;
  using Base::model_, Base::move_joint, Base::number_, Base::number_count, Base::on_tape, Base::rates_;
  using Base::projects, Base::take_projected_end, Base::taped_system, Base::w_;
  using Base::still_inputs, Base::system_, Base::take_inputs_of_signals, Base::tape_, Base::taped_model_;
  using typename Base::UsersState;

  TapedConvexStep(const System<S>& system,
                  const ConvexRun<S>& run,
                  const tree::VariedNumbers* varied,
                  S h,
                  Workspace<S>& w)
      : Base(system, varied, w),
        contacts_(run.contacts),
        h_(h),
        rounds_(model_.nv, w),
        renewal_{take<S>(w, model_.nv), simd::nowhere<S>()},
        tree_(model_, nullptr, w),
        step_(system_, run, h, w) {
    for (int i = 0; i < model_.nv; ++i) renewal_.delta[i] = all<S>(0);
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

  /// Velocity terms are those of worlds that have them; v₁ (nv) is that of the last pass.
  void take_inputs_of_motion(const S* v1) {
    const int nv = model_.nv;
    const auto moving = rounds_.share > all<S>(0);
    for (int i = 0; i < nv; ++i) {
      rounds_.change[i] = rounds_.count > 0 ? select(moving, rounds_.change[i], all<S>(0)) : all<S>(0);
      rounds_.a[i] = rounds_.count > 0 ? select(moving, rounds_.a[i], all<S>(0)) : all<S>(0);
    }
    before_ = inputs(rounds_.before, nv);
    rate_ = inputs(rounds_.a, nv);
    rate_change_ = inputs(rounds_.change, nv);
    share_ = inputs(&rounds_.share, 1);
    v1_ = inputs(v1, nv);
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
  void record_motion(const SingleBodies<S>& singles) {
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
        move_single<R>(M, p, on_tape(singles.cancel(b)), h, v1 + i, shift_ + i, q1_ + joint.q, end_v_ + i);
      } else {
        move_root<R>(h, v1 + i, shift_ + i, q1_ + joint.q, end_v_ + i);
      }
    }
  }

  /// The user's state at the end of the step, on the tape.
  UsersState take_end(const ContactState<S>& state) {
    if (projects()) return take_projected_end(state.q, state.v);
    Workspace<R> w = for_tape();
    const UsersState end = users_state(q1_, end_v_, w);
    keep(w);
    return end;
  }

  /// States of elements at the end, on the tape; `state` is that of the step.
  void record_states(S time, const ContactState<S>& state) {
    at_end_ = take_end(state);
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

  /// Of numbers in which worlds may differ.
  static void seed_law(const constraints::CoordinateLaw<N>& law,
                       const constraints::CoordinateCotangents<S>& bar) {
    seed(law.friction, bar.friction), seed(law.stiffness, bar.stiffness), seed(law.damping, bar.damping);
    seed(law.lower, bar.below), seed(law.upper, -bar.above);
  }

  const contact::Contacts<Parameter>& contacts_;
  const S h_;
  VelocityRounds<S> rounds_;
  contact::Renewal<S> renewal_;
  dynamics::TreeProduct<S> tree_;
  ConvexStep<S> step_;
  const S *start_q_ = nullptr, *start_v_ = nullptr;

  contact::Contacts<typename R::Parameter> taped_contacts_ = {};  ///< their forces of joints
  const constraints::CoordinateLaw<typename R::Parameter>* coordinate_;
  R *dq_, *v_, *theta_;
  R *before_, *rate_, *rate_change_, *share_, *v1_;
  R *q_, *tau_, *base_;
  R *free_, *shift_, *q1_, *end_v_;
  UsersState at_end_ = {};  ///< projected
  Force<R>* momentum_;
  contact::BoundedForce<R>* bounded_;
  int bounded_count_ = 0;

 private:
  template <class T>
  static Vec3<T> three(const R* x) {
    return {T(x[0]), T(x[1]), T(x[2])};
  }
};

}  // namespace pysim::stepping
