// Advance of worlds in single precision whose models differ in some numbers: convex steps, and semi-implicit
// Euler without contacts.
#include "engine/contact_operations.hpp"
#include "engine/float_varied_worlds.hpp"
#include "engine/motion_operations.hpp"
#include "engine/units/unit.hpp"
#include "engine/varied_worlds.hpp"

namespace pysim::engine::PYSIM_ISA {

using VariedFloats = simd::Pack<float, 2 * PYSIM_WIDTH, simd::Varied<Tag>>;

static void convex_packs(const tree::ModelView<float>& model,
                         const Batch<float>& batch,
                         std::ptrdiff_t begin,
                         std::ptrdiff_t end,
                         void* scratch) {
  each_varied_pack<VariedFloats>(
      model,
      static_cast<const WorldBatch<float>&>(batch),
      begin,
      end,
      scratch,
      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<VariedFloats> w) {
        AdvanceConvexWorlds::advance(States<VariedFloats>{own, batch, first, w}, contacts);
      });
}

static void smooth_packs(const tree::ModelView<float>& model,
                         const Batch<float>& batch,
                         std::ptrdiff_t begin,
                         std::ptrdiff_t end,
                         void* scratch) {
  each_varied_pack<VariedFloats>(
      model,
      static_cast<const WorldBatch<float>&>(batch),
      begin,
      end,
      scratch,
      [&](const auto& own, const auto&, std::ptrdiff_t first, Workspace<VariedFloats> w) {
        AdvanceWorlds::at(States<VariedFloats>{own, batch, first, w});
      });
}

/// Worlds one at a time: each is one of a model of its own.
static void convex_singles(const tree::ModelView<float>& model,
                           const Batch<float>& batch,
                           std::ptrdiff_t begin,
                           std::ptrdiff_t end,
                           void* scratch) {
  WorldBatch one = static_cast<const WorldBatch<float>&>(batch);
  each_varied_pack<OneFloat>(
      model,
      static_cast<const WorldBatch<float>&>(batch),
      begin,
      end,
      scratch,
      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<OneFloat> w) {
        one.contacts.contacts = contacts;
        float_stepped_worlds.single.convex(own, one, first, first + 1, w.next);
      });
}

static void smooth_singles(const tree::ModelView<float>& model,
                           const Batch<float>& batch,
                           std::ptrdiff_t begin,
                           std::ptrdiff_t end,
                           void* scratch) {
  each_varied_pack<OneFloat>(model,
                             static_cast<const WorldBatch<float>&>(batch),
                             begin,
                             end,
                             scratch,
                             [&](const auto& own, const auto&, std::ptrdiff_t first, Workspace<OneFloat> w) {
                               float_stepped_worlds.single.smooth(own, batch, first, first + 1, w.next);
                             });
}

const FloatWorlds float_varied_worlds = {{&convex_packs, &smooth_packs}, {&convex_singles, &smooth_singles}};

}  // namespace pysim::engine::PYSIM_ISA
