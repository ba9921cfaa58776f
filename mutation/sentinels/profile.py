"""The profile that a campaign asks for, and no other."""

import os

from hypothesis import settings

settings.register_profile("mutation", max_examples=20, derandomize=True, database=None, deadline=None)
settings.load_profile(os.environ["HYPOTHESIS_PROFILE"])
