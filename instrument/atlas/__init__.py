"""Every causal architecture of the installed transformers, built tiny, through the checks of the instrument."""
