// Rollouts of worlds that each have a model of their own, alike but for its numbers.
#pragma once

#include "engine/rollout_operation.hpp"
#include "tree/side_by_side.hpp"

namespace pysim::engine {

/// Whole packs of worlds [begin, end); world k has the model models[k].
template <class Isa, class Real, int W>
void rollout_of_worlds(const tree::ModelView<Real>* const* models,
                       const Batch<Real>& batch,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  using S = simd::Pack<Real, W, simd::Varied<Isa>>;
  for (std::ptrdiff_t k = begin; k < end; k += W) {
    Workspace<S> w = {static_cast<S*>(scratch)};
    const auto model = tree::SideBySide<S>{models + k, w}.model();
    Rollout::at(States<S>{model, batch, k, w});
  }
}

}  // namespace pysim::engine
