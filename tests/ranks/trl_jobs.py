"""TRL's SFTTrainer as one of the ranks; apart from the other jobs, since TRL takes a second to import."""

from instrument import watch
from instrument.loops.sft import run_sft
from tests.properties.loops import live_model


def supervised(seed, rows, options):
    """The record of this rank of SFTTrainer."""
    model = live_model(seed)
    with watch(model) as report:
        run_sft(model, rows, **options)
    return report.record
