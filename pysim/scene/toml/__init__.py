"""Scene files in TOML: read with the position of every key, checked table by table, converted to a specification."""
