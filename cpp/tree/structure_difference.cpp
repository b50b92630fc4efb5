// Comparison of model structures: models that differ in their numbers only can share the lanes of packs.
#include <algorithm>
#include <tuple>

#include "tree/closure.hpp"

namespace pysim::tree {
namespace {

std::string counted(const char* what, std::size_t here, std::size_t there) {
  if (here == there) return "";
  return "it has " + std::to_string(there) + " " + what + ", not " + std::to_string(here);
}

/// Whether two records are equal in everything except numbers.
struct CompareStructure {
  bool same = true;

  void operator()(const double&, const double&) {}
  template <std::size_t n>
  void operator()(const double (&)[n], const double (&)[n]) {}
  template <class Other>
  void operator()(const Other& a, const Other& b) {
    same = same && a == b;
  }
};

template <class Record>
bool is_same_structure(const Record& a, const Record& b) {
  CompareStructure compare;
  Record::visit(compare, a, b);
  return compare.same;
}

bool is_same_program(const ProgramDescription& a, const ProgramDescription& b) {
  return a.pose_end == b.pose_end && a.registers == b.registers && a.outputs == b.outputs &&
         a.constants.size() == b.constants.size() && a.tables.size() == b.tables.size() &&
         std::equal(
             a.code.begin(), a.code.end(), b.code.begin(), b.code.end(), is_same_structure<Instruction>);
}

/// Whether two joints have the same motion; the other fields of a Joint follow from this and the tree.
bool is_same_motion(const Joint& a, const Joint& b) {
  return std::tie(a.shape, a.nq, a.nv, a.biased, a.stored_count, a.blocks) ==
             std::tie(b.shape, b.nq, b.nv, b.biased, b.stored_count, b.blocks) &&
         (a.force < 0) == (b.force < 0) && (a.derivative < 0) == (b.derivative < 0) &&
         std::equal(a.column, a.column + a.nv, b.column) &&
         std::equal(a.block, a.block + a.blocks, b.block, is_same_structure<Block>);
}

}  // namespace

std::string Model::joint_difference(const Model& candidate) const {
  std::string count = counted("moving bodies", joints_.size(), candidate.joints_.size());
  if (!count.empty()) return count;
  for (std::size_t k = 0; k < joints_.size(); ++k) {
    const Joint &here = joints_[k], &there = candidate.joints_[k];
    const auto its = [&](const char* what) { return "its joint '" + names_[k] + "' " + what; };
    if (names_[k] != candidate.names_[k]) {
      return "its joint " + std::to_string(k) + " is '" + candidate.names_[k] + "', not '" + names_[k] + "'";
    }
    if (!is_same_motion(here, there)) return its("has another type of motion");
    if (here.hinge != there.hinge) return its("has an armature in one of the two only");
    if (here.parent != there.parent) return its("has another parent body");
    const auto leader = [&](const Model& m) {
      return here.nv == 0 ? -1 : m.double_.mimic_v[static_cast<std::size_t>(here.v)].reduced;
    };
    if (here.reduced_v != there.reduced_v || leader(*this) != leader(candidate))
      return its("mimics another joint");
  }
  return "";
}

std::string Model::program_difference(const Model& candidate) const {
  for (std::size_t k = 0; k < programs_.size(); ++k) {
    if (k < candidate.programs_.size() && is_same_program(programs_[k], candidate.programs_[k])) continue;
    return "the program of '" + programs_[k].owner +
           "' has other instructions: some of its numbers are equal, or 0 or 1, in one of the two only";
  }
  return counted("programs", programs_.size(), candidate.programs_.size());
}

std::string Model::loop_difference(const Model& candidate) const {
  std::string count = counted("loops", loops_.size(), candidate.loops_.size());
  if (!count.empty()) return count;
  for (std::size_t k = 0; k < loops_.size(); ++k) {
    const Loop &here = loops_[k], &there = candidate.loops_[k];
    const auto its = [&](const char* what) { return "its loop '" + closure_->model.names_[k] + "' " + what; };
    if (here.kind != there.kind) return its("is of another type");
    if (here.a != there.a || here.b != there.b) return its("connects other bodies");
    if (here.rows != there.rows ||
        !std::equal(here.independent, here.independent + here.rows, there.independent)) {
      return its("has other independent rows");
    }
  }
  const std::string closure = closure_ ? closure_->model.structure_difference(candidate.closure_->model) : "";
  return closure.empty() ? "" : "in the joints that close its loops, " + closure;
}

std::string Model::coupling_difference(const Model& candidate) const {
  const auto &ours = double_.couplings, &theirs = candidate.double_.couplings;
  std::string count = counted("couplings", ours.size(), theirs.size());
  if (!count.empty()) return count;
  const auto *terms = double_.terms.data(), *others = candidate.double_.terms.data();
  const auto same_run = [&](int first, int n) {
    return std::equal(terms + first, terms + first + n, others + first, is_same_structure<Term<double>>);
  };
  for (std::size_t k = 0; k < ours.size(); ++k) {
    const Coupling<double>& r = ours[k];
    const bool same = is_same_structure(r, theirs[k]) && same_run(r.first_term, r.terms) &&
                      same_run(r.first_input, r.inputs);
    if (!same) return "its coupling '" + coupling_names_[k] + "' connects other coordinates";
  }
  return "";
}

std::string Model::element_difference(const Model& candidate) const {
  const auto &ours = double_.elements, &theirs = candidate.double_.elements;
  std::string count = counted("forces", ours.size(), theirs.size());
  if (!count.empty()) return count;
  const auto points = [](const Model& m, std::size_t k) {
    return m.double_.path_points.data() + m.double_.elements[k].first;
  };
  for (std::size_t k = 0; k < ours.size(); ++k) {
    const bool is_path = ours[k].kind == ElementKind::path;
    const bool same = is_same_structure(ours[k], theirs[k]) &&
                      (!is_path || std::equal(points(*this, k),
                                              points(*this, k) + ours[k].count,
                                              points(candidate, k),
                                              is_same_structure<PathPoint<double>>));
    if (!same || element_names_[k] != candidate.element_names_[k]) {
      return "its force " + std::to_string(k) + " is not '" + element_names_[k] + "' between the same bodies";
    }
  }
  return std::equal(element_coordinates_.begin(),
                    element_coordinates_.end(),
                    candidate.element_coordinates_.begin(),
                    candidate.element_coordinates_.end(),
                    is_same_structure<ElementCoordinate>)
             ? ""
             : "its forces act on other coordinates";
}

std::string Model::signal_difference(const Model& candidate) const {
  std::string differs = "it has other controllers, actuators, sensors or signals";
  if ((signals_ == nullptr) != (candidate.signals_ == nullptr)) return differs;
  if (signals_ == nullptr) return "";
  const SignalTables &here = *signals_, &there = *candidate.signals_;
  const auto same_list = [](const auto& a, const auto& b, const auto& same) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  };
  const bool same = std::tie(here.signals.states,
                             here.signals.integrals,
                             here.signals.held_numbers,
                             here.signals.driven,
                             here.coordinates,
                             here.bounded,
                             here.sampled) == std::tie(there.signals.states,
                                                       there.signals.integrals,
                                                       there.signals.held_numbers,
                                                       there.signals.driven,
                                                       there.coordinates,
                                                       there.bounded,
                                                       there.sampled) &&
                    same_list(here.inputs, there.inputs, is_same_structure<SignalInput>) &&
                    same_list(here.calls, there.calls, is_same_structure<SignalCall>) &&
                    here.arguments == there.arguments &&
                    same_list(here.slopes, there.slopes, is_same_structure<SignalSlope>) &&
                    same_list(here.bounded_slopes, there.bounded_slopes, is_same_structure<SignalSlope>) &&
                    same_list(double_.ports, candidate.double_.ports, is_same_structure<Element<double>>);
  return same ? "" : differs;
}

std::string Model::structure_difference(const Model& candidate) const {
  for (const auto part : {&Model::joint_difference,
                          &Model::loop_difference,
                          &Model::coupling_difference,
                          &Model::element_difference,
                          &Model::signal_difference,
                          &Model::program_difference}) {
    const std::string difference = (this->*part)(candidate);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace pysim::tree
