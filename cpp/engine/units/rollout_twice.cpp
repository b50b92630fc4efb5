// Rollouts in packs of two registers of doubles, unless CMake leaves them out (PYSIM_ONE_REGISTER).
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

#if defined(PYSIM_ONE_REGISTER)
const Kernel<double> rollout_twice = nullptr;
#else
const Kernel<double> rollout_twice = &run<Rollout, TwoRegisters>;
#endif

}  // namespace pysim::engine::PYSIM_ISA
