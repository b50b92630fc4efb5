"""Reader of OpenSim's models (.osim)."""
