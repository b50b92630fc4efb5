// Product of the derivatives of an explicit scheme's step with cotangents: from those of the state at the end
// to those of the state at the start.
//
// The scheme's own text runs once more with numbers on a tape (simd/reverse.hpp), whose accelerations are one
// operation each (acceleration_product.hpp): a step of s stages goes back by s solutions and s products of
// inverse dynamics, and through what the scheme does beside them, such as J_r⁻¹(ξ) v of Munthe-Kaas's schemes
// and the axes of bodies that move freely, as it was computed.
#pragma once

#include "stepping/acceleration_product.hpp"
#include "stepping/advance.hpp"
#include "stepping/taped_step.hpp"

namespace pysim::stepping {

template <class S, class Scheme>
class SchemeStepProduct : public TapedStep<S> {
  using Base = TapedStep<S>;

 public:
  using Base::differs;
  using typename Base::R;

  /// Memory is taken where `w` is; `system` has signals that the step may change. `varied` are the numbers in
  /// which worlds may differ; null for none.
  SchemeStepProduct(const System<S>& system, const tree::VariedNumbers* varied, S h, Workspace<S>& w)
      : Base(system, varied, w), h_(h), accelerations_(model_, tape_, w) {
    w_ = w;
  }

  /// Makes the step of a segment, of length h in all lanes, from q and v in end_q and end_v. The sampled
  /// blocks that are due at its end are not run but in the product. Returns the worlds where the step was
  /// made in one part.
  simd::Mask<S> make(const StepSegment<S>& segment, const S* q, const S* v, S* end_q, S* end_v) {
    note_signals();
    simd::copy_each<S>(q, model_.reduced_nq, end_q);
    simd::copy_each<S>(v, model_.reduced_nv, end_v);
    System<S> system = system_;
    system.workspace = w_;
    Scheme::template step<S>(system, segment.time, h_, end_q, end_v);
    record(segment, q, v);
    return finite(model_, static_cast<const S*>(end_q), static_cast<const S*>(end_v)) & finite_states(system);
  }

  /// Replaces cotangents at the end by those at the start, and adds to the sums. Returns whether the tape had
  /// room.
  bool pull(const StateCotangents<S>& bar, const ParameterCotangents<S>& sums) {
    const S o = all<S>(0);
    Workspace<S> w = w_;
    S* const armature = take<S>(w, model_.nv);
    auto* const places = take<Vec3<S>>(w, model_.bodies);
    S gravity[3] = {o, o, o};
    for (int i = 0; i < model_.nv; ++i) armature[i] = o;
    for (int b = 0; b < model_.bodies; ++b) places[b] = spatial::zero3<S>();
    seed_signals(bar);
    each_users_joint([&](const tree::Joint& joint) {
      const int at = joint.reduced_v;
      seed_state(joint, q_ + joint.reduced_q, end_v_ + at, bar.q + at, bar.v + at);
    });
    accelerations_.pull({sums.theta, armature, places, gravity}, w);
    seed_numbers(armature, places);
    seed_gravity(gravity);
    for (int i = 0; i < model_.reduced_nv; ++i) {
      bar.q[i] = take_cotangent(dq_[i]);
      bar.v[i] = take_cotangent(v_[i]);
    }
    accelerations_.read(model_.bodies, sums.theta);
    read_numbers(bar, sums);
    return has_room();
  }

  using Base::has_room;

 private:
  using Base::begin_tape, Base::current_, Base::each_users_joint, Base::for_tape, Base::inputs, Base::keep;
  using Base::model_, Base::move_joint, Base::note_signals, Base::number_, Base::number_count;
  using Base::rates_, Base::read_numbers, Base::record_blocks, Base::seed_gravity, Base::seed_numbers;
  using Base::seed_signals, Base::seed_state, Base::still_inputs, Base::system_;
  using Base::take_inputs_of_signals, Base::tape_, Base::taped_system, Base::w_;

  /// Runs the step and the sampled blocks at its end once more on the tape.
  void record(const StepSegment<S>& segment, const S* q, const S* v) {
    const int nv = model_.reduced_nv;
    begin_tape([](auto&, auto&) {});
    dq_ = still_inputs(nv);
    v_ = inputs(v, nv);
    take_inputs_of_signals();
    accelerations_.begin(model_);
    Workspace<R> w = for_tape();
    q_ = take<R>(w, model_.reduced_nq);
    end_v_ = take<R>(w, nv);
    current_ = take<R>(w, number_count());
    rates_ = take<R>(w, system_.states());
    keep(w);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      move_joint(b, q + joint.reduced_q, dq_ + joint.reduced_v, q_ + joint.reduced_q);
    }
    for (int i = 0; i < nv; ++i) end_v_[i] = v_[i];
    for (int i = 0; i < number_count(); ++i) current_[i] = number_[i];
    System<R> system = taped_system(for_tape());
    system.taped = &accelerations_;
    Scheme::template step<R>(system, R(segment.time), R(h_), q_, end_v_);
    record_blocks(segment, q_, end_v_);
  }

  const S h_;
  TapedAccelerations<R> accelerations_;
  R *dq_ = nullptr, *v_ = nullptr, *q_ = nullptr, *end_v_ = nullptr;  ///< inputs, and the end
};

}  // namespace pysim::stepping
