// Matrix E beside M of a step that is implicit in forces on coordinates, [2 nv]: its diagonal, and behind it
// the entries of three coordinates from k on, of a rotation or position with a spring:
//
//     E_k,k+1   E_k,k+2   E_k+1,k+2      at nv + k, nv + k + 1, nv + k + 2
//
// All others are zero.
#pragma once

#include "tree/model_view.hpp"

namespace pysim::dynamics {

using tree::Block;
using tree::ModelOf;

/// Numbers of E.
constexpr int step_block_numbers(int nv) {
  return 2 * nv;
}

/// Place of E_ij of the coordinates from k on, 0 ≤ i < j ≤ 2.
constexpr int beside_diagonal(int k, int i, int j) {
  return k + i + j - 1;
}

/// visit(k) for each rotation and position of the joint of body b that has a spring; its coordinates are k to
/// k + 2.
template <class Model, class Visit>
PYSIM_INLINE void each_sprung_triple(const Model& model, int b, const Visit& visit) {
  const tree::Joint& joint = model.joint[b];
  for (int n = 0; model.joint_forces && n < joint.blocks; ++n) {
    const Block& block = joint.block[n];
    if (block.group == tree::Group::real) continue;
    const auto* const p = model.passive + joint.v + block.v;
    bool sprung = false;
    for (int i = 0; i < block.nv; ++i) sprung = sprung || simd::is_there(p[i].stiffness);
    if (!sprung) continue;
    visit(joint.v + block.v);
    if (block.group == tree::Group::pose) visit(joint.v + block.v + 3);
  }
}

template <class Model, class Visit>
void each_sprung_triple(const Model& model, const Visit& visit) {
  for (int b = 0; b < model.bodies; ++b) each_sprung_triple(model, b, visit);
}

/// visit(i, j, place of E_ij) for all entries above the diagonal, i < j.
template <class Model, class Visit>
void each_entry_beside_diagonal(const Model& model, const Visit& visit) {
  each_sprung_triple(model, [&](int k) {
    visit(k, k + 1, model.nv + beside_diagonal(k, 0, 1));
    visit(k, k + 2, model.nv + beside_diagonal(k, 0, 2));
    visit(k + 1, k + 2, model.nv + beside_diagonal(k, 1, 2));
  });
}

/// y −= (E − its diagonal) x.
template <class S>
void subtract_beside_diagonal(const ModelOf<S>& model, const S* E, const S* x, S* y) {
  each_entry_beside_diagonal(model, [=](int i, int j, int at) {
    y[i] = simd::fnma(E[at], x[j], y[i]);
    y[j] = simd::fnma(E[at], x[i], y[j]);
  });
}

/// Subtracts the derivatives of λᵀ E x by the entries of E from `bar`.
template <class S>
void subtract_block_cotangents(const ModelOf<S>& model, const S* lambda, const S* x, S* bar) {
  for (int i = 0; i < model.nv; ++i) bar[i] = simd::fnma(lambda[i], x[i], bar[i]);
  each_entry_beside_diagonal(model, [=](int i, int j, int at) {
    bar[at] = simd::fnma(lambda[i], x[j], simd::fnma(lambda[j], x[i], bar[at]));
  });
}

}  // namespace pysim::dynamics
