"""Speed beside Pinocchio and MuJoCo: `python -m tests.benchmarks` (needs the `bench` extra)."""
