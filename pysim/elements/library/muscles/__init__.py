"""Muscles along paths: activation, fibre and tendon, after Zajac, Thelen, Millard, DeGroote and MuJoCo."""
