"""Faults whose seam is in transformers."""
