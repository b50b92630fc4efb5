// Functions of FMI 3 that this FMU does not provide: other types of variables, clocks, derivatives.
#pragma once

fmi3Status fmi3GetFloat32(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Float32[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetInt8(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Int8[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetUInt8(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3UInt8[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetInt16(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Int16[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetUInt16(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3UInt16[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetInt32(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Int32[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetUInt32(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3UInt32[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetInt64(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Int64[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3UInt64[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetBoolean(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Boolean[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3String[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference[], size_t, size_t[], fmi3Binary[], size_t) {
  return refuse(c);
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Clock[]) {
  return refuse(c);
}

fmi3Status fmi3SetFloat32(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Float32[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetInt8(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Int8[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetUInt8(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3UInt8[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetInt16(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Int16[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetUInt16(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3UInt16[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Int32[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetUInt32(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3UInt32[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetInt64(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Int64[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetUInt64(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3UInt64[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetBoolean(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Boolean[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3String[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetBinary(
    fmi3Instance c, const fmi3ValueReference[], size_t, const size_t[], const fmi3Binary[], size_t) {
  return refuse(c);
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Clock[]) {
  return refuse(c);
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference, size_t*) {
  return refuse(c);
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance c,
                                       fmi3ValueReference,
                                       size_t[],
                                       fmi3ValueReference[],
                                       size_t[],
                                       fmi3DependencyKind[],
                                       size_t) {
  return refuse(c);
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance c,
                                    const fmi3ValueReference[],
                                    size_t,
                                    const fmi3ValueReference[],
                                    size_t,
                                    const fmi3Float64[],
                                    size_t,
                                    fmi3Float64[],
                                    size_t) {
  return refuse(c);
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c) {
  return refuse(c);
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance c) {
  return refuse(c);
}

fmi3Status fmi3GetIntervalDecimal(
    fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Float64[], fmi3IntervalQualifier[]) {
  return refuse(c);
}

fmi3Status fmi3GetIntervalFraction(
    fmi3Instance c, const fmi3ValueReference[], size_t, fmi3UInt64[], fmi3UInt64[], fmi3IntervalQualifier[]) {
  return refuse(c);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference[], size_t, fmi3Float64[]) {
  return refuse(c);
}

fmi3Status fmi3GetShiftFraction(
    fmi3Instance c, const fmi3ValueReference[], size_t, fmi3UInt64[], fmi3UInt64[]) {
  return refuse(c);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Float64[]) {
  return refuse(c);
}

fmi3Status fmi3SetIntervalFraction(
    fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3UInt64[], const fmi3UInt64[]) {
  return refuse(c);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Float64[]) {
  return refuse(c);
}

fmi3Status fmi3SetShiftFraction(
    fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3UInt64[], const fmi3UInt64[]) {
  return refuse(c);
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c) {
  return refuse(c);
}

fmi3Status fmi3EnterStepMode(fmi3Instance c) {
  return refuse(c);
}

fmi3Status fmi3GetOutputDerivatives(
    fmi3Instance c, const fmi3ValueReference[], size_t, const fmi3Int32[], fmi3Float64[], size_t) {
  return refuse(c);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference, fmi3Float64) {
  return refuse(c);
}
