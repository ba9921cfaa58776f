"""trl.experimental's real ServerDistillationTrainer, whose teacher answers in this process and not behind a server."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..objective_record import Taught
from .distillation import CHANGES as COMMON
from .distillation import run_like_distillation
from .reference_free import experimental
from .refused import refuse_missing
from .scored import peft_config_of
from .stand_in import StandIn
from .taught import Answer, logits_of

CLIENT = "VLLMClient"
CHANGES = {
    **COMMON,
    CLIENT: "an emulation: vLLM is not installed, and the teacher's own forward answers what its server would",
}


class Client:
    """Answers as ``VLLMClient.get_sequence_logprobs`` says: emulates the server that holds a teacher."""

    def __init__(self, teacher: Any) -> None:
        self.teacher = teacher

    def get_sequence_logprobs(
        self,
        sequences: Sequence[Sequence[int]],
        prompt_lengths: Sequence[int],
        top_logprobs: int,
        temperature: float,
    ) -> dict[str, list[Any]]:
        """[sequence][t][k] of the most likely words at each token of the completions, and of the token itself."""
        told: dict[str, list[Any]] = {"logprobs": [], "logprob_token_ids": [], "actual_logprobs": []}
        for ids, start in zip(sequences, prompt_lengths):
            logits = logits_of(self.teacher, np.array(ids), {})[start - 1 :] / temperature
            log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
            top = np.argsort(-log_p, axis=1, kind="stable")[:, :top_logprobs]
            told["logprobs"].append(np.take_along_axis(log_p, top, 1).tolist())
            told["logprob_token_ids"].append(top.tolist())
            told["actual_logprobs"].append(np.take_along_axis(log_p, np.array(ids)[start:, None], 1).tolist())
        return told


def run_server_distillation(
    model: Any, teacher: Any, answers: Sequence[Answer], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> tuple[list[list[Taught]], dict[str, str]]:
    """As ``run_distillation``, with further ServerDistillationConfig.

    Raises:
        LookupError: what is installed has no such trainer, or no client of a server where this one is put.
    """
    refuse_missing(teacher, "teacher")
    kind, config = experimental("server_distillation", "ServerDistillation")
    given = {"teacher_model_server_url": "http://localhost", **arguments}
    # The trainer makes its client by itself, which needs vLLM.
    with StandIn("trl.generation.vllm_client", CLIENT, lambda **_: Client(teacher)):
        windows, _ = run_like_distillation(
            kind, config, model, teacher, answers, micro_batch, given, **peft_config_of(peft)
        )
    return windows, dict(CHANGES)
