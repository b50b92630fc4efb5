// Rollouts of worlds with one model each, in packs of two registers of doubles.
#include "engine/units/unit.hpp"
#include "engine/worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

const WorldsKernel<double> worlds_twice =
    &rollout_of_worlds<simd::Pack<double, 2 * PYSIM_WIDTH, simd::Varied<Tag>>>;

}  // namespace pysim::engine::PYSIM_ISA
