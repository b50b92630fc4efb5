// Check of saved records of worlds before a number of them is taken over. A record may come from anyone's
// file: its numbers become indices, counts of loops and times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contact/run.hpp"
#include "stepping/world_record.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// How the worlds of a scene are stepped, as far as it bounds the numbers of their records.
struct RecordBounds {
  stepping::WorldSizes sizes;
  double step;                  ///< of the grid, the longest of steps of adapted size [s]
  std::vector<double> periods;  ///< of sampled blocks [s]
  int first_bit;                ///< of the first of them among the bits of blocks
  int key;  ///< place of the key of random numbers among those of the signals; −1 for none
  bool is_adaptive, is_convex;
  int events;                       ///< of steps of adapted size
  contact::ContactMemory contacts;  ///< of convex steps
  std::vector<tree::QuaternionPlace> quaternions;
};

/// Walks over bytes of saved records without taking them over; fails where they end early, a list is too
/// long, or a number is not one that worlds have.
template <class Real>
class RecordCheck {
 public:
  RecordCheck(const RecordBounds& bounds, const char* begin, const char* end);

  /// Checks the next record, that of a world.
  void next(std::ptrdiff_t world);

  /// Rejects bytes after the last record.
  void finish() const;

  // Visitor of the parts of WorldArrays, which lie in `world_` then.
  template <class Number>
  void operator()(const char* name, Number*& part, int numbers);
  void list(const char* name, double*& part, int numbers, const std::int64_t*, int an_entry);

 private:
  const char* skip(const char* name, std::size_t size);
  void check_counts() const;
  void check_state() const;
  void check_clock() const;
  void check_instants() const;
  void check_scheme() const;
  void check_adaptive() const;
  void check_contacts() const;

  const RecordBounds& bounds_;
  const char *at_, *end_;
  stepping::WorldArrays<Real> world_ = {};  ///< of one world, whose parts lie in the buffers
  std::vector<std::vector<unsigned char>> buffers_;
  std::size_t buffer_ = 0;
};

extern template class RecordCheck<double>;
extern template class RecordCheck<float>;

}  // namespace pysim::engine
