// Motion of frames as operations on states: Jacobians, their rates, velocities, accelerations.
#pragma once

#include "dynamics/frame_motion.hpp"
#include "dynamics/influence_coefficients.hpp"
#include "dynamics/jacobian.hpp"
#include "engine/batch.hpp"

namespace pysim::engine {

template <class S>
dynamics::BodyFrame<S> frame_of(const Batch<typename S::Real>& batch) {
  return {batch.body, {spatial::all33<S>(batch.placement), spatial::all3<S>(batch.placement + 9)}};
}

struct Jacobian {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    S* const J = take<S>(at.w, 6 * at.model.reduced_nv);
    dynamics::jacobian(at.model, q, frame_of<S>(at.batch), at.batch.expressed, J, at.w);
    at.save(J, at.batch.out, 6 * at.model.reduced_nv);
  }
};

struct JacobianRate {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    S* const J = take<S>(at.w, 6 * at.model.reduced_nv);
    dynamics::jacobian_rate(at.model, q, v, frame_of<S>(at.batch), at.batch.expressed, J, at.w);
    at.save(J, at.batch.out, 6 * at.model.reduced_nv);
  }
};

struct FrameVelocity {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v();
    const auto V = dynamics::frame_velocity(at.model, q, v, frame_of<S>(at.batch), at.batch.expressed, at.w);
    at.save_twist(V);
  }
};

struct FrameAcceleration {
  template <class S>
  static void at(States<S> at) {
    const S *q = at.full_q(), *v = at.full_v(), *a = at.full_a();
    const auto& batch = at.batch;
    at.save_twist(dynamics::frame_acceleration(
        at.model, q, v, a, frame_of<S>(batch), batch.expressed, batch.classical, at.w));
  }
};

struct InfluenceCoefficients {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    S* const h = take<S>(at.w, 6 * at.model.nv);
    dynamics::influence_coefficients(at.model, q, h, at.w);
    at.save(h, at.batch.out, 6 * at.model.nv);
  }
};

/// H (6, nv, nv) of the tree's coordinates.
struct SecondInfluenceCoefficients {
  template <class S>
  static void at(States<S> at) {
    const S* q = at.full_q();
    const std::ptrdiff_t size = std::ptrdiff_t{1} * at.model.nv * at.model.nv;
    auto* const H = take<spatial::Motion<S>>(at.w, size);
    dynamics::second_influence_coefficients(at.model, q, H, at.w);
    for (std::ptrdiff_t i = 0; i < size; ++i) {
      const S entry[6] = {H[i].v.x, H[i].v.y, H[i].v.z, H[i].w.x, H[i].w.y, H[i].w.z};
      for (int r = 0; r < 6; ++r)
        scatter(entry[r], at.batch.out + 6 * at.first * size + r * size + i, 6 * size);
    }
  }
};

}  // namespace pysim::engine
