// Functions that most units call, compiled in one unit for each number type: a tenth of the kernels' code was
// the same in two to five units.
#pragma once

#include "dynamics/aba.hpp"
#include "dynamics/passive.hpp"
#include "dynamics/retract.hpp"
#include "dynamics/rnea.hpp"
#include "dynamics/root_axes.hpp"
#include "engine/units/unit.hpp"

/// `keyword` is `extern template`, or `template` in the unit that compiles them.
#define PYSIM_SHARED_FUNCTIONS(keyword, Type)                                                      \
  namespace pysim {                                                                                \
  using engine::PYSIM_ISA::Type;                                                                   \
  keyword void tree::run<Type>(const tree::ProgramView<Type::Parameter>&, int, int, Type*);        \
  keyword void tree::evaluate_other<Type>(                                                         \
      const tree::ModelOf<Type>&, int, const Type*, spatial::Motion<Type>*, spatial::Pose<Type>&); \
  keyword void dynamics::retract<Type>(const tree::Block*, int, const Type*, const Type*, Type*);  \
  keyword void dynamics::forward_kinematics<Type>(const tree::ModelOf<Type>&,                      \
                                                  const Type*,                                     \
                                                  spatial::Pose<Type>*,                            \
                                                  tree::Workspace<Type>);                          \
  keyword void dynamics::to_root_axes<Type>(const tree::ModelOf<Type>&,                            \
                                            const Type*,                                           \
                                            dynamics::RootAxesBody<Type>*,                         \
                                            spatial::Motion<Type>*,                                \
                                            tree::Workspace<Type>);                                \
  keyword void dynamics::passive_joint_forces<Type>(                                               \
      const tree::ModelOf<Type>&, const Type*, const Type*, Type*, tree::Workspace<Type>);         \
  keyword void dynamics::rnea<Type>(const tree::ModelOf<Type>&,                                    \
                                    const Type*,                                                   \
                                    const Type*,                                                   \
                                    const Type*,                                                   \
                                    const spatial::Force<Type>*,                                   \
                                    Type*,                                                         \
                                    tree::Workspace<Type>);                                        \
  keyword void dynamics::spatial_aba<Type>(const tree::ModelOf<Type>&,                             \
                                           const Type*,                                            \
                                           const Type*,                                            \
                                           const Type*,                                            \
                                           const spatial::Force<Type>*,                            \
                                           Type*,                                                  \
                                           tree::Workspace<Type>);                                 \
  keyword void dynamics::planar_aba<Type>(const tree::ModelOf<Type>&,                              \
                                          const Type*,                                             \
                                          const Type*,                                             \
                                          const Type*,                                             \
                                          const spatial::Force<Type>*,                             \
                                          Type*,                                                   \
                                          tree::Workspace<Type>);                                  \
  keyword void elements::place_bodies<Type>(const tree::ModelOf<Type>&,                            \
                                            const Type*,                                           \
                                            const Type*,                                           \
                                            elements::PlacedBody<Type>*,                           \
                                            spatial::Motion<Type>*);                               \
  keyword void elements::add_path_force<Type>(const tree::ModelOf<Type>&,                          \
                                              const elements::PlacedBody<Type>*,                   \
                                              const spatial::Motion<Type>*,                        \
                                              const Type*,                                         \
                                              const tree::Element<Type::Parameter>&,               \
                                              Type*,                                               \
                                              tree::Workspace<Type>);                              \
  }

PYSIM_SHARED_FUNCTIONS(extern template, Doubles)
PYSIM_SHARED_FUNCTIONS(extern template, OneDouble)
PYSIM_SHARED_FUNCTIONS(extern template, VariedDoubles)
PYSIM_SHARED_FUNCTIONS(extern template, Floats)
PYSIM_SHARED_FUNCTIONS(extern template, OneFloat)
