// Contacts in double precision: convex steps, and the smooth law of other schemes.
#include "engine/contact_kernels.hpp"
#include "engine/contact_operations.hpp"
#include "engine/units/shared_functions.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

template <class S>
constexpr ContactKernels make_kernels() {
  return {&run<AdvanceConvexWorlds, S>,
          &run<ReportContacts, S>,
          &run<ContactSlopes, S>,
          &run<ActuatorSlopes, S>,
          &contact_wrench<S>,
          &pair_gap<S>};
}

const ContactSteps contact_steps = {PYSIM_WIDTH, make_kernels<Doubles>(), make_kernels<OneDouble>()};

}  // namespace pysim::engine::PYSIM_ISA
