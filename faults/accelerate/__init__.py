"""Faults whose seam is in accelerate."""
