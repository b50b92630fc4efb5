// Tables of kernels of packs, for engines that step one world at a time: fewer worlds fill no pack.
#include "engine/contact_kernels.hpp"
#include "engine/gradients.hpp"
#include "engine/isa_tables.hpp"
#include "engine/units/unit.hpp"
#include "engine/varied_readings.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

static Kernel<double> smooth() {
  return one_double.advance_worlds;
}

static Kernel<double> convex() {
  return one_double_contacts.advance_worlds;
}

const StateKernels<double> doubles = {};
const ContactKernels double_contacts = {};
const ContactKernel worlds_twice = nullptr, varied_twice = nullptr;
const GradientKernels convex_gradients = {}, scheme_gradients = {};
const VariedKernels varied_contacts = {nullptr, &advance_varied_singles<OneDouble, convex>},
                    varied_steps = {nullptr, &advance_varied_singles<OneDouble, smooth>};
const VariedReadings varied_readings = nullptr;

}  // namespace pysim::engine::PYSIM_ISA
