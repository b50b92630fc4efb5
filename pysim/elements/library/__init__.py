"""The library: forces, signals, sensors, controllers and actuators that come with pysim."""
