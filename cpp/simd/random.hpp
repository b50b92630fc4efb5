// Random numbers that are functions of their place: Philox 4×32 with ten rounds [Salmon et al. 2011].
//
// The words of the counter are index and stream, those of the key are the key, low word first. A number does
// not depend on those drawn before it, so that it is the same in every batch, order and number of threads.
#pragma once

#include "simd/pack.hpp"

namespace pysim::simd {

using Word32 = unsigned int;
using Word64 = unsigned long long;

/// Number within (0, 1), a multiple of 2⁻⁵³, from whole numbers below 2⁵³.
inline double philox_uniform(double index, double key, double stream) {
  const auto at = static_cast<Word64>(index), own = static_cast<Word64>(key),
             of = static_cast<Word64>(stream);
  Word32 c0 = static_cast<Word32>(at), c1 = static_cast<Word32>(at >> 32), c2 = static_cast<Word32>(of),
         c3 = static_cast<Word32>(of >> 32), k0 = static_cast<Word32>(own),
         k1 = static_cast<Word32>(own >> 32);
  for (int round = 0; round < 10; ++round) {
    const Word64 first = Word64{0xD2511F53} * c0, second = Word64{0xCD9E8D57} * c2;
    c0 = static_cast<Word32>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<Word32>(second);
    c2 = static_cast<Word32>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<Word32>(first);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  const Word64 bits = (Word64{c0} >> 6 << 26) | (c1 >> 6);
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

/// The same in every lane.
template <class S>
S random(S index, S key, S stream) {
  S value = index;
  for (int k = 0; k < S::width; ++k) {
    const double x = philox_uniform(lane(index, k), lane(key, k), lane(stream, k));
    set_lane(value, k, static_cast<typename S::Real>(x));
  }
  return value;
}

}  // namespace pysim::simd
