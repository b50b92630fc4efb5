// Advance of worlds as an operation on packs: the parts of their records in lanes, and back.
#pragma once

#include <type_traits>

#include "engine/contact_kernels.hpp"
#include "engine/saved_schedules.hpp"
#include "stepping/advance.hpp"
#include "stepping/end_report.hpp"
#include "stepping/world_advance.hpp"

namespace pysim::engine {

/// A batch of worlds to advance; its states are the worlds of the call.
template <class Real>
struct WorldBatch : ContactBatchOf<Real> {
  stepping::WorldCall<Real> call;
  double* report;  ///< (states, points, ContactReport::numbers) of the last step, with the impulses since the
                   ///< last row; in and out, null for none
  double* report_rows;                ///< (states, rows, points, ContactReport::numbers); null for none
  SavedSchedules schedules;           ///< none where worlds differ in numbers
  const tree::VariedNumbers* varied;  ///< null where all worlds have the model's numbers
};

/// Lane k of `count` packs from the numbers at row(k), of either precision.
template <class S, class Row>
void load_numbers(const Row& row, std::ptrdiff_t count, S* packs) {
  using Real = typename S::Real;
  using Number = std::remove_const_t<std::remove_pointer_t<decltype(row(0))>>;
  if constexpr (sizeof(Number) == sizeof(Real)) {
    simd::load_lanes(row, count, packs);
  } else {
    constexpr int W = S::width;
    Real rows[W][W];
    for (std::ptrdiff_t first = 0; first < count; first += W) {
      const int n = static_cast<int>(count - first < W ? count - first : W);
      for (int k = 0; k < W; ++k) {
        const Number* const from = row(k) + first;
        for (int i = 0; i < n; ++i) rows[k][i] = static_cast<Real>(from[i]);
      }
      simd::load_lanes([&](int k) { return rows[k]; }, n, packs + first);
    }
  }
}

/// Parts of the records of a pack of worlds.
template <class S>
struct WorldLanes {
  S *q, *v, *loop_q, *scheme;
  stepping::SignalState<S> signals;
};

/// Loads and stores parts of the records of a pack.
template <class S>
class PackOfWorlds {
 public:
  PackOfWorlds(const stepping::WorldCall<typename S::Real>& call, std::ptrdiff_t first) {
    for (int k = 0; k < S::width; ++k) world_[k] = call.world(first + k);
  }

  std::ptrdiff_t world(int k) const { return world_[k]; }

  template <class Number>
  S* load(const Number* part, int count, Workspace<S>& w, int extra = 0) const {
    S* const packs = take<S>(w, count + extra);
    load_numbers([&](int k) { return part + world_[k] * count; }, count, packs);
    return packs;
  }

  template <class Number>
  void save(const S* packs, int count, Number* part) const {
    save_rows(packs, count, [&](int k) { return part + world_[k] * count; });
  }

  /// Lane k of `count` packs to the numbers at row(k).
  template <class Row>
  static void save_rows(const S* packs, int count, const Row& row) {
    for (int k = 0; k < S::width; ++k) {
      auto* const to = row(k);
      for (int i = 0; i < count; ++i) to[i] = simd::lane(packs[i], k);
    }
  }

  WorldLanes<S> load_all(const ModelOf<S>& model,
                         const stepping::WorldArrays<typename S::Real>& parts,
                         Workspace<S>& w) const {
    const auto& n = parts.sizes;
    WorldLanes<S> lanes = {};
    lanes.q = load(parts.q, n.q, w, model.callback_numbers);
    lanes.v = load(parts.v, n.v, w);
    lanes.loop_q = load(parts.loop_q, n.loop_q, w);
    if (model.signals != nullptr && parts.signals != nullptr) {
      lanes.signals.numbers = load(parts.signals, n.signals, w);
      lanes.signals.rate = take<S>(w, model.signals->states);
    }
    return lanes;
  }

  void save_all(const WorldLanes<S>& lanes, const stepping::WorldArrays<typename S::Real>& parts) const {
    const auto& n = parts.sizes;
    save(lanes.q, n.q, parts.q);
    save(lanes.v, n.v, parts.v);
    save(lanes.loop_q, n.loop_q, parts.loop_q);
    if (lanes.signals.numbers != nullptr) save(lanes.signals.numbers, n.signals, parts.signals);
  }

 private:
  std::ptrdiff_t world_[S::width];
};

/// Rows of states in the caller's buffers.
template <class S>
struct StateRows {
  using Real = typename S::Real;

  const stepping::WorldCall<Real>& call;
  std::ptrdiff_t first;
  const WorldLanes<S>& lanes;

  void operator()(int k, std::int64_t row) const {
    const auto& n = call.worlds.sizes;
    const auto put = [&](const S* packs, int count, auto* rows) {
      if (rows == nullptr) return;
      auto* const to = rows + ((first + k) * call.rows + row) * count;
      for (int i = 0; i < count; ++i) to[i] = simd::lane(packs[i], k);
    };
    put(lanes.q, n.q, call.q_rows);
    put(lanes.v, n.v, call.v_rows);
    put(lanes.loop_q, n.loop_q, call.loop_rows);
    if (lanes.signals.numbers != nullptr) put(lanes.signals.numbers, n.signals, call.signal_rows);
  }

  /// A row of all lanes. Rows of loops and signals are asked for by runs, of few worlds.
  void all(std::int64_t row) const {
    if (call.loop_rows != nullptr || call.signal_rows != nullptr) {
      for (int k = 0; k < S::width; ++k) (*this)(k, row);
      return;
    }
    const auto& n = call.worlds.sizes;
    const auto put = [&](const S* packs, int count, Real* rows) {
      if (rows == nullptr) return;
      simd::store_rows(packs, count, rows + (first * call.rows + row) * count, call.rows * count);
    };
    put(lanes.q, n.q, call.q_rows);
    put(lanes.v, n.v, call.v_rows);
  }

  /// NaN in the rows from the next one on.
  void lose(int k) const {
    const auto& n = call.worlds.sizes;
    const auto put = [&](int count, Real* rows) {
      if (rows == nullptr) return;
      Real* const begin = rows + (first + k) * call.rows * count;
      Real* const end = begin + call.rows * count;
      for (Real* to = begin + call.row[first + k] * count; to < end; ++to)
        *to = static_cast<Real>(simd::not_a_number);
    };
    put(n.q, call.q_rows);
    put(n.v, call.v_rows);
  }
};

/// Sets what acts on worlds from outside: inputs among the numbers of the signals, and forces.
template <class S>
struct WorldInputs {
  const stepping::WorldCall<typename S::Real>& call;
  std::ptrdiff_t first;
  const WorldLanes<S>& lanes;
  S* control = nullptr;  ///< (nv) of the system that steps
  S* before = nullptr;   ///< (nv) of the step before; null for schemes that do not look at jumps

  void operator()(int k, std::int64_t row) const {
    const double* const values = call.inputs + ((first + k) * call.input_rows + row) * call.input_count;
    for (int i = 0; i < call.input_count; ++i) {
      simd::set_lane(lanes.signals.numbers[call.input_place[i]], k, static_cast<typename S::Real>(values[i]));
    }
  }

  /// Sets the forces of step number[k] in lane k; returns the lanes in which they differ from those before.
  simd::Mask<S> forces(const std::int64_t (&number)[S::width]) const {
    const int nv = call.worlds.sizes.v;
    const auto load = [&](int back, S* to) {
      const auto row = [&](int k) {
        const std::int64_t n = number[k] > back ? number[k] - back : 0;
        return call.controls + ((first + k) * call.control_steps + n) * nv;
      };
      simd::load_lanes(row, nv, to);
    };
    load(0, control);
    if (before == nullptr) return simd::nowhere<S>();
    load(1, before);
    return stepping::jumps(static_cast<const S*>(control), static_cast<const S*>(before), nv);
  }
};

/// Runs the sampled blocks that are due at the states of a pack, and may read smooth contacts there.
template <class S>
struct DueBlocks {
  const stepping::System<S>& system;
  const WorldLanes<S>& lanes;
  const contact::SensorList* sensors;  ///< null for none
  const Workspace<S>& workspace;       ///< behind what the steps hold

  template <class IsDue>
  void operator()(S time, std::uint64_t due, const IsDue& is_due) const {
    stepping::System<S> inner = system;
    inner.workspace = workspace;
    inner.loop_q = system.copy_loop_q(inner.workspace);
    const S *const q = lanes.q, *const v = lanes.v;
    const auto readers = stepping::report_readers<S>(*system.model.signals, sensors, due, is_due);
    stepping::measure_smooth_contacts<S>(
        system.model, sensors, readers.contacts, q, v, lanes.signals.numbers, inner.workspace);
    stepping::update_signals(inner, time, q, v, due, is_due, false, stepping::Measured<S>{});
  }
};

}  // namespace pysim::engine
