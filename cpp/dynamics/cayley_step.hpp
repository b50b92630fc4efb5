// Half step on the configuration's Lie group by Cayley's map, group by group; real coordinates are linear.
#pragma once

#include "dynamics/retract.hpp"
#include "spatial/cayley.hpp"

namespace pysim::dynamics {

/// y such that q ⊕ 2 y is the whole step of a body that moves by 2 x. y may be x.
template <class S>
void half_cayley(const ModelOf<S>& model, const S* x, S* y) {
  for (int k = 0; k < model.runs; ++k) {
    const Block& block = model.run[k];
    const S* from = x + block.v;
    S* to = y + block.v;
    switch (block.group) {
      case Group::real: {
        for (int i = 0; i < block.nv; ++i) to[i] = from[i];
        break;
      }
      case Group::rotation: {
        store(spatial::half_cayley(load3(from)), to);
        break;
      }
      case Group::pose: {
        const auto half = spatial::half_cayley(Motion<S>{load3(from), load3(from + 3)});
        store(half.v, to);
        store(half.w, to + 3);
        break;
      }
    }
  }
}

}  // namespace pysim::dynamics
