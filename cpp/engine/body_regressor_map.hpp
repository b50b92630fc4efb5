// The regressor of one body's wrench as a function of rows: twist and proper acceleration to a 6×10 matrix.
#pragma once

#include "dynamics/regressor.hpp"

namespace pysim::engine {

struct BodyRegressor {
  static constexpr int in = 12, out = 60;

  /// Row r is the work that the wrench does on the unit twist r.
  template <class S>
  static void at(const S* x, S* y) {
    const spatial::Motion<S> V = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
    const spatial::Motion<S> a = {{x[6], x[7], x[8]}, {x[9], x[10], x[11]}};
    const auto body = dynamics::regressor_body(spatial::identity_pose<S>(), V, a);
    const S o = simd::all<S>(0);
    for (int r = 0; r < 6; ++r) {
      S e[6] = {o, o, o, o, o, o};
      e[r] = simd::all<S>(1);
      dynamics::regressor_entries(
          body, spatial::Motion<S>{{e[0], e[1], e[2]}, {e[3], e[4], e[5]}}, y + 10 * r);
    }
  }
};

}  // namespace pysim::engine
