"""Mutation testing of the kernels: `python -m tests.mutation` (needs the `dev` extra)."""
