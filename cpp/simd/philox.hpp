// Random words that are functions of their place: Philox 4×32 with ten rounds [Salmon et al. 2011].
//
// The words of the counter are index and stream, those of the key are the key, low word first. A number does
// not depend on those drawn before it, so that it is the same in every batch, order and number of threads.
#pragma once

#include "simd/whole_number.hpp"

namespace pysim::simd {

using Word32 = unsigned int;
using Word64 = unsigned long long;

struct FourWords {
  Word32 c[4];
};

/// Four words of 32 bits. Isa is a tag, as that of Pack: a body for each instruction set.
template <class Isa>
FourWords philox(Word64 index, Word64 key, Word64 stream) {
  Word32 c0 = static_cast<Word32>(index), c1 = static_cast<Word32>(index >> 32),
         c2 = static_cast<Word32>(stream), c3 = static_cast<Word32>(stream >> 32),
         k0 = static_cast<Word32>(key), k1 = static_cast<Word32>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Word64 first = Word64{0xD2511F53} * c0, second = Word64{0xCD9E8D57} * c2;
    c0 = static_cast<Word32>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<Word32>(second);
    c2 = static_cast<Word32>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<Word32>(first);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

/// Number within (0, 1), a multiple of 2⁻⁵³, from whole numbers below 2⁵³; NaN where one of them is NaN.
template <class Isa>
double philox_uniform(double index, double key, double stream) {
  const double sum = index + key + stream;
  if (!(sum == sum)) return sum;
  const auto word = [](double x) { return whole_within(x, Word64{0}, ~Word64{0}); };
  const FourWords words = philox<Isa>(word(index), word(key), word(stream));
  const Word64 bits = (Word64{words.c[0]} >> 6 << 26) | (words.c[1] >> 6);
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace pysim::simd
