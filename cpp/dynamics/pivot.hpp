// Elimination of one coordinate from an articulated inertia [Featherstone 2008, section 7.3].
//
//     U = IA S      D = SᵀU + I_r      K = U D⁻¹      then  IA ← IA − K Uᵀ
//
// I_r is the inertia of the coordinate itself: armature, and the terms of an implicit step. Bodies in
// space, in a plane and on the root's axes are all eliminated here; they differ in the types of IA and S.
#pragma once

#include "tree/subspace.hpp"

namespace pysim::dynamics {

/// K and D⁻¹ of one coordinate; Wrench is a force in space or in a plane.
template <class S, class Wrench>
struct Pivot {
  Wrench K;
  S inv_D;

  PYSIM_INLINE void set(const Wrench& U, S D) {
    inv_D = simd::all<S>(1) / D;
    K = inv_D * U;
  }

  /// Returns U.
  template <class Inertia, class Column>
  PYSIM_INLINE Wrench factor(const Inertia& IA, const Column& Sj, S I_r) {
    const Wrench U = IA * Sj;
    set(U, dot(Sj, U) + I_r);
    return U;
  }
};

}  // namespace pysim::dynamics
