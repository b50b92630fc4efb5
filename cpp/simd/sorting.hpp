// Sorting of a list of numbers in place [Shell 1959]: fast where most of them are in order already.
#pragma once

namespace pysim::simd {

/// Sorts a list by key(number), ascending; the order of equal keys is any.
template <class Key>
void sort_ascending(int* list, int count, const Key& key) {
  constexpr int gaps[] = {29524, 9841, 3280, 1093, 364, 121, 40, 13, 4, 1};
  for (const int gap : gaps) {
    for (int n = gap; n < count; ++n) {
      const int number = list[n];
      const auto own = key(number);
      int at = n;
      for (; at >= gap && key(list[at - gap]) > own; at -= gap) list[at] = list[at - gap];
      list[at] = number;
    }
  }
}

}  // namespace pysim::simd
