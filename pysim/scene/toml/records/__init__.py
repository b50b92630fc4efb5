"""Tables of a scene file as records: keys, units, bounds and meanings."""
