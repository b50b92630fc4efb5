// Forward kinematics [Featherstone 2008, example 4.3].
//
//     X_WB = X_WP X_PB(q)        root to leaves
#pragma once

#include "tree/joint.hpp"
#include "tree/workspace.hpp"

namespace pysim::dynamics {

using simd::all;
using simd::fma;
using spatial::ArticulatedInertia;
using spatial::Force;
using spatial::Inertia;
using spatial::Motion;
using spatial::Pose;
using spatial::Vec3;
using spatial::zero3;
using tree::Joint;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// The coordinate after the last one below joint b.
template <class Real>
PYSIM_INLINE int velocities_end(const tree::ModelView<Real>& model, int b) {
  const int end = model.joint[b].end;
  return end == model.bodies ? model.nv : model.joint[end].v;
}

/// Pose of every body in the world, in the engine's frames.
template <class S>
void forward_kinematics(const ModelOf<S>& model, const S* q, Pose<S>* X_WB, Workspace<S> w) {
  Motion<S>* const columns = take<Motion<S>>(w, model.stored_columns);
  const tree::SincosTable<S> sincos = tree::sincos_table(model, q, w);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    const Pose<S> X_PB = tree::evaluate(model, b, q, sincos, columns);
    X_WB[b] = joint.parent < 0 ? X_PB : X_WB[joint.parent] * X_PB;
  }
}

/// The spatial acceleration that gravity gives the world:  a₀ = [−g; 0].
template <class S>
PYSIM_INLINE Motion<S> minus_gravity(const ModelOf<S>& model) {
  return {-spatial::all3<S>(model.gravity), zero3<S>()};
}

}  // namespace pysim::dynamics
