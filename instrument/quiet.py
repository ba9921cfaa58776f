"""Keeps the libraries' own progress bars and warnings out of what a command prints."""

import os


def quiet() -> None:
    """Set before transformers and datasets are imported; what the user has set stays."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
