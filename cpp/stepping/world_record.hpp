// Record of a world: everything that its next step depends on, beside the model and the numbers of the scene.
//
//     t = begin + made · step        computed from counts, never accumulated
//
// An interval of `length` equal steps leads from one boundary to the next: an output, an instant k · period
// of a sampled block, or the end of a call. A world that is stepped by hand has an open interval (length −1),
// the grid of the scene's own step, on which calls of any length meet: its states do not depend on how a span
// of time is divided into calls.
//
// The parts of all worlds lie in arrays with one row a world. WorldArrays::visit lists them with their sizes:
// copying, saving, comparing and resetting are written over it, so a new part is one line here.
#pragma once

#include "tree/model_view.hpp"

namespace pysim::stepping {

/// State of a world's life, and why it is over.
enum class WorldStatus : std::int64_t {
  running,
  unsolved,   ///< a step has no solution that Newton's method finds
  diverged,   ///< a step ended at NaN or infinite values, or with open loops
  written,    ///< its state was set to one that it cannot have
  underflow,  ///< a step of adapted size became too short
  blurred,    ///< its tolerances are finer than its numbers
  ended       ///< an event has ended it
};

/// Numbers a world in the parts whose size depends on the scene.
struct WorldSizes {
  int q, v, loop_q;
  int scheme;  ///< counts, predictions, carried momenta, deflections of coordinates, the start of an adaptive
               ///< step
  int signals;         ///< states of elements, held outputs, inputs, delays, the noise key, the ledger
  int blocks;          ///< sampled ones with a period
  int pivots;          ///< of constraint rows in the last step, by which rows that depend on others are found
  int points;          ///< contact points that may touch at once
  int events;          ///< whose signs are watched from step to step of fixed size
  int caller_numbers;  ///< such as the pairs that rest on each other after impacts
};

/// What a contact point remembers, in a list of those that touch, by ascending number.
struct TouchingPoint {
  enum Place : int { number, memory };  ///< then contact::ContactMemory::per_point numbers
  static constexpr int numbers = 6;
};

/// Parts of the records of many worlds, and beside them what the last step reports of its contacts. Worlds in
/// single precision have q and v of that type; all other parts are the same, so that times, counts and the
/// keys of random numbers are exact.
template <class Real>
struct WorldArrays {
  WorldSizes sizes;
  double* t;               ///< [s]
  double *begin, *step;    ///< of the interval [s]
  std::int64_t* made;      ///< steps of the interval so far
  std::int64_t* length;    ///< steps of the interval; −1 for the grid of the scene's step
  std::int64_t* steps;     ///< since the start
  std::int64_t* instants;  ///< (blocks) k of the next instant of every sampled block
  std::int64_t* pending;   ///< bits of the blocks that are due now and not yet run; Python runs them
  std::int64_t* jumped;    ///< 1: held numbers have changed since the last step
  std::int64_t* status;    ///< a WorldStatus
  std::int64_t* episode;   ///< resets so far: with the world's number, the key of its random numbers
  Real *q, *v;
  double* loop_q;
  double* scheme;
  double* pivots;
  double* signals;
  double* signs;  ///< (events) of the last values that were not 0; 0 before the first
  double* caller_numbers;
  std::int64_t* touching;  ///< points in the list that follows
  double* contacts;        ///< (points, TouchingPoint::numbers)
  double* report;          ///< (points, ContactReport::numbers) of the points in the list; not in the record

  /// Calls f(name, array, numbers a row) for every part but the last, and f.list(name, array, numbers a row,
  /// counts, numbers an entry) for lists, where the first entries of a row are in use.
  template <class Visitor>
  void visit(Visitor&& f) {
    f("t", t, 1);
    f("begin", begin, 1);
    f("step", step, 1);
    f("made", made, 1);
    f("length", length, 1);
    f("steps", steps, 1);
    f("instants", instants, sizes.blocks);
    f("pending", pending, 1);
    f("jumped", jumped, 1);
    f("status", status, 1);
    f("episode", episode, 1);
    f("q", q, sizes.q);
    f("v", v, sizes.v);
    f("loop_q", loop_q, sizes.loop_q);
    f("scheme", scheme, sizes.scheme);
    f("pivots", pivots, sizes.pivots);
    f("signals", signals, sizes.signals);
    f("signs", signs, sizes.events);
    f("caller_numbers", caller_numbers, sizes.caller_numbers);
    f("touching", touching, 1);
    f.list("contacts", contacts, sizes.points * TouchingPoint::numbers, touching, TouchingPoint::numbers);
  }
};

}  // namespace pysim::stepping
