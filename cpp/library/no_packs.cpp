// Tables of kernels of packs, for engines that step one world at a time: fewer worlds fill no pack.
#include "engine/contact_kernels.hpp"
#include "engine/isa_tables.hpp"
#include "engine/varied_readings.hpp"

namespace pysim::engine::PYSIM_ISA {

const StateKernels<double> doubles = {};
const ContactKernels double_contacts = {};
const ContactKernel worlds_twice = nullptr, varied_twice = nullptr;
const VariedKernels varied_contacts = {}, varied_steps = {};
const VariedReadings varied_readings = nullptr;

}  // namespace pysim::engine::PYSIM_ISA
