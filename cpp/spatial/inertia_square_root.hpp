// Square root of a spatial inertia, of any rank.
//
//     M = X* F Fᵀ X⁻¹,   F = [ √m·1  0 ]     X  displacement by c, the centre of mass
//                            [ 0     Lp ]    Ic = Lp Lpᵀ about c,
//                                            Lp is L with its rows at the places of the pivots
//
// Cholesky with diagonal pivoting [Higham 2002, 10.3]: the largest remaining moment is next. Remainders
// below the tolerance are zero, so a rod has rank 2 and a point 0; it is relative to the trace of Ic, and
// to the rounding of the moments about the reference point from which Ic was computed.
#pragma once

#include "spatial/inertia.hpp"

namespace pysim::spatial {

/// L by rows: xx, yx, yy, zx, zy, zz of the pivoted matrix; row i belongs to axis pivot[i].
template <class S>
struct Factor {
  S root_m;
  Vec3<S> c;
  S L[6];
  S pivot[3];
  S rank;
};

/// Exchanges a and b where the mask holds.
template <class S>
PYSIM_INLINE void exchange(simd::Mask<S> mask, S& a, S& b) {
  const S kept = a;
  a = select(mask, b, a);
  b = select(mask, kept, b);
}

/// I − m (c·c 1 − c cᵀ), c = mc / m, or 0 without mass.
template <class S>
PYSIM_INLINE Sym3<S> central(const Inertia<S>& M, const Vec3<S>& c) {
  const Vec3<S>& h = M.mc;
  return {M.I.xx - fma(h.y, c.y, h.z * c.z),
          M.I.yy - fma(h.z, c.z, h.x * c.x),
          M.I.zz - fma(h.x, c.x, h.y * c.y),
          fma(h.x, c.y, M.I.xy),
          fma(h.y, c.z, M.I.yz),
          fma(h.z, c.x, M.I.zx)};
}

template <class S>
PYSIM_INLINE Factor<S> factor(const Inertia<S>& M, S tolerance) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1), two = all<S>(2);
  const simd::Mask<S> massive = M.m > o;
  const S inv_m = select(massive, e / select(massive, M.m, e), o);
  const Vec3<S> c = inv_m * M.mc;
  Sym3<S> A = central(M, c);
  const S rounding = all<S>(sizeof(Real) == 8 ? Real(4e-15) : Real(2e-6));
  const S least = max(tolerance * (A.xx + A.yy + A.zz), rounding * (M.I.xx + M.I.yy + M.I.zz));
  S first = o, second = e, third = two, rank = o;

  // The largest of the three comes first.
  simd::Mask<S> swap = A.yy > A.xx;
  exchange(swap, A.xx, A.yy), exchange(swap, A.zx, A.yz), exchange(swap, first, second);
  swap = A.zz > A.xx;
  exchange(swap, A.xx, A.zz), exchange(swap, A.xy, A.yz), exchange(swap, first, third);
  simd::Mask<S> positive = A.xx > least;
  const S l11 = select(positive, sqrt(max(A.xx, o)), o);
  const S inv_1 = select(positive, e / select(positive, l11, e), o);
  rank += select(positive, e, o);
  S l21 = A.xy * inv_1, l31 = A.zx * inv_1;
  S yy = fnma(l21, l21, A.yy), zz = fnma(l31, l31, A.zz);

  // Then the larger of the two that are left.
  swap = zz > yy;
  exchange(swap, yy, zz), exchange(swap, l21, l31), exchange(swap, second, third);
  positive = yy > least;
  const S l22 = select(positive, sqrt(max(yy, o)), o);
  const S inv_2 = select(positive, e / select(positive, l22, e), o);
  rank += select(positive, e, o);
  const S l32 = fnma(l31, l21, A.yz) * inv_2;
  zz = fnma(l32, l32, zz);
  positive = zz > least;
  const S l33 = select(positive, sqrt(max(zz, o)), o);
  rank += select(positive, e, o);
  return {sqrt(max(M.m, o)), c, {l11, l21, l22, l31, l32, l33}, {first, second, third}, rank};
}

}  // namespace pysim::spatial
