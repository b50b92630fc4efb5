// Convex steps of worlds whose models differ in some numbers.
#include "engine/contact_operations.hpp"
#include "engine/units/unit.hpp"
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
                      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<S> w) {
                        AdvanceConvexWorlds::advance(States<S>{own, batch, first, w}, contacts);
                      });
}

/// Worlds one at a time: each is one of a model of its own.
static void run_singles(const tree::ModelView<double>& model,
                        const Batch<double>& batch,
                        std::ptrdiff_t begin,
                        std::ptrdiff_t end,
                        void* scratch) {
  WorldBatch one = static_cast<const WorldBatch<double>&>(batch);
  each_varied_pack<OneDouble>(
      model,
      static_cast<const WorldBatch<double>&>(batch),
      begin,
      end,
      scratch,
      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<OneDouble> w) {
        one.contacts.contacts = contacts;
        contact_steps.single.advance_worlds(own, one, first, first + 1, w.next);
      });
}

const VariedKernels varied_contacts = {&run_packs, &run_singles};

}  // namespace pysim::engine::PYSIM_ISA
