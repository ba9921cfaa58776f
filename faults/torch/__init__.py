"""Faults whose seam is in torch."""
