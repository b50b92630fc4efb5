// Norm of the error of a step, in the tangent space, relative to the tolerances.
//
//     |e| = √ mean_i (e_i / (atol_i + rtol_i · size_i))²        over the coordinates of ξ and of v
//
// The size of a real coordinate is its own, that of a displacement's position its largest number, that of a
// rotation 1 rad.
#pragma once

#include "stepping/system.hpp"

namespace pysim::stepping {

/// Sizes of the coordinates of q, one per coordinate of v.
template <class S>
void configuration_size(const ModelOf<S>& model, const S* q, S* size) {
  using tree::Group;
  for (int b = 0; b < model.bodies; ++b) {
    const tree::Joint& joint = model.joint[b];
    for (int k = 0; joint.reduced_q >= 0 && k < joint.blocks; ++k) {
      const tree::Block& block = joint.block[k];
      const S* p = q + joint.reduced_q + block.q;
      S* s = size + joint.reduced_v + block.v;
      for (int i = 0; i < block.nv; ++i) s[i] = block.group == Group::real ? abs(p[i]) : all<S>(1);
      if (block.group != Group::pose) continue;
      s[0] = s[1] = s[2] = max(abs(p[0]), max(abs(p[1]), abs(p[2])));
    }
  }
}

/// Allowed error of each coordinate of ξ and of v, between a step's ends.
template <class S>
struct Allowance {
  S *xi, *v;
};

template <class S>
Allowance<S> allowance(const System<S>& system,
                       const Tolerances& tolerances,
                       const S* q0,
                       const S* v0,
                       const S* q1,
                       const S* v1,
                       Workspace<S>& w) {
  const int nv = system.model.reduced_nv;
  S *const xi = take<S>(w, nv), *const v = take<S>(w, nv);
  Workspace<S> inner = w;
  S* const end = take<S>(inner, nv);
  configuration_size(system.model, q0, xi);
  configuration_size(system.model, q1, end);
  for (int i = 0; i < nv; ++i) {
    const S relative = all<S>(tolerances.relative[i]);
    xi[i] = fma(relative, max(xi[i], end[i]), all<S>(tolerances.position[i]));
    v[i] = fma(relative, max(abs(v0[i]), abs(v1[i])), all<S>(tolerances.velocity[i]));
  }
  return {xi, v};
}

/// The norm above; `worst` receives the coordinate of v with the largest contribution.
template <class S>
S error_norm(int nv, const Allowance<S>& allowed, const S* xi, const S* v, S* worst) {
  S sum = all<S>(0), largest = all<S>(-1);
  for (int i = 0; i < nv; ++i) {
    const S x = xi[i] / allowed.xi[i], y = v[i] / allowed.v[i];
    const S square = fma(x, x, y * y);
    sum += square;
    *worst = select(square > largest, all<S>(i), *worst);
    largest = max(largest, square);
  }
  return sqrt(sum / all<S>(nv > 0 ? 2 * nv : 1));
}

/// The norm of the rounding errors of q and v: above 1 the tolerances are finer than rounding.
template <class S>
S rounding_norm(
    const ModelOf<S>& model, const Allowance<S>& allowed, const S* q, const S* v, S* worst, Workspace<S> w) {
  const int nv = model.reduced_nv;
  const S epsilon = all<S>(__DBL_EPSILON__);
  S *const xi = take<S>(w, nv), *const rate = take<S>(w, nv);
  configuration_size(model, q, xi);
  for (int i = 0; i < nv; ++i) {
    xi[i] = epsilon * xi[i];
    rate[i] = epsilon * abs(v[i]);
  }
  return error_norm(nv, allowed, static_cast<const S*>(xi), static_cast<const S*>(rate), worst);
}

}  // namespace pysim::stepping
