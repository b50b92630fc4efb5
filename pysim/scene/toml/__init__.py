"""Scene files in TOML: read with the place of every key, checked table by table, turned into a specification."""
