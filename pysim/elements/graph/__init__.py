"""Signal graph of a scene: names, units and places of its signals, and the programs that it compiles to."""
