"""Real training loops, driven on given rows."""
