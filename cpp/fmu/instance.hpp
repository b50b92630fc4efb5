// An FMU's instance: one world of a scene, and the numbers by which a master knows it.
//
// A value reference is a kind and a number of that kind. FMI 2 has one reference a number, FMI 3 one a
// variable, which may be an array. The world stays on the grid of the scene's step: a communication step ends
// at the last instant of the grid that is not later, so that no choice of communication steps changes states.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/rate_slopes.hpp"
#include "library/handles.hpp"

namespace pysim::fmu {

enum class Kind : std::uint32_t {
  time,
  input,
  q,
  v,
  signal,
  pose,
  force,
  parameter,
  acceleration,
  rate,       ///< of the continuous states
  element,    ///< a state of the scene's elements
  indicator,  ///< a number that changes its sign where a law does
};

constexpr int kinds = static_cast<int>(Kind::indicator) + 1;
constexpr int kind_shift = 24;
constexpr int pose_numbers = 7;  ///< x, y, z, then a quaternion x, y, z, w
constexpr int force_numbers = 3;
constexpr int quaternion_numbers = 4;

/// Kind of a reference, and the number of a variable among those of its kind.
inline Kind kind_of(std::uint32_t reference) {
  return static_cast<Kind>(reference >> kind_shift);
}

inline std::size_t index_of(std::uint32_t reference) {
  return reference & ((std::uint32_t{1} << kind_shift) - 1);
}

/// Calls call(component) and logs what it throws, for no exception may leave a function of the standard.
template <class Component, class Status, class Call>
Status guarded(void* c, Status good, Status failed, const Call& call) noexcept {
  auto& component = *static_cast<Component*>(c);
  try {
    call(component);
    return good;
  } catch (const std::exception& error) {
    component.log(failed, error.what());
  } catch (...) {
    component.log(failed, "failed");
  }
  return failed;
}

/// Requires that an array has the numbers that it is for.
inline void check_count(std::size_t count, std::size_t expected) {
  if (count == expected) return;
  throw std::invalid_argument("an array has " + std::to_string(count) + " numbers instead of " +
                              std::to_string(expected));
}

class Instance {
 public:
  /// Throws std::invalid_argument if the file of the scene cannot be read, or the token, by which a
  /// description and a binary are known to belong together, is not that of the file under this version.
  Instance(const std::string& path, const char* token, int version);

  /// Numbers of a variable, 0 if there is none. With `arrays`, input k, signal k, parameter k, the position
  /// (2 k) or the quaternion (2 k + 1) of body k and the force of pair k are variables.
  std::size_t size(std::uint32_t reference, bool arrays) const;
  void get(std::uint32_t reference, bool arrays, double* values);
  void set(std::uint32_t reference, bool arrays, const double* values);

  void begin(double start_time);
  void reset();
  /// Goes on to t [s]; throws std::runtime_error with the reason where the world is lost.
  void advance(double t);
  double time() const { return last_; }

  /// Continuous states of model exchange: q as the integrator has it, v, and the states of elements. The
  /// quaternions of the world are those of q at unit length.
  std::size_t state_count() const { return states_.size(); }
  std::size_t indicator_count() const { return worlds_->rates.gap_count(); }
  const std::vector<double>& states() const { return states_; }
  void set_states(const double* states);
  void set_time(double t);
  void state_rates(double* rates);
  void indicators(double* gaps) { worlds_->rates.gaps(0, gaps); }

  /// Slopes of variables (`unknown`) along `seed`, changes of states, inputs or the time (`known`), in the
  /// same order. Throws std::invalid_argument where a variable has none.
  void slopes(const std::vector<std::uint32_t>& unknown,
              const std::vector<std::uint32_t>& known,
              bool arrays,
              const double* seed,
              double* found);

  std::vector<char> save();
  void load(const char* bytes, std::size_t size);

 private:
  /// Reads the states of the world.
  void read_states();

  /// Lets the world have the parameters that were set, all at once: some may be allowed together alone.
  void accept_parameters();
  /// First of the numbers of a variable.
  std::size_t first(std::uint32_t reference, bool arrays) const;
  const std::vector<double>& numbers(Kind kind);
  void compute(Kind kind, std::vector<double>& row);
  /// Adds a change of a variable's numbers to the direction.
  void move(std::uint32_t reference, bool arrays, const double* seed);
  /// Throws std::invalid_argument if a signal depends on contact sensors, which have no slopes.
  void refuse_contacts(std::uint32_t reference, bool arrays) const;
  /// Slopes of all numbers of a kind.
  const std::vector<double>& slopes_of(Kind kind);

  struct FreeScene {
    void operator()(pysim_scene* scene) const { pysim_scene_free(scene); }
  };
  struct FreeWorlds {
    void operator()(pysim_worlds* worlds) const { pysim_worlds_free(worlds); }
  };

  std::unique_ptr<pysim_scene, FreeScene> scene_;
  std::unique_ptr<pysim_worlds, FreeWorlds> worlds_;
  std::unique_ptr<engine::WorldSlopes> slopes_;  ///< null until they are wanted
  std::vector<double> inputs_, parameters_, states_, row_, poses_;
  std::vector<double> rows_[kinds];  ///< numbers of every kind at the state
  std::uint32_t known_ = 0;          ///< bit k: rows_[k] are computed
  double start_ = 0, last_ = 0;      ///< times of the master [s]
  bool is_running_ = false, has_new_parameters_ = false;
};

}  // namespace pysim::fmu
