// Kernels of one state in single precision: those that fill no pack.
#include "engine/units/float_kernels.hpp"

namespace pysim::engine::PYSIM_ISA {

const StateKernels<float> one_float = state_kernels<OneFloat>();
const FloatSteps one_float_world = float_steps<OneFloat>();

}  // namespace pysim::engine::PYSIM_ISA
