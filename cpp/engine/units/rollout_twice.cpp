// Rollouts in packs of two registers of doubles.
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

const Kernel<double> rollout_twice = &run<Rollout, TwoRegisters>;

}  // namespace pysim::engine::PYSIM_ISA
