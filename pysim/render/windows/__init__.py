"""Windows in which a motion is played, a mechanism posed, or a body pulled."""
