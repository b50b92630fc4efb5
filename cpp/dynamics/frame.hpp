// A frame F fixed to a body, and the axes and point in which its motion is expressed.
//
//     local     F's own axes, at its origin                    V_F
//     world     the world's axes, at the world's origin        X_WF V_F
//     aligned   the world's axes, at F's origin                R_WF V_F
#pragma once

#include "dynamics/kinematics.hpp"

namespace pysim::dynamics {

enum class Expressed : int { local, world, aligned };

template <class S>
struct BodyFrame {
  int body;      ///< −1 for a frame fixed to the world
  Pose<S> X_BF;  ///< in the engine's body frame
};

template <class S>
PYSIM_INLINE Motion<S> rotate(const spatial::Mat3<S>& R, const Motion<S>& V) {
  return {R * V.v, R * V.w};
}

/// A twist of F, given on F's axes.
template <class S>
PYSIM_INLINE Motion<S> express(Expressed where, const Pose<S>& X_WF, const Motion<S>& V) {
  switch (where) {
    case Expressed::world:
      return to_parent(X_WF, V);
    case Expressed::aligned:
      return rotate(X_WF.R, V);
    case Expressed::local:
      break;
  }
  return V;
}

/// The pose of F in every body on its path to the world, and X_WF. Also computes the joints' columns.
template <class S>
Pose<S> climb(
    const ModelOf<S>& model, const S* q, const BodyFrame<S>& frame, Pose<S>* X_BF, Motion<S>* columns) {
  Pose<S> X = frame.X_BF;
  for (int b = frame.body; b >= 0; b = model.joint[b].parent) {
    X_BF[b] = X;
    X = tree::evaluate(model, b, q, columns) * X;
  }
  return X;
}

}  // namespace pysim::dynamics
