"""Named runs of SFTTrainer in which faults of its masks and counts show."""

from instrument.loops.sft import run_supervised
from instrument.report.report import Report
from instrument.tiny import tiny_policy
from instrument.trl_rows import VOCABULARY
from tests.faults.trl_rollouts import masks_of, ragged

# 2 is the end of sequence; the first token of a row is nobody's target.
ROWS = ((3, 4, 5, 6, 7, 2), (8, 9, 10, 2), (11, 12, 13, 14, 2), (15, 16, 2))
COMPLETION = ((0, 0, 1, 1, 1, 1), (0, 1, 1, 1), (0, 0, 0, 1, 1), (0, 1, 1))
ASSISTANT = ((0, 1, 1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 1, 1), (1, 1, 1))


def trl_sft():
    """One window of two micro-batches, of which the assistant's tokens in the completions are scored."""
    columns = {"completion_mask": COMPLETION, "assistant_masks": ASSISTANT}
    driven = run_supervised(tiny_policy(VOCABULARY), ROWS, columns, micro_batch=2, gradient_accumulation_steps=2)
    shapes = [[[batch.numbers[b] for b in range(len(batch.numbers))] for batch in window] for window in driven.windows]
    told = [
        {
            "masks": masks,
            "turns_unmasked": [[COMPLETION[n][1:] for n in numbers] for numbers in window],
            "prompts_unmasked": [[ASSISTANT[n][1:] for n in numbers] for numbers in window],
            "ends": [[[i == 2 for i in ROWS[n][1:]] for n in numbers] for numbers in window],
        }
        for masks, window in zip(masks_of(driven), shapes)
    ]
    return Report(driven.record), told


def trl_sft_dft():
    """One window of two micro-batches under dynamic fine-tuning; the completions are scored."""
    options = {"loss_type": "dft", "micro_batch": 2, "gradient_accumulation_steps": 2}
    driven = run_supervised(tiny_policy(VOCABULARY), ROWS, {"completion_mask": COMPLETION}, **options)
    told = [
        {"masks": masks, "log_p": ragged(driven, w, [batch.policy for batch in window])}
        for w, (masks, window) in enumerate(zip(masks_of(driven), driven.windows))
    ]
    return Report(driven.record), told


SUPERVISED = (trl_sft, trl_sft_dft)
