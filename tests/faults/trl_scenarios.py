"""All named runs of TRL's real trainers in which faults of their losses show."""

from tests.faults.trl_pairs import PAIRED
from tests.faults.trl_rollouts import ROLLOUTS
from tests.faults.trl_targets import SUPERVISED
from tests.faults.trl_teachers import TAUGHT

OBJECTIVES = (*PAIRED, *ROLLOUTS, *SUPERVISED, *TAUGHT)
