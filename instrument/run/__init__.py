"""`weighbridge run`: somebody's own training script, measured while it runs, and what is told of it."""
