"""One thread, named Hypothesis profiles, and a scratch directory for every test."""

import os

# Before torch and numpy read them: a child forked from a process with two OpenMP threads hangs.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import contextlib
import functools
import gc
import importlib.metadata
import importlib.util
import sys

import pytest
from hypothesis import HealthCheck, Phase, settings

# What is installed stays what it is; accelerate reads it from the disk a dozen times in every training run.
importlib.metadata.metadata = functools.cache(importlib.metadata.metadata)
importlib.metadata.version = functools.cache(importlib.metadata.version)

if importlib.util.find_spec("torch"):
    import torch

    torch.set_num_threads(1)

settings.register_profile("dev", max_examples=20, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("nightly", max_examples=1000, deadline=None, print_blob=True)
settings.register_profile(
    "mutation",
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.fixture(autouse=True)
def scratch_directory(tmp_path):
    """Run the test in its own folder: trainers write into the current one."""
    with contextlib.chdir(tmp_path):
        yield


def pytest_collection_finish(session):
    """Keep what the imports made out of every later collection: accelerate collects at the end of each training run.

    Where a process is forked for each fault or mutant, also fill what each of them would have to fill for itself.
    """
    mapping = sys.modules.get("transformers.conversion_mapping")
    if mapping is not None and os.environ.get("HYPOTHESIS_PROFILE") == "mutation":
        # A thousand regular expressions.
        mapping.get_checkpoint_conversion_mapping("llama")
    gc.collect()
    gc.freeze()
