// Every kernel of a number type of single precision, see double_kernels.hpp.
#pragma once

#include "engine/algorithm_operations.hpp"
#include "engine/constraint_operations.hpp"
#include "engine/contact_operations.hpp"
#include "engine/derivative_operations.hpp"
#include "engine/differential_operation.hpp"
#include "engine/frame_operations.hpp"
#include "engine/inertia_operations.hpp"
#include "engine/motion_operations.hpp"
#include "engine/regressor_operations.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr StateKernels<float> state_kernels() {
  return {{PYSIM_ALGORITHMS(PYSIM_RUN)}, {PYSIM_DERIVATIVES(PYSIM_RUN)}, {PYSIM_MOTIONS(PYSIM_RUN)}};
}

/// Advance of worlds: convex steps, and schemes of fixed step without contacts.
template <class S>
constexpr FloatSteps float_steps() {
  return {&run<AdvanceConvexWorlds, S>, &run<AdvanceWorlds, S>};
}

}  // namespace pysim::engine::PYSIM_ISA
