"""Speed beside Pinocchio, MuJoCo and Exudyn: `python -m tests.benchmarks` (needs the `bench` extra)."""
