// The regressor of one body's wrench as a function of rows: twist and proper acceleration to a 6×10 matrix.
#pragma once

#include "dynamics/regressor.hpp"
#include "engine/row_vectors.hpp"

namespace pysim::engine {

struct BodyRegressor {
  static constexpr int in = 12, out = 60;

  /// Row r is the work that the wrench does on the unit twist r.
  template <class S>
  static void at(const S* x, S* y) {
    const auto body = dynamics::regressor_body(spatial::identity_pose<S>(), twist_of(x), twist_of(x + 6));
    const S o = simd::all<S>(0);
    for (int r = 0; r < 6; ++r) {
      S e[6] = {o, o, o, o, o, o};
      e[r] = simd::all<S>(1);
      dynamics::regressor_entries(body, twist_of(e), y + 10 * r);
    }
  }
};

}  // namespace pysim::engine
