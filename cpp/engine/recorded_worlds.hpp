// Records of worlds of either precision, as tables of environments see them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pysim::engine {

class RecordedWorlds {
 public:
  RecordedWorlds() = default;
  RecordedWorlds(const RecordedWorlds&) = delete;
  RecordedWorlds& operator=(const RecordedWorlds&) = delete;
  virtual ~RecordedWorlds() = default;

  virtual std::ptrdiff_t count() const = 0;

  /// WorldStatus of every world.
  virtual const std::int64_t* status() const = 0;

  /// Numbers of the signals of a world.
  virtual double* signals(std::ptrdiff_t world) const = 0;

  /// Displaces worlds[k] by row k of dq (count, nv).
  virtual void displace(const int* worlds, std::ptrdiff_t count, const double* dq) const = 0;

  /// Adds to a number of a world's velocity.
  virtual void accelerate(std::ptrdiff_t world, int place, double change) const = 0;
  virtual int nv() const = 0;

  /// Readings of all signals of a world.
  virtual std::ptrdiff_t reading_count() const = 0;

  /// Reads all signals of `worlds` at their states, on this thread; those that depend on accelerations,
  /// wrenches and contacts are meaningless. Row k is that of worlds[k], or of the world begin + k.
  virtual void read(const int* worlds, std::ptrdiff_t begin, std::ptrdiff_t count, double* rows) const = 0;
};

}  // namespace pysim::engine
