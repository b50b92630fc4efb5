// Every kernel of a number type of doubles. One unit compiles all of a type, so that a function that several
// of them call is compiled once: a sixth of the kernels' code was the same in two to five units.
#pragma once

#include "engine/algorithm_operations.hpp"
#include "engine/constraint_operations.hpp"
#include "engine/contact_kernels.hpp"
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
constexpr StateKernels<double> state_kernels() {
  return {{PYSIM_ALGORITHMS(PYSIM_RUN)},
          {PYSIM_DERIVATIVES(PYSIM_RUN)},
          {PYSIM_MOTIONS(PYSIM_RUN)},
          {PYSIM_STEPS(PYSIM_RUN)}};
}

template <class S>
constexpr ContactKernels contact_kernels() {
  return {&run<AdvanceConvexWorlds, S>,
          &run<ReportContacts, S>,
          &run<ContactSlopes, S>,
          &run<ActuatorSlopes, S>,
          &contact_wrench<S>,
          &pair_gap<S>};
}

}  // namespace pysim::engine::PYSIM_ISA
