// Bodies that move in planes: their orientations, and the translations among a joint's coordinates.
#pragma once

#include "spatial/planar.hpp"
#include "tree/sincos_table.hpp"

namespace pysim::tree {

using spatial::all2;
using spatial::Vec2;

/// A planar joint translates along its first coordinates and rotates with its last.
PYSIM_INLINE int slides(const Joint& joint) {
  return joint.shape == Shape::revolute ? 0 : joint.shape == Shape::prismatic ? 1 : 2;
}

PYSIM_INLINE bool turns_in_plane(const Joint& joint) {
  return joint.shape != Shape::prismatic;
}

/// Sines and cosines of the angles from the plane's axes to the bodies' [bodies].
template <class S>
PYSIM_INLINE void planar_sincos(const ModelOf<S>& model, const S* q, S* sin, S* cos, Workspace<S> w) {
  S* const angle = take<S>(w, model.bodies);
  S turned = simd::all<S>(0);
  for (int b = 0; b < model.bodies; ++b) {
    const Joint& joint = model.joint[b];
    if (joint.parent < b - 1) turned = joint.parent < 0 ? simd::all<S>(0) : angle[joint.parent];
    const S sense = simd::all<S>(model.plane[b].sense);
    if (turns_in_plane(joint)) turned = simd::fma(sense, q[joint.q + joint.nq - 1], turned);
    angle[b] = turned;
  }
  sincos_each(static_cast<const S*>(angle), model.bodies, sin, cos);
}

}  // namespace pysim::tree
