// Smooth contacts with numbers on a tape: the wrench of a pair, six numbers that depend on eighteen of the
// relative motion of its bodies, is one operation each.
//
//     F̅_k → slope_ki = ∂F_k/∂x_i, of contact/smooth.hpp on a tape of its own
//
// Gaps, points and normals are differentiated by the poses of both bodies, while every point stays on its
// corner, edge or face.
#pragma once

#include "collision/separation_product.hpp"
#include "contact/smooth.hpp"
#include "tree/tape.hpp"

namespace pysim::stepping {

template <class S, bool n>
class TapedContacts {
 public:
  /// Contacts of numbers on `tape`, from those of the numbers themselves, null for none. It refers to this.
  TapedContacts(const tree::ContactForces* contacts, simd::Tape<S>& tape, tree::Workspace<S>& w)
      : tape_(tape) {
    if (contacts == nullptr) return;
    law_ = static_cast<const contact::SmoothContacts*>(contacts->law);
    forces_ = *contacts;
    forces_.law = this;
    forces_.pack = forces_.single = &wrench;
    pair_ = tree::take_tape<U>(w);
  }

  TapedContacts(const TapedContacts&) = delete;
  TapedContacts& operator=(const TapedContacts&) = delete;

  const tree::ContactForces* forces() const { return law_ == nullptr ? nullptr : &forces_; }

 private:
  using U = typename collision::UniformOf<S>::type;  ///< shapes are the same in all worlds
  using R = simd::Reverse<S, n>;
  using T = simd::Reverse<U>;
  using Wrench = elements::ContactWrench<R>;

  /// As tree::ContactForces has it.
  static bool wrench(const void* contacts, int pair, const void* motion, void* wrench, void*) {
    const auto& own = *static_cast<const TapedContacts*>(contacts);
    return own.record(pair, static_cast<const R*>(motion), static_cast<R*>(wrench));
  }

  bool record(int pair, const R* motion, R* wrench) const {
    simd::Tape<U> tape = pair_;
    T x[Wrench::motion_numbers], F[Wrench::wrench_numbers];
    for (int i = 0; i < Wrench::motion_numbers; ++i) {
      x[i] = T(collision::same_lanes<U>(motion[i].value), &tape, tape.add_node());
    }
    T* const no_slopes = nullptr;
    if (!contact::smooth_wrench<T>(*law_, pair, x, F, no_slopes)) return false;
    for (int k = 0; k < Wrench::wrench_numbers; ++k) {
      tree::seed(F[k], all<U>(1));
      tape.pull(0);
      wrench[k] = R(collision::same_lanes<S>(F[k].value), &tape_, tape_.add_node());
      for (int i = 0; i < Wrench::motion_numbers; ++i) {
        const S slope = collision::same_lanes<S>(tree::take_cotangent(x[i]));
        if (!motion[i].is_constant()) tape_.add_edge(motion[i].node, slope);
      }
    }
    if (tape.is_full()) tape_.nodes = tape_.edges = simd::Tape<S>::most;
    return true;
  }

  simd::Tape<S>& tape_;
  const contact::SmoothContacts* law_ = nullptr;
  tree::ContactForces forces_ = {};
  simd::Tape<U> pair_ = {};
};

}  // namespace pysim::stepping
