"""Turning what was measured into something to read."""
