"""Tracing of plugins' Python code into straight-line programs that the engine runs.

A symbolic scalar (`expression`) records every operation as a node of a `tape`; `derivative` differentiates nodes,
`evaluation` evaluates them on arrays, and `program` compiles them into instructions for the engine.
"""
