// Functions of FMI 3 that this FMU does not provide: other types of variables, clocks, derivatives.
#pragma once

#define PYSIM_ABSENT(name, ...)  \
  fmi3Status name(__VA_ARGS__) { \
    return refuse(c);            \
  }

/// A function of variables.
#define PYSIM_ABSENT_OF(name, ...) \
  PYSIM_ABSENT(name, fmi3Instance c, const fmi3ValueReference[], size_t, __VA_ARGS__)

#define PYSIM_ABSENT_TYPE(Type)                        \
  PYSIM_ABSENT_OF(fmi3Get##Type, fmi3##Type[], size_t) \
  PYSIM_ABSENT_OF(fmi3Set##Type, const fmi3##Type[], size_t)

PYSIM_ABSENT_TYPE(Float32)
PYSIM_ABSENT_TYPE(Int8)
PYSIM_ABSENT_TYPE(UInt8)
PYSIM_ABSENT_TYPE(Int16)
PYSIM_ABSENT_TYPE(UInt16)
PYSIM_ABSENT_TYPE(Int32)
PYSIM_ABSENT_TYPE(UInt32)
PYSIM_ABSENT_TYPE(Int64)
PYSIM_ABSENT_TYPE(UInt64)
PYSIM_ABSENT_TYPE(Boolean)
PYSIM_ABSENT_TYPE(String)

PYSIM_ABSENT_OF(fmi3GetBinary, size_t[], fmi3Binary[], size_t)
PYSIM_ABSENT_OF(fmi3GetClock, fmi3Clock[])
PYSIM_ABSENT_OF(fmi3SetBinary, const size_t[], const fmi3Binary[], size_t)
PYSIM_ABSENT_OF(fmi3SetClock, const fmi3Clock[])
PYSIM_ABSENT(fmi3GetNumberOfVariableDependencies, fmi3Instance c, fmi3ValueReference, size_t*)
PYSIM_ABSENT(fmi3GetVariableDependencies,
             fmi3Instance c,
             fmi3ValueReference,
             size_t[],
             fmi3ValueReference[],
             size_t[],
             fmi3DependencyKind[],
             size_t)
PYSIM_ABSENT_OF(fmi3GetAdjointDerivative,
                const fmi3ValueReference[],
                size_t,
                const fmi3Float64[],
                size_t,
                fmi3Float64[],
                size_t)
PYSIM_ABSENT(fmi3EnterConfigurationMode, fmi3Instance c)
PYSIM_ABSENT(fmi3ExitConfigurationMode, fmi3Instance c)
PYSIM_ABSENT_OF(fmi3GetIntervalDecimal, fmi3Float64[], fmi3IntervalQualifier[])
PYSIM_ABSENT_OF(fmi3GetIntervalFraction, fmi3UInt64[], fmi3UInt64[], fmi3IntervalQualifier[])
PYSIM_ABSENT_OF(fmi3GetShiftDecimal, fmi3Float64[])
PYSIM_ABSENT_OF(fmi3GetShiftFraction, fmi3UInt64[], fmi3UInt64[])
PYSIM_ABSENT_OF(fmi3SetIntervalDecimal, const fmi3Float64[])
PYSIM_ABSENT_OF(fmi3SetIntervalFraction, const fmi3UInt64[], const fmi3UInt64[])
PYSIM_ABSENT_OF(fmi3SetShiftDecimal, const fmi3Float64[])
PYSIM_ABSENT_OF(fmi3SetShiftFraction, const fmi3UInt64[], const fmi3UInt64[])
PYSIM_ABSENT(fmi3EvaluateDiscreteStates, fmi3Instance c)
PYSIM_ABSENT(fmi3EnterStepMode, fmi3Instance c)
PYSIM_ABSENT_OF(fmi3GetOutputDerivatives, const fmi3Int32[], fmi3Float64[], size_t)
PYSIM_ABSENT(fmi3ActivateModelPartition, fmi3Instance c, fmi3ValueReference, fmi3Float64)

#undef PYSIM_ABSENT_TYPE
#undef PYSIM_ABSENT_OF
#undef PYSIM_ABSENT
