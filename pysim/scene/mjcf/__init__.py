"""Models in MuJoCo's modeling format (MJCF), parsed and compiled by MuJoCo."""
