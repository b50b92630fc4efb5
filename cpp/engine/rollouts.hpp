// Rollouts of a batch: of states of one model, and of worlds that each have a model of their own, alike but
// for its numbers.
//
// Motion in a plane is a little arithmetic between divisions and short loops, and a plugin's program is read
// instruction by instruction: there a pack takes two registers of doubles. Trees and loops in space fill the
// registers, and floats are as many to one register as doubles to two.
#pragma once

#include "engine/rollout_operation.hpp"
#include "engine/run.hpp"
#include "tree/side_by_side.hpp"

namespace pysim::engine {

/// Whether rollouts of a model take two registers of worlds at a time; what a world does is the same.
template <class Real>
PYSIM_INLINE bool takes_two(const tree::ModelView<Real>& model) {
  const bool waits = model.flat || (model.rows == 0 && (model.planar || model.programs > 0));
  return sizeof(Real) == 8 && waits;
}

/// States [begin, end); W to a register.
template <class Isa, class Real, int W>
void rollout(const tree::ModelView<Real>& model,
             const Batch<Real>& batch,
             std::ptrdiff_t begin,
             std::ptrdiff_t end,
             void* scratch) {
  using Tail = simd::Pack<Real, 1, Isa>;
  if constexpr (sizeof(Real) == 8) {
    if (takes_two(model)) {
      const std::ptrdiff_t whole = end - (end - begin) % (2 * W);
      run<Rollout, simd::Pack<Real, 2 * W, Isa>, Tail>(model, batch, begin, whole, scratch);
      begin = whole;
    }
  }
  run<Rollout, simd::Pack<Real, W, Isa>, Tail>(model, batch, begin, end, scratch);
}

/// Worlds k to k + W.
template <class S, class Real>
void rollout_side_by_side(const tree::ModelView<Real>* const* models,
                          const Batch<Real>& batch,
                          std::ptrdiff_t k,
                          void* scratch) {
  Workspace<S> w = {static_cast<S*>(scratch)};
  const auto model = tree::SideBySide<S>{models + k, w}.model();
  Rollout::at(States<S>{model, batch, k, w});
}

/// Whole packs of worlds [begin, end), which take the same way; world k has the model models[k].
template <class Isa, class Real, int W>
void rollout_of_worlds(const tree::ModelView<Real>* const* models,
                       const Batch<Real>& batch,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  using Worlds = simd::Varied<Isa>;
  std::ptrdiff_t k = begin;
  if constexpr (sizeof(Real) == 8) {
    const std::ptrdiff_t whole = takes_two(*models[begin]) ? end - (end - begin) % (2 * W) : begin;
    for (; k < whole; k += 2 * W) {
      rollout_side_by_side<simd::Pack<Real, 2 * W, Worlds>>(models, batch, k, scratch);
    }
  }
  for (; k < end; k += W) rollout_side_by_side<simd::Pack<Real, W, Worlds>>(models, batch, k, scratch);
}

}  // namespace pysim::engine
