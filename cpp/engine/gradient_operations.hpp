// Products of the derivatives of convex steps with cotangents as an operation on packs of worlds.
#pragma once

#include "engine/contact_operations.hpp"
#include "engine/gradients.hpp"
#include "engine/varied_worlds.hpp"
#include "stepping/convex/product.hpp"

namespace pysim::engine {

/// Makes the next step of worlds on the grid of their scene, beside their records, and takes cotangents of
/// its end back to its start.
struct PullConvexSteps {
  template <class S>
  static void at(States<S> at) {
    PullConvexSteps::at<S>(at, static_cast<const GradientBatch&>(at.batch).contacts.contacts);
  }

  template <class S>
  static void at(States<S> at, const contact::Contacts<typename S::Parameter>& contacts) {
    const auto& batch = static_cast<const GradientBatch&>(at.batch);
    const auto& call = batch.call;
    const PackOfWorlds<S> pack(call, at.first);
    const WorldLanes<S> lanes = pack.load_all(at.model, call.worlds, at.w);
    const contact::ContactMemory places = contact::memory_of(contacts, at.model.nv);
    contact::LivePoints<S> live(places, at.w);
    const int nq = at.model.reduced_nq, nv = at.model.reduced_nv;
    const contact::ContactState<S> start = {
        lanes.q, lanes.v, lanes.loop_q, live.memory[0], live.report[0], &live};
    const contact::ContactState<S> end = {
        take<S>(at.w, nq), take<S>(at.w, nv), take<S>(at.w, 0), live.memory[1], live.report[1], &live};
    AdvanceConvexWorlds::load_contacts(batch, at.first, pack, start);
    stepping::System<S> system = {at.model, *batch.actuation, at.w, lanes.loop_q};
    system.signals = lanes.signals;
    system.signals = system.with_own_signals(system.workspace).signals;
    contact::PairSchedule<S> schedule(contacts, at.model.bodies, system.workspace);
    const stepping::ConvexRun<S> run = {
        contacts, batch.contacts.passes, batch.contacts.tolerance, schedule, batch.contacts.work};
    stepping::copy_state<S>(at.model, places, start, end, [](const S* from, int count, S* to) {
      simd::copy_each(from, count, to);
    });
    const auto& grid = call.worlds;
    S time, h;
    for (int k = 0; k < S::width; ++k) {
      const std::ptrdiff_t world = pack.world(k);
      const double made = static_cast<double>(grid.made[world]);
      simd::set_lane(time, k, grid.begin[world] + made * grid.step[world]);
      simd::set_lane(h, k, grid.step[world]);
    }
    Workspace<S> w = system.workspace;
    const int signals = lanes.signals.numbers == nullptr ? 0 : grid.sizes.signals;
    const Cotangents& rows = batch.bar;
    const int deflections = 3 * contacts.points, turnings = 3 * contacts.turning_points,
              theta = 10 * at.model.bodies, laws = stepping::ParameterCotangents<S>::per_law * contacts.pairs,
              numbers = batch.varied == nullptr ? 0 : batch.varied->count;
    const stepping::StateCotangents<S> bar = {take<S>(w, nv),
                                              take<S>(w, nv),
                                              take<S>(w, deflections),
                                              take<S>(w, turnings),
                                              take<S>(w, contacts.coordinates),
                                              take<S>(w, signals)};
    const stepping::ParameterCotangents<S> sums = {take<S>(w, theta), take<S>(w, laws), take<S>(w, numbers)};
    const auto each = [&](const auto& visit) {
      visit(rows.q, nv, bar.q);
      visit(rows.v, nv, bar.v);
      visit(rows.deflections, deflections, bar.deflections);
      visit(rows.turnings, turnings, bar.turnings);
      visit(rows.coordinates, contacts.coordinates, bar.coordinates);
      visit(rows.signals, signals, bar.signals);
      visit(rows.theta, theta, sums.theta);
      visit(rows.laws, laws, sums.laws);
      visit(rows.numbers, numbers, sums.numbers);
    };
    stepping::ConvexStepProduct<S> product(system, run, batch.varied, h, w);
    const auto good = product.make(time, start, end);
    bool has_room = product.has_room();
    for (int r = 0; r < batch.rows; ++r) {
      const std::ptrdiff_t row = at.first * batch.rows + r;
      each([&](const double* from, int count, S* packs) {
        simd::load_rows(from + row * count, count, std::ptrdiff_t{batch.rows} * count, packs);
      });
      has_room = product.pull(bar, sums) && has_room;
      each([&](double* to, int count, const S* packs) {
        simd::store_rows(packs, count, to + row * count, std::ptrdiff_t{batch.rows} * count);
      });
    }
    const auto store = [&](const S* packs, double* to, int count) {
      simd::store_rows(packs, count, to + at.first * count, count);
    };
    store(end.q, batch.end_q, nq);
    store(end.v, batch.end_v, nv);
    const S made = has_room ? simd::number(good) : simd::all<S>(-1);
    store(&made, batch.good, 1);
  }
};

/// The same of worlds that may differ in numbers.
template <class S>
void pull_varied_packs(const tree::ModelView<double>& model,
                       const Batch<double>& batch,
                       std::ptrdiff_t begin,
                       std::ptrdiff_t end,
                       void* scratch) {
  each_varied_pack<S>(model,
                      static_cast<const WorldBatch<double>&>(batch),
                      begin,
                      end,
                      scratch,
                      [&](const auto& own, const auto& contacts, std::ptrdiff_t first, Workspace<S> w) {
                        PullConvexSteps::at<S>(States<S>{own, batch, first, w}, contacts);
                      });
}

}  // namespace pysim::engine
