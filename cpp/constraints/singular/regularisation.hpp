// Pivots that are no more than errors, near a singular position:  1/D becomes (1 − e³)/D,  e = w²/(D² + w²).
//
// A pivot D is sin² of the angle between a row and those before it. Where a mechanism passes a singular
// position, what draws back along the direction that vanishes would be an error divided by its distance: no
// step may be drawn onto the other branch. w = `blur` there, and 0 for the part of a load that is no error.
//
// A state that is off the constraints by g opens angles between rows that depend on each other by about g
// [m, rad]; w is no less than `opened` g², up to `most`, unless it is known which rows those are.
#pragma once

#include "simd/math.hpp"

namespace pysim::constraints {

using simd::all;
using simd::select;

template <class Real>
struct RegularisationWidth {
  static constexpr Real blur = sizeof(Real) == 8 ? Real(1e-10) : Real(3e-4);
  static constexpr Real opened = Real(1e4);
  static constexpr Real most = sizeof(Real) == 8 ? Real(1e-9) : Real(3e-4);
  static constexpr Real slight = sizeof(Real) == 8 ? Real(1e-6) : Real(1e-2);  ///< others change by no bit
};

template <class S>
struct Regularisation {
  using Width = RegularisationWidth<typename S::Real>;

  S least;  ///< w of what being off the constraints opens

  /// `residual` [m, rad] of the constraints; in `known` worlds dependent rows are left out beforehand.
  Regularisation(S residual, simd::Mask<S> known) {
    least = min(all<S>(Width::opened) * residual * residual, all<S>(Width::most));
    least = select(known, all<S>(0), least);
  }

  static simd::Mask<S> matters(S D) { return D < all<S>(Width::slight); }

  /// 1/D for the part of a load that may be an error, and for the other.
  S of_errors(S inverse, S D) const { return at_width(inverse, D, max(least, all<S>(Width::blur))); }
  S of_loads(S inverse, S D) const { return at_width(inverse, D, least); }

 private:
  static S at_width(S inverse, S D, S width) {
    const S e = width * width / fma(D, D, width * width);
    return fnma(e * e * e, inverse, inverse);
  }
};

}  // namespace pysim::constraints
