// Poses, twists and proper accelerations of all bodies, in the user's frames.
//
//     V = X_BP V_P + S v        a = X_BP a_P + S v̇ + c + V × S v        a₀ = −g        root to leaves
//
// The recursion runs in the engine's frames, whose axes are turned so that joints are cheap; T, the rotation
// of a body's frame, maps its results to the user's:  X_PB ← T_P X_PB Tᵀ,  V ← T V,  a ← T a,  S ← T S.
#pragma once

#include "dynamics/frame.hpp"

namespace pysim::dynamics {

template <class S>
struct MovingBody {
  Pose<S> X_PB;
  Motion<S> V, a;
};

/// T of body b: the axes of the engine's frame in the user's.
template <class S>
PYSIM_INLINE spatial::Mat3<S> turn(const ModelOf<S>& model, int b) {
  return spatial::all33<S>(model.constants[b].alignment);
}

/// Engine's frames. `a` may be null (zero); the world accelerates with a₀.
template <class S>
void spread_motion(const ModelOf<S>& model,
                   const S* q,
                   const S* v,
                   const S* a,
                   const Motion<S>& a0,
                   MovingBody<S>* body,
                   Motion<S>* columns) {
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    MovingBody<S>& B = body[b];
    tree::evaluate(model, b, q, columns, B.X_PB);
    const bool root = joint.parent < 0;
    Motion<S> V = root ? spatial::zero_motion<S>() : to_child(B.X_PB, body[joint.parent].V);
    Motion<S> acc = to_child(B.X_PB, root ? a0 : body[joint.parent].a);
    for (int i = 0; i < joint.nv; ++i) {
      const auto Sj = tree::axis(joint, columns, i);
      V = plus(V, Sj, v[joint.v + i]);
      if (a != nullptr) acc = plus(acc, Sj, a[joint.v + i]);
    }
    acc += tree::cross_joint_twist(V, joint, columns, v);
    if (joint.biased) acc += tree::bias(model, b, columns, v);
    B.V = V;
    B.a = acc;
  }
}

/// From the engine's frames to the user's; S_B (tree nv) are the joints' columns there.
template <class S>
void name_frames(const ModelOf<S>& model, const Motion<S>* columns, MovingBody<S>* body, Motion<S>* S_B) {
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    for (int i = 0; i < joint.nv; ++i) {
      S_B[joint.v + i] = column(tree::axis(joint, columns, i));
    }
    if (!model.aligned) continue;
    const auto T = turn<S>(model, b);
    MovingBody<S>& B = body[b];
    B.X_PB.R = B.X_PB.R * transpose(T);
    if (joint.parent >= 0) {
      const auto T_P = turn<S>(model, joint.parent);
      B.X_PB = {T_P * B.X_PB.R, T_P * B.X_PB.p};
    }
    B.V = rotate(T, B.V);
    B.a = rotate(T, B.a);
    for (int i = 0; i < joint.nv; ++i) S_B[joint.v + i] = rotate(T, S_B[joint.v + i]);
  }
}

}  // namespace pysim::dynamics
