"""Faults whose seam is in TRL."""
