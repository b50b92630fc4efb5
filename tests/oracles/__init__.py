"""Reference implementations in plain NumPy, slow and close to the definitions."""
