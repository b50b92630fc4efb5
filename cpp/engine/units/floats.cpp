// Kernels of packs in single precision.
#include "engine/units/float_kernels.hpp"

namespace pysim::engine::PYSIM_ISA {

const StateKernels<float> floats = state_kernels<Floats>();
const FloatSteps float_worlds = float_steps<Floats>();

}  // namespace pysim::engine::PYSIM_ISA
