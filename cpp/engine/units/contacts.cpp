// Steps with contacts in double precision.
#include "engine/contact_kernels.hpp"
#include "engine/contact_operations.hpp"
#include "engine/units/unit.hpp"

namespace pysim::engine::PYSIM_ISA {

const ContactSteps contact_steps = {
    PYSIM_WIDTH, &run<AdvanceContacts, Doubles>, &run<AdvanceContacts, OneDouble>};

}  // namespace pysim::engine::PYSIM_ISA
