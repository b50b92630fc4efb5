// Regularised pivots near a singular position:  1/D becomes (1 − e³)/D,  e = w²/(D² + w²).
//
// A pivot D is sin² of the angle between a row and those before it. Where a mechanism passes a singular
// position, the force along the vanishing direction would be an error divided by a small distance, and could
// pull a step onto the other branch. w = `blur` there, and 0 for the part of a load that is exact.
//
// At a state that violates the constraints by g, dependent rows differ in angle by about g
// [m, rad]; w is at least `opened` g², up to `most`, unless the dependent rows are known.
#pragma once

#include "simd/math.hpp"

namespace pysim::constraints {

using simd::all;
using simd::select;

template <class Real>
struct RegularisationWidth {
  static constexpr Real blur = sizeof(Real) == 8 ? Real(1e-13) : Real(3e-4);
  static constexpr Real opened = Real(1e4);
  static constexpr Real most = sizeof(Real) == 8 ? Real(1e-9) : Real(3e-4);
  static constexpr Real slight = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-2);  ///< pivots above are exact
};

template <class S>
struct Regularisation {
  using Width = RegularisationWidth<typename S::Real>;

  S least;  ///< w due to the constraint error

  /// `residual` [m, rad] of the constraints; in `known` worlds dependent rows are left out beforehand.
  Regularisation(S residual, simd::Mask<S> known) {
    least = min(all<S>(Width::opened) * residual * residual, all<S>(Width::most));
    least = select(known, all<S>(0), least);
  }

  static simd::Mask<S> matters(S D) { return D < all<S>(Width::slight); }

  /// 1/D for the part of a load that may contain errors, and for the exact part.
  S of_errors(S inverse, S D) const { return at_width(inverse, D, max(least, all<S>(Width::blur))); }
  S of_loads(S inverse, S D) const { return at_width(inverse, D, least); }

 private:
  static S at_width(S inverse, S D, S width) {
    const S e = width * width / fma(D, D, width * width);
    return fnma(e * e * e, inverse, inverse);
  }
};

}  // namespace pysim::constraints
