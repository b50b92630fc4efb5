// Steps of worlds whose models differ in some numbers, and readings of their signals.
#include "engine/contact_operations.hpp"
#include "engine/motion_operations.hpp"
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

static void read_packs(const tree::ModelView<double>& model,
                       const Batch<double>& batch,
                       const tree::VariedNumbers& varied,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  const tree::RunningOperation running("ReadSignals");
  each_varied_state<VariedDoubles>(model,
                                   varied,
                                   begin,
                                   end,
                                   scratch,
                                   [&](const auto& own, std::ptrdiff_t first, Workspace<VariedDoubles> w) {
                                     ReadSignals::at(States<VariedDoubles>{own, batch, first, w});
                                   });
}

const VariedReadings varied_readings = &read_packs;
const VariedKernels varied_steps = {&advance_varied_packs<AdvanceWorlds, VariedDoubles>,
                                    &advance_varied_singles<OneDouble, smooth>};
const VariedKernels varied_contacts = {&advance_varied_packs<AdvanceConvexWorlds, VariedDoubles>,
                                       &advance_varied_singles<OneDouble, convex>};

}  // namespace pysim::engine::PYSIM_ISA
