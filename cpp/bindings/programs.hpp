// Programs of pysim/joints/program.py, as the engine keeps them.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <vector>

#include "tree/model.hpp"

namespace pysim::bindings {

inline tree::ProgramDescription describe_program(const pybind11::dict& d) {
  tree::ProgramDescription program;
  for (const auto& i : d["code"].cast<std::vector<std::vector<int>>>()) {
    program.code.push_back({i.at(0), i.at(1), i.at(2), i.at(3), i.at(4)});
  }
  program.pose_end = d["pose_end"].cast<int>();
  program.registers = d["registers"].cast<int>();
  program.constants = d["constants"].cast<std::vector<double>>();
  program.tables = d["tables"].cast<std::vector<double>>();
  program.outputs = d["outputs"].cast<std::vector<int>>();
  return program;
}

}  // namespace pysim::bindings
