// Schedules of pairs that packs of worlds keep from call to call, so that a call begins as its last one
// ended.
//
// A schedule belongs to the states with which the last call ended. Its key is a hash of the numbers and bits
// of these worlds: their q, v and touching points. Whatever changes a state between two calls, the schedule
// of another key is not taken, and all pairs are tested. Results do not depend on it, see
// contact/schedule.hpp.
#pragma once

#include <cstdint>
#include <cstring>

#include "contact/schedule.hpp"
#include "stepping/world_record.hpp"

namespace pysim::engine {

/// Memory of the schedules; the pack whose first state is k has key[k], and its bytes from k · stride on.
struct SavedSchedules {
  unsigned char* bytes = nullptr;  ///< null to keep none
  std::uint64_t* key = nullptr;    ///< (states) 0 for none
  std::ptrdiff_t stride = 0;

  /// Bytes a world, enough for packs of any width.
  template <class Real>
  static std::ptrdiff_t stride_of(const contact::Contacts<Real>& contacts, int bodies) {
    const std::ptrdiff_t packs = 4 * contacts.rates + 8 * (bodies + 1) + contacts.pairs + 5;
    const std::ptrdiff_t flags = contacts.pairs + 2, steps = 2 * contacts.pairs + 6;
    return static_cast<std::ptrdiff_t>(sizeof(double)) * packs + flags +
           static_cast<std::ptrdiff_t>(sizeof(int)) * steps;
  }
};

/// Hash of the states of a pack, never 0. Four chains, for a chain of multiplications waits for each of them.
template <class S, class Pack>
std::uint64_t state_key(const stepping::WorldArrays<typename S::Real>& parts, const Pack& pack) {
  std::uint64_t hash = sizeof(S), second = 1, third = 2, fourth = 3;
  const auto mix = [](std::uint64_t& chain, std::uint64_t bits) {
    chain = (chain ^ bits) * 0x9e3779b97f4a7c15U;
    chain ^= chain >> 29U;
  };
  const auto mix_all = [&](const auto* numbers, std::ptrdiff_t count) {
    const auto mix_next = [&](std::uint64_t& chain) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, numbers, sizeof(*numbers));
      mix(chain, bits);
      ++numbers;
    };
    for (; count >= 4; count -= 4) {
      mix_next(hash);
      mix_next(second);
      mix_next(third);
      mix_next(fourth);
    }
    for (; count > 0; --count) mix_next(hash);
  };
  using Entry = stepping::TouchingPoint;
  const auto& n = parts.sizes;
  for (int k = 0; k < S::width; ++k) {
    const std::ptrdiff_t world = pack.world(k);
    mix(hash, static_cast<std::uint64_t>(world));
    mix_all(parts.q + world * n.q, n.q);
    mix_all(parts.v + world * n.v, n.v);
    mix_all(parts.contacts + world * n.points * Entry::numbers, parts.touching[world] * Entry::numbers);
  }
  mix(hash, second);
  mix(hash, third);
  mix(hash, fourth);
  return hash == 0 ? 1 : hash;
}

}  // namespace pysim::engine
