// Rollouts of worlds that have one model each; the models differ in their numbers only.
#pragma once

#include "engine/motion_operations.hpp"
#include "tree/side_by_side.hpp"

namespace pysim::engine {

/// Worlds [begin, end), a whole number of packs; world k has the model models[k].
template <class S>
void rollout_of_worlds(const tree::ModelView<typename S::Real>* const* models,
                       const Batch<typename S::Real>& batch,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  for (std::ptrdiff_t k = begin; k < end; k += S::width) {
    const tree::RunningOperation running("Rollout");
    Workspace<S> w = {static_cast<S*>(scratch)};
    const auto model = tree::SideBySide<S>{models + k, w}.model();
    Rollout::at(States<S>{model, batch, k, w});
  }
}

}  // namespace pysim::engine
