"""Which tokens are trained is held against what the script's own dataset marks as answers, row by row."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from faults import CATALOGUE, planted
from instrument.run.marked import marked, sentences
from tests.instrument.records import a_row, a_window
from tests.instrument.scripts import EXAMPLES, run, script

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]

TALKS = (EXAMPLES / "sft_packing.py").read_text()
# Prompts and completions as plain text, in rows of their own.
PAIRS = (
    TALKS.replace(
        '{"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]}', "PAIR"
    )
    .replace("PAIR", '{"prompt": asked, "completion": " " + answer}')
    .replace("packing=True", "packing=False")
    .replace("assistant_only_loss=True", "completion_only_loss=True")
)

# Rows of ids, which come with their own masks.
IDS = TALKS.replace(
    "Dataset.from_list(talks)", "Dataset.from_list([ids_of(tokenizer, **talk) for talk in talks])"
).replace(
    "def main()",
    """
def ids_of(tokenizer, messages):
    found = tokenizer.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
    marks = found["assistant_masks"]
    return {"input_ids": found["input_ids"], "assistant_masks": marks, "completion_mask": marks}


def main()""",
)
TURNS = IDS.replace("assistant_only_loss=True", "assistant_only_loss=False").replace(', "completion_mask": marks', "")
COMPLETIONS = IDS.replace("assistant_only_loss=True", "completion_only_loss=True").replace(
    ', "assistant_masks": marks', ""
)


def findings(tmp_path, text):
    run("--stop", "--json", tmp_path / "run.json", script(text))
    found = json.loads((tmp_path / "run.json").read_text())
    return found["said"], {finding["code"]: finding["said"] for finding in found["findings"]}


@pytest.mark.parametrize("text", [TALKS, PAIRS, TURNS, COMPLETIONS], ids=["talks", "pairs", "turns", "completions"])
def test_answers_that_are_all_trained_are_no_matter(text, tmp_path):
    said, found = findings(tmp_path, text)

    assert "OK: every target weighs the same: token mean, w = 1/N" == said
    assert {} == found


@pytest.mark.parametrize(
    ("text", "fault", "code", "words"),
    [
        (TURNS, "assistant_mask_lost", "prompt-trained", "the prompt is trained: "),
        (COMPLETIONS, "completion_mask_lost", "prompt-trained", "as answers are targets, in rows 0, 1, 2, 3: 'what"),
        (TALKS, "first_answer_token_lost", "first-answer-token-lost", "the first answer token is lost: "),
        (PAIRS, "first_answer_token_lost", "first-answer-token-lost", "it is no target in 4 of 4 answers, in rows 0"),
        (TALKS, "turn_ends_untrained", "answer-not-trained", "tokens of answers are no targets, in rows 0, 1, 2, 3: "),
        (TALKS, "turn_ends_untrained", "eos-never-trained", "EOS is never trained: <end> follows a token"),
        (TALKS, "only_last_turn_trained", "answer-not-trained", "tokens of answers are no targets, in rows"),
    ],
)
def test_a_mask_that_is_not_the_datasets_is_told_in_words(text, fault, code, words, tmp_path):
    with planted(CATALOGUE[fault]) as hits:
        _, found = findings(tmp_path, text)

    assert hits.count
    assert words in found[code]


def test_a_row_whose_answer_was_not_found_is_told_in_words(tmp_path):
    short = PAIRS.replace('("who ran", ', '("who", ')
    with planted(CATALOGUE["answer_marker_missed"]) as hits:
        _, found = findings(tmp_path, short)

    assert hits.count
    assert re.search(r"nothing in rows? [\d, ]+ is trained", found["nothing-trained-in-row"])
    assert "tokens of answers are no targets" in found["answer-not-trained"]


def test_rows_that_are_not_found_are_not_compared_and_it_is_said(tmp_path):
    # The rows are changed behind the trainer's back, so that what runs stands in no dataset.
    moved = TALKS.replace("    trainer.train()", "    TURN\n    trainer.train()").replace(
        "TURN", "trainer.train_dataset = trainer.train_dataset.map(lambda row: {'input_ids': row['input_ids'][::-1]})"
    )

    _, found = findings(tmp_path, moved)

    assert "no recorded row was found in the dataset that the script gave" in found["not-judged"]


def test_a_dataset_that_cannot_be_read_is_said_whatever_was_asked_for():
    class Broken:
        column_names = ("text",)

        def __len__(self):
            return 1

        def __getitem__(self, number):
            raise OSError("gone")

    from transformers import DataCollatorWithFlattening

    args = SimpleNamespace(max_length=None, assistant_only_loss=False)
    trainer = SimpleNamespace(
        args=args, completion_only_loss=None, data_collator=DataCollatorWithFlattening(), processing_class=None
    )
    window = a_window(a_row([0.5, 0.5], starts=np.zeros(1, int)))

    (said,) = sentences([window], trainer, Broken())

    assert "which tokens are answers is not compared: OSError: gone" == said.text


def test_a_collator_of_the_scripts_own_decides_itself(tmp_path):
    own = TALKS.replace("    trainer.train()", "    HIDE\n    trainer.train()").replace(
        "HIDE",
        "trl = trainer.data_collator\n"
        "    def mine(rows):\n"
        "        batch = trl(rows)\n"
        "        batch['labels'][:, 8:9] = -100\n"
        "        return batch\n"
        "    trainer.data_collator = mine",
    )

    _, found = findings(tmp_path, own)

    assert not {"answer-not-trained", "first-answer-token-lost"} & found.keys()


def test_the_trainer_is_put_back(tmp_path):
    from trl import SFTTrainer

    before = SFTTrainer.__init__
    findings(tmp_path, TALKS)

    assert before is SFTTrainer.__init__


ASSISTANT, COMPLETION = [0, 1, 1, 0], [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("columns", "completion_only", "expected"),
    [
        ({}, True, [True] * 4),
        ({"assistant_masks": ASSISTANT}, True, [False, True, True, False]),
        ({"completion_mask": COMPLETION}, True, [False, False, True, True]),
        ({"completion_mask": COMPLETION}, False, [True] * 4),
        ({"assistant_masks": ASSISTANT, "completion_mask": COMPLETION}, True, [False, False, True, False]),
        ({"completion_mask": COMPLETION, "labels": [-100, 4, -100, 6]}, True, [False, True, False, True]),
    ],
)
def test_a_token_is_trained_where_every_mask_of_its_row_has_it(columns, completion_only, expected):
    trainer = SimpleNamespace(args=None, completion_only_loss=completion_only)

    assert marked({"input_ids": [3, 4, 5, 6], **columns}, trainer) == ([3, 4, 5, 6], expected)
