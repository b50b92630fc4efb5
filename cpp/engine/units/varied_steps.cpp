// Steps of fixed size of worlds whose models differ in some numbers, and readings of their signals.
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"
#include "engine/varied_readings.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

static void run_packs(const tree::ModelView<double>& model,
                      const Batch<double>& batch,
                      std::ptrdiff_t begin,
                      std::ptrdiff_t end,
                      void* scratch) {
  using S = simd::Pack<double, PYSIM_WIDTH, simd::Varied<Tag>>;
  const auto& worlds = static_cast<const WorldBatch<double>&>(batch);
  each_varied_pack<S>(model,
                      worlds,
                      begin,
                      end,
                      scratch,
                      [&](const auto& own, const auto&, std::ptrdiff_t first, Workspace<S> w) {
                        AdvanceWorlds::at(States<S>{own, batch, first, w});
                      });
}

/// Worlds one at a time: each is one of a model of its own.
static void run_singles(const tree::ModelView<double>& model,
                        const Batch<double>& batch,
                        std::ptrdiff_t begin,
                        std::ptrdiff_t end,
                        void* scratch) {
  const auto& worlds = static_cast<const WorldBatch<double>&>(batch);
  each_varied_pack<OneDouble>(
      model, worlds, begin, end, scratch, [&](const auto& own, const auto&, std::ptrdiff_t first, auto w) {
        single_steps.advance_worlds(own, batch, first, first + 1, w.next);
      });
}

static void read_packs(const tree::ModelView<double>& model,
                       const Batch<double>& batch,
                       const tree::VariedNumbers& varied,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  using S = simd::Pack<double, PYSIM_WIDTH, simd::Varied<Tag>>;
  const tree::RunningOperation running("ReadSignals");
  each_varied_state<S>(
      model, varied, begin, end, scratch, [&](const auto& own, std::ptrdiff_t first, Workspace<S> w) {
        ReadSignals::at(States<S>{own, batch, first, w});
      });
}

const VariedReadings varied_readings = &read_packs;
const VariedKernels varied_steps = {&run_packs, &run_singles};

}  // namespace pysim::engine::PYSIM_ISA
