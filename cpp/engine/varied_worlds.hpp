// Advance of worlds whose models differ in some numbers: the others are the same in all lanes of a pack.
#pragma once

#include "contact/copy.hpp"
#include "engine/world_operations.hpp"

namespace pysim::engine {

/// Numbers of a copied model: all are those of the model until lanes get their own.
template <class To, class S>
class VariedCopy {
 public:
  using Real = typename S::Real;

  VariedCopy(const tree::VariedNumbers& varied, Workspace<S>& w)
      : varied_(varied), numbers_(tree::take_aligned<To*>(w, varied.count)) {}

  void begin(const char*, int) {}

  void operator()(To& to, const Real& from) {
    set_all(to, from);
    if (next_ < varied_.count && varied_.place[next_] == at_) numbers_[next_++] = &to;
    ++at_;
  }

  /// Sets the numbers of a pack, whose lane k has those of row world(k); `packs` has room for them.
  template <class World>
  void set(const World& world, S* packs) const {
    const auto row = [&](int k) { return varied_.values + world(k) * varied_.count; };
    load_numbers(row, varied_.count, packs);
    for (int n = 0; n < next_; ++n)
      set_lanes(*numbers_[n], packs[n]);  // those of contacts that were copied, too
  }

 private:
  static void set_all(Real& to, Real x) { to = x; }
  static void set_all(S& to, Real x) { to = all<S>(x); }
  static void set_lanes(Real& to, const S& x) { to = simd::lane(x, 0); }
  static void set_lanes(S& to, const S& x) { to = x; }

  const tree::VariedNumbers& varied_;
  To** const numbers_;
  std::ptrdiff_t at_ = 0;
  int next_ = 0;
};

/// Worlds [begin, end) of a batch, a whole number of packs, each with numbers of its own:
/// at(model, contacts, first world, workspace).
template <class S, class At>
void each_varied_pack(const tree::ModelView<typename S::Real>& model,
                      const WorldBatch<typename S::Real>& batch,
                      std::ptrdiff_t begin,
                      std::ptrdiff_t end,
                      void* scratch,
                      const At& at) {
  using To = typename S::Parameter;
  Workspace<S> w = {static_cast<S*>(scratch)};
  VariedCopy<To, S> numbers(*batch.varied, w);
  tree::ModelCopy<To, S, VariedCopy<To, S>> copy(w, numbers);
  const tree::ModelView<To> varied_model = copy.of(model);
  contact::Contacts<To> contacts = {};
  if (batch.contacts.contacts.smooth != nullptr) {
    contacts = contact::copy_contacts(batch.contacts.contacts, model.nv, copy, numbers, w);
  }
  S* const packs = take<S>(w, batch.varied->count);
  for (std::ptrdiff_t k = begin; k < end; k += S::width) {
    const tree::RunningOperation running("VariedWorlds");
    const PackOfWorlds<S> pack(batch.call, k);
    numbers.set([&](int lane) { return pack.world(lane); }, packs);
    at(varied_model, contacts, k, w);
  }
}

/// States [begin, end) of a batch, a whole number of packs, each with numbers of its own:
/// at(model, first state, workspace).
template <class S, class At>
void each_varied_state(const tree::ModelView<double>& model,
                       const tree::VariedNumbers& varied,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch,
                       const At& at) {
  using To = typename S::Parameter;
  Workspace<S> w = {static_cast<S*>(scratch)};
  VariedCopy<To, S> numbers(varied, w);
  tree::ModelCopy<To, S, VariedCopy<To, S>> copy(w, numbers);
  const tree::ModelView<To> own = copy.of(model);
  S* const packs = take<S>(w, varied.count);
  for (std::ptrdiff_t k = begin; k < end; k += S::width) {
    numbers.set([&](int lane) { return k + lane; }, packs);
    at(own, k, w);
  }
}

/// Entry of a table: advances packs of worlds.
template <class Advance, class S>
void advance_varied_packs(const tree::ModelView<typename S::Real>& model,
                          const Batch<typename S::Real>& batch,
                          std::ptrdiff_t begin,
                          std::ptrdiff_t end,
                          void* scratch) {
  const auto advance = [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<S> w) {
    Advance::advance(States<S>{own, batch, first, w}, contacts);
  };
  each_varied_pack<S>(
      model, static_cast<const WorldBatch<typename S::Real>&>(batch), begin, end, scratch, advance);
}

/// Entry of a table: advances worlds one at a time, by the kernel of worlds that all have the model's
/// numbers.
template <class S, Kernel<typename S::Real> kernel()>
void advance_varied_singles(const tree::ModelView<typename S::Real>& model,
                            const Batch<typename S::Real>& batch,
                            std::ptrdiff_t begin,
                            std::ptrdiff_t end,
                            void* scratch) {
  const auto& worlds = static_cast<const WorldBatch<typename S::Real>&>(batch);
  WorldBatch<typename S::Real> one = worlds;
  each_varied_pack<S>(model,
                      worlds,
                      begin,
                      end,
                      scratch,
                      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, auto w) {
                        one.contacts.contacts = contacts;
                        kernel()(own, one, first, first + 1, w.next);
                      });
}

}  // namespace pysim::engine
