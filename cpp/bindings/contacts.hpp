// Contacts of a model as Python describes them: arrays with one row a pair of a shape and a plane.
#pragma once

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/calls.hpp"
#include "bindings/given_numbers.hpp"
#include "stepping/contact_run.hpp"

namespace pysim::bindings {

class ModelContacts {
 public:
  using Pair = stepping::ContactPair<double>;

  ModelContacts(const Model& model,
                const std::vector<int>& bodies,
                const std::vector<std::string>& kinds,
                const Numbers& sizes,
                const Numbers& placements,
                const Numbers& planes,
                const Numbers& surfaces,
                const Numbers& laws,
                const std::vector<Numbers>& vertices);

  const Model& model() const { return *model_; }
  int points() const { return points_; }
  stepping::Contacts<double> view() const;
  stepping::ContactMemory memory() const { return {points_, static_cast<int>(coordinates_.size())}; }
  const std::vector<Pair>& pairs() const { return pairs_; }

 private:
  void check_model() const;
  void read_joints();

  const Model* model_;
  int points_ = 0;
  std::vector<Pair> pairs_;
  std::vector<std::vector<double>> vertices_;
  std::vector<constraints::CoordinateLaw<double>> coordinates_;
  std::vector<tree::Passive<double>> smooth_;
  std::vector<double> diagonal_;
  std::vector<unsigned char> single_;
};

}  // namespace pysim::bindings
