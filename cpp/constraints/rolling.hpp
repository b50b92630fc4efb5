// A wheel that rolls on a plane without slipping: a disc about z of frame B on the plane z = 0 of frame A.
//
//     n = R_ABᵀ z     u = n_xy / |n_xy|     c = −r u           centre to contact, in B: down along the disc
//     t = −z × u      s = n × t                                along the track and across it
//
//     height     g = p·z − r |n_xy|      W = [n; c × n]
//     no slip    t·(v + ω × c) = 0       W = [t; c × t],   s alike; these hold velocities, never a position
//
// and Ẇ from  ṅ = n × ω,  u̇ = u⊥ (u⊥·ṅ) / |n_xy|.  A wheel that lies flat has no contact point: 1/|n_xy| is
// set to 0 then, and so are the wrenches of its no-slip rows.
#pragma once

#include "spatial/motion.hpp"

namespace pysim::constraints {

using simd::all;
using spatial::Force;
using spatial::Motion;
using spatial::Vec3;

/// Directions and the contact of a wheel, with their rates, in B.
template <class S>
struct Wheel {
  Vec3<S> n, c, t, s, u;
  Vec3<S> n_rate, c_rate, t_rate, s_rate;
  S rise;     ///< |n_xy|: the cosine of how far the wheel leans
  S inverse;  ///< 1/|n_xy|
  S turn;     ///< u̇ = turn u⊥

  Wheel(const Vec3<S>& normal, const Vec3<S>& w, S radius) : n(normal), n_rate(cross(normal, w)) {
    const S o = all<S>(0);
    rise = sqrt(n.x * n.x + n.y * n.y);
    inverse = select(rise > o, all<S>(1) / rise, o);
    u = {inverse * n.x, inverse * n.y, o};
    const Vec3<S> across = {-u.y, u.x, o};
    turn = inverse * dot(across, n_rate);  // u̇ = turn u⊥, u̇⊥ = −turn u
    c = -radius * u;
    c_rate = (-radius * turn) * across;
    t = -across;
    t_rate = turn * u;
    s = cross(n, t);
    s_rate = cross(n_rate, t) + cross(n, t_rate);
  }

  /// Row i for a motion V of frame B: its wrench, and Ẇ·V.
  S row(const Vec3<S>& along, const Vec3<S>& rate, const Motion<S>& V, Force<S>& W) const {
    W = {along, cross(c, along)};
    return dot(V, Force<S>{rate, cross(c_rate, along) + cross(c, rate)});
  }
};

}  // namespace pysim::constraints
