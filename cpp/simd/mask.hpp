// Truth values of a pack of worlds, one per lane: results of comparisons and conditions of selections.
#pragma once

#include "simd/double_register.hpp"
#include "simd/instructions.hpp"

namespace pysim::simd {

template <class S>
struct Mask {
  /// bool for a single world, integers with all bits alike for a pack.
  using Lanes = decltype(typename S::Lanes{} < typename S::Lanes{});

  alignas(typename S::Real) alignas(
      Lanes) Lanes lanes;  ///< as large as a number, so that masks can be stored in a workspace

  PYSIM_INLINE friend Mask operator!(Mask a) {
    if constexpr (S::width == 1) {
      return {!a.lanes};
    } else {
      return {~a.lanes};
    }
  }
  PYSIM_INLINE friend Mask operator&(Mask a, Mask b) { return {static_cast<Lanes>(a.lanes & b.lanes)}; }
  PYSIM_INLINE friend Mask operator|(Mask a, Mask b) { return {static_cast<Lanes>(a.lanes | b.lanes)}; }
  PYSIM_INLINE friend Mask operator==(Mask a, Mask b) { return {static_cast<Lanes>(a.lanes == b.lanes)}; }
  PYSIM_INLINE Mask& operator&=(Mask b) { return *this = *this & b; }
  PYSIM_INLINE Mask& operator|=(Mask b) { return *this = *this | b; }
};

/// Holds in every world.
template <class S>
PYSIM_INLINE Mask<S> everywhere() {
  return !Mask<S>{};
}

/// Holds in no world.
template <class S>
PYSIM_INLINE Mask<S> nowhere() {
  return Mask<S>{};
}

/// Result of a comparison of the bits of numbers; its integers may differ from those of numbers.
template <class S, class Lanes>
PYSIM_INLINE Mask<S> mask_of_bits(Lanes lanes) {
  return {bit_cast<typename Mask<S>::Lanes>(lanes)};
}

PYSIM_INLINE bool any_lane(bool lane) {
  return lane;
}

template <class Lanes>
PYSIM_INLINE bool any_lane(Lanes lanes) {
  return any_bit(lanes);
}

template <class Half, class Isa>
PYSIM_INLINE bool any_lane(Twin<Half, Isa> lanes) {
  return any_lane(lanes.low | lanes.high);
}

/// True if the mask holds in some world.
template <class S>
PYSIM_INLINE bool any(Mask<S> mask) {
  return any_lane(mask.lanes);
}

/// True if the mask holds in no world.
template <class S>
PYSIM_INLINE bool none(Mask<S> mask) {
  return !any(mask);
}

/// True if the mask holds in every world.
template <class S>
PYSIM_INLINE bool all(Mask<S> mask) {
  return none(!mask);
}

/// Whether the mask holds in world k.
template <class S>
PYSIM_INLINE bool lane(Mask<S> mask, int k) {
  if constexpr (S::width == 1) {
    return mask.lanes;
  } else if constexpr (sizeof(mask) > register_bytes<typename S::Isa>()) {
    return (k < S::width / 2 ? mask.lanes.low[k] : mask.lanes.high[k - S::width / 2]) != 0;
  } else {
    return mask.lanes[k] != 0;
  }
}

}  // namespace pysim::simd
