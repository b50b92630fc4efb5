// Worlds of one scene: the owner of their records' life, from the first step to the last.
//
// Records lie in arrays with one row a world (stepping/world_record.hpp). Their memory is taken once, by a
// function of the caller, who owns it: NumPy where Python holds worlds, OwnedMemory elsewhere. Nothing else
// is remembered but what follows from the records, or from what was written to them since the last call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contact/iteration_log.hpp"
#include "engine/call_pieces.hpp"
#include "engine/contact_model.hpp"
#include "engine/contact_sensors.hpp"
#include "engine/events.hpp"
#include "engine/float_contacts.hpp"
#include "engine/record_check.hpp"
#include "engine/record_memory.hpp"
#include "engine/recorded_worlds.hpp"
#include "engine/selection.hpp"
#include "engine/smooth_law.hpp"
#include "engine/world_operations.hpp"
#include "engine/written_states.hpp"

namespace pysim::engine {

/// How the worlds of a scene are stepped.
struct WorldScheme {
  std::string integrator;
  double step;  ///< the longest within an interval, and that of the grid [s]
  double spectral_radius = 0.9;
  int passes = 2;
  double solver_tolerance = contact::solver_tolerance;
  double accuracy = 0, least_step = 0;
  std::vector<double> rtol = {}, atol = {};  ///< (nv) of steps of adapted size, of every coordinate of v
  const Events* events = nullptr;            ///< at which worlds stop
  bool has_signals = true;                   ///< whether the model's signals are part of the records

  /// All but the events, which belong to a model.
  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.integrator...), f(r.step...), f(r.spectral_radius...), f(r.passes...), f(r.solver_tolerance...),
        f(r.accuracy...), f(r.least_step...), f(r.rtol...), f(r.atol...), f(r.has_signals...);
  }
};

/// Instants of sampled blocks.
struct WorldBlocks {
  std::vector<double> periods;
  int first_bit = 0;
  std::uint64_t python = 0;
  int key = -1;  ///< place of the key of random numbers among those of the signals; −1 for none

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.periods...), f(r.first_bit...), f(r.python...), f(r.key...);
  }
};

/// Steps of the caller in the arrays of a world's record.
struct CallerStep {
  std::function<bool(std::ptrdiff_t, double, double)>
      make;                                  ///< (world, t, h); returns whether the state is good
  std::function<void(std::ptrdiff_t)> hold,  ///< notes what they remember of a world beside its record
      put_back;                              ///< returns to what was noted

  explicit operator bool() const { return static_cast<bool>(make); }
};

/// Worlds whose q and v are of the type Real, in which they are stepped.
template <class Real>
class Worlds : public RecordedWorlds {
 public:
  static constexpr bool is_single = sizeof(Real) == 4;

  /// `contacts` are null without any; `caller_step`, if given, makes the steps whatever the integrator;
  /// records have `caller_numbers` of the caller.
  Worlds(const tree::Model& model,
         const ModelContacts* contacts,
         std::ptrdiff_t count,
         WorldScheme scheme,
         WorldBlocks blocks,
         CallerStep caller_step,
         const Allocate& allocate,
         int caller_numbers = 0);
  Worlds(const Worlds&) = delete;  // members refer to the parts
  Worlds& operator=(const Worlds&) = delete;

  std::ptrdiff_t count() const override { return count_; }
  const std::int64_t* status() const override { return parts_.status; }
  double* signals(std::ptrdiff_t world) const override {
    return parts_.signals + world * parts_.sizes.signals;
  }
  std::ptrdiff_t reading_count() const override;
  int nv() const override { return parts_.sizes.v; }
  void accelerate(std::ptrdiff_t world, int place, double change) const override;
  void displace(const int* worlds, std::ptrdiff_t count, const double* dq) const override;
  void read(const int* worlds, std::ptrdiff_t begin, std::ptrdiff_t count, double* rows) const override;

  const tree::Model& model() const { return *model_; }
  const ModelContacts* model_contacts() const { return contacts_; }
  const WorldScheme& scheme() const { return scheme_; }
  const WorldBlocks& blocks() const { return blocks_; }
  const stepping::Actuation& actuation() const { return actuation_; }
  const stepping::WorldArrays<Real>& parts() const { return parts_; }
  bool is_convex() const { return is_convex_; }
  /// Smooth forces of contacts that act; null for none.
  const tree::ContactForces* contact_forces() const { return smooth_->forces(); }
  Integrator integrator() const { return integrator_; }
  /// Sampled blocks with a period, whose numbers the worlds keep.
  stepping::SampledPeriods sampled_periods() const;
  /// Sensors of contacts, whose numbers are among those of the signals.
  const std::vector<ContactSensor>& sensors() const { return sensors_; }
  bool has_caller_steps() const { return static_cast<bool>(caller_step_); }
  Selection all() const { return {nullptr, count_}; }

  /// Reads all signals of worlds, (worlds, readings).
  void readings(Selection worlds, int threads, double* rows) const;

  /// Lets prescribed forces act from now on, whose numbers the caller keeps.
  void set_actuation(const stepping::Actuation& actuation) { actuation_ = actuation; }

  /// Sensors of contacts as kernels read them.
  const contact::SensorList& sensor_list() const { return sensor_list_; }

  /// Sets the sensors of contacts. They must be those of the model.
  void set_sensors(std::vector<ContactSensor> sensors);

  /// Steps by another model from now on, which has the same states and other numbers, or programs.
  void set_model(const tree::Model& model);

  /// Lets worlds differ in the numbers at `places`, ascending, whose values (worlds, places) are read in
  /// every call. `reach` [m]: how much farther from their joints centres of mass of roots are than the
  /// model's.
  void set_varied(std::vector<std::ptrdiff_t> places, const double* values, bool joint_forces, double reach);

  /// The numbers of one world in which worlds differ.
  tree::VariedNumbers varied(std::ptrdiff_t world) const {
    return {varied_.count, varied_.place, varied_.values + world * varied_.count, varied_.joint_forces};
  }

  /// Lets the smooth forces of other contacts of the model act from now on; none of null.
  void set_smooth_contacts(const ModelContacts* contacts);

  /// Copies whole records, source k to target k.
  void copy(Selection source, Selection target);

  /// Records one after the other: of every part the numbers of the world, lists as far as they are in use.
  std::size_t saved_size(Selection worlds);
  void save(Selection worlds, char* to);

  /// Overwrites worlds by records; all are checked before the first number is written.
  void load(const char* bytes, std::size_t size, Selection worlds);

  /// Overwrites worlds by records that `save` has just written.
  void put_back(const char* bytes, Selection worlds);

  /// Worlds whose t, q or v were written since the last call.
  std::vector<int> written(Selection worlds) const;

  /// Takes over what was written: the clock begins anew at another t, a scheme at another q or v. A
  /// quaternion is normalised within 1e-6 of unit length; a world with another one, or with NaN, is lost.
  /// Returns whether a world was lost by it.
  bool accept(Selection worlds);

  /// Puts worlds back to the t, q and v that they had before others were written.
  void restore(Selection worlds);

  /// Notes the states of worlds, whose changes `written` looks for.
  void see(Selection worlds);

  /// Begins the clocks of worlds at their t: the grid of the scene's step, and the instants after t.
  void begin_clock(Selection worlds);

  /// Makes steps on the grid; returns how many worlds did not make them all, see stops(). Worlds whose steps
  /// are of adapted size have a grid of `length` [s].
  std::ptrdiff_t step(std::int64_t steps,
                      Selection worlds,
                      const Allowance& allowance,
                      int threads,
                      std::optional<double> length = {});

  /// Goes on with a call of step that was interrupted, of the same worlds.
  std::ptrdiff_t go_on(Selection worlds, const Allowance& allowance, int threads);

  /// Why the last call of step left each of its worlds.
  const stepping::WorldStop* stops() const { return stop_.data(); }

  /// Advances worlds as far as the batch's call says, whose rows, times and inputs the caller has set, or as
  /// far as the call may take. Where it ends for that changes no bit.
  void advance(Selection worlds, WorldBatch<Real>& batch, const Allowance& allowance, int threads);

  /// What Newton's method does while step() advances one world by one convex step.
  std::vector<contact::NewtonIteration> newton_iterations(const std::function<void()>& step);

  /// Leaves the solutions (worlds, contact::solution_numbers) of the last convex steps of fixed size that
  /// step() makes.
  void take_solutions(double* solutions, const std::function<void()>& step);

  /// Requires that the numbers are those of worlds.
  void check(Selection worlds, const char* name) const;

 private:
  void check_scheme() const;
  void check_tolerance(const std::vector<double>& x, const char* name) const;
  void set_bounds();
  void begin_clock(std::ptrdiff_t world);
  void begin_grid(std::ptrdiff_t world);
  void lengthen_levers(double reach);
  contact::Contacts<Real> contacts() const;
  bool watches_steps() const;
  void run(WorldBatch<Real>& batch, int threads);
  void make_steps(const WorldBatch<Real>& batch, int threads);
  void run_watched(const WorldBatch<Real>& batch, int threads);
  void name_events(const WorldBatch<Real>& batch) const;
  SavedSchedules schedules();
  void restart_scheme(std::ptrdiff_t world) const;

  const tree::Model* model_;
  const ModelContacts* contacts_;
  WorldScheme scheme_;
  WorldBlocks blocks_;
  std::ptrdiff_t count_;
  CallerStep caller_step_;
  bool is_convex_, is_adaptive_;
  contact::IterationLog* log_ = nullptr;  ///< of the world that `newton_iterations` advances
  double* solutions_ = nullptr;           ///< that `take_solutions` records
  std::vector<double> zeros_;             ///< of forces that are not prescribed
  stepping::Actuation actuation_ = {};
  std::unique_ptr<SmoothLaw> smooth_;
  std::vector<ContactSensor> sensors_;
  std::vector<contact::SensorView> sensor_views_;
  contact::SensorList sensor_list_;
  Integrator integrator_ = {};
  FloatContacts float_contacts_;
  stepping::WorldArrays<Real> parts_ = {};
  RecordBounds bounds_ = {};
  std::optional<WrittenStates<Real>> written_;  ///< made with the parts
  std::vector<stepping::WorldStop> stop_;
  std::vector<std::int64_t> goal_;
  CallPieces pieces_;
  std::unique_ptr<unsigned char[]> schedules_;
  std::vector<std::uint64_t> schedule_keys_;
  std::vector<std::ptrdiff_t> places_;
  tree::VariedNumbers varied_ = {};
  std::vector<contact::Lever<Real>> levers_;
};

extern template class Worlds<double>;
extern template class Worlds<float>;

}  // namespace pysim::engine
