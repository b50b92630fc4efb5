// Derivatives of the rows of a rolling wheel with respect to its pose and its spin, see rolling.hpp.
//
//     dn = n × θ for a rotation θ of B,    dṅ = dn × ω + n × dω;    u turns by dα = u⊥·dn / |n_xy|
//
//     d(turn) = (u⊥·dṅ − dα u·ṅ − turn u·dn) / |n_xy|
#pragma once

#include "constraints/rolling.hpp"

namespace pysim::constraints {

/// Changes of a wheel's directions and contact, and of their rates, in B.
template <class S>
struct WheelChange {
  Vec3<S> c, c_rate;
  Vec3<S> along[3], along_rate[3];  ///< of n, t, s

  WheelChange(const Wheel<S>& x, S radius, const Vec3<S>& dn, const Vec3<S>& dn_rate) {
    const Vec3<S> across = -x.t;
    const S angle = x.inverse * dot(across, dn);
    const S turn = x.inverse * (dot(across, dn_rate) - angle * dot(x.u, x.n_rate) - x.turn * dot(x.u, dn));
    c = (-radius * angle) * across;
    c_rate = -radius * (turn * across - (x.turn * angle) * x.u);
    along[0] = dn;
    along_rate[0] = dn_rate;
    const Vec3<S> dt = along[1] = angle * x.u;
    const Vec3<S> dt_rate = along_rate[1] = turn * x.u + (x.turn * angle) * across;
    along[2] = cross(dn, x.t) + cross(x.n, dt);
    along_rate[2] = cross(dn_rate, x.t) + cross(x.n_rate, dt) + cross(dn, x.t_rate) + cross(x.n, dt_rate);
  }
};

/// Changes of the rows of a wheel: W, Ẇ, dW and dẆ of row i.
template <class S>
struct WheelRows {
  const Wheel<S>& wheel;
  Vec3<S> along[3], rate[3];

  explicit WheelRows(const Wheel<S>& x)
      : wheel(x), along{x.n, x.t, x.s}, rate{x.n_rate, x.t_rate, x.s_rate} {}

  /// Ẇ = [ẋ; ċ × x + c × ẋ].
  Force<S> W_rate(int i) const { return {rate[i], cross(wheel.c_rate, along[i]) + cross(wheel.c, rate[i])}; }

  /// dW = [dx; dc × x + c × dx].
  Force<S> dW(int i, const WheelChange<S>& d) const {
    return {d.along[i], cross(d.c, along[i]) + cross(wheel.c, d.along[i])};
  }

  /// dẆ = [dẋ; dċ × x + ċ × dx + dc × ẋ + c × dẋ].
  Force<S> dW_rate(int i, const WheelChange<S>& d) const {
    return {d.along_rate[i],
            cross(d.c_rate, along[i]) + cross(wheel.c_rate, d.along[i]) + cross(d.c, rate[i]) +
                cross(wheel.c, d.along_rate[i])};
  }
};

}  // namespace pysim::constraints
