"""Named runs of real trainers in which leaks show; which token is whose is known from the rows handed to them."""

from transformers import DataCollatorWithFlattening

from instrument import make_batch, tracer_rows
from instrument.leak import find_leaks
from instrument.leak_probe import build_leak_probe
from instrument.leak_sequences import by_token
from instrument.leak_watch import watch_leaks
from instrument.loops.sft import run_sft
from instrument.loops.trainer import run_trainer
from instrument.probe import vocabulary_for
from tests.instrument.leak_models import ReadsDetached, padded_batch

LENGTHS = [5, 3, 6, 4]


def searched(train, lengths, *model, **config):
    """Leaks of the first batch that a trainer feeds its model, the documents told by their tokens."""
    rows = tracer_rows(lengths)
    probe = build_leak_probe(vocabulary_for(rows), *model, **config)
    with watch_leaks(probe, by_token(rows)) as found:
        train(probe, rows)
    return found


def flattened(model, rows):
    run_trainer(model, rows, micro_batch=len(rows), collator=DataCollatorWithFlattening())


def padded(model, rows):
    run_trainer(model, rows, micro_batch=len(rows))


def leak_flattened():
    """One flattened batch of four documents through Llama."""
    return searched(flattened, LENGTHS), [{"lengths": LENGTHS}]


def leak_one_token():
    """A flattened batch with a document of one token."""
    lengths = [4, 1, 5, 3]

    def train(model, rows):
        run_trainer(model, rows, micro_batch=4, collator=DataCollatorWithFlattening())

    rows = tracer_rows([4, 2, 5, 3])
    rows[1] = rows[1][:1]
    model = build_leak_probe(vocabulary_for(rows))
    with watch_leaks(model, by_token(rows)) as found:
        train(model, rows)
    return found, [{"lengths": lengths, "lost": 2}]


def leak_sliding_window():
    """One flattened batch through Mistral with a window of three tokens; the third document outlasts its reach."""
    lengths = [4, 3, 6, 5]
    found = searched(flattened, lengths, "mistral", sliding_window=3)
    return found, [{"lengths": lengths, "window": 3, "layers": 2}]


def leak_chunked():
    """One flattened batch through Llama 4 with chunks of four tokens."""
    chunked = {"attention_chunk_size": 4, "layer_types": ["chunked_attention"] * 2, "no_rope_layers": [1, 1]}
    experts = {"num_local_experts": 2, "intermediate_size_mlp": 48}
    return searched(flattened, LENGTHS, "llama4_text", **chunked, **experts), [{"lengths": LENGTHS, "chunk": 4}]


def leak_packed_rows():
    """Two rows of two documents each, with position ids."""
    rows = tracer_rows([5, 3, 4, 4])
    packs = [[5, 3], [4, 4]]

    def collate(items):
        flat = [DataCollatorWithFlattening()(items[start : start + 2]) for start in (0, 2)]
        return {name: flat[0][name].new_tensor([part[name][0].tolist() for part in flat]) for name in flat[0]}

    model = build_leak_probe(vocabulary_for(rows))
    with watch_leaks(model, by_token(rows)) as found:
        run_trainer(model, rows, micro_batch=4, collator=collate)
    return found, [{"lengths": [5, 3, 4, 4], "packs": packs}]


def leak_without_boundaries():
    """One row of four documents that nothing tells apart: each reads those before it, by design."""
    rows = tracer_rows(LENGTHS)
    joined = [token for row in rows for token in row]

    def collate(items):
        batch = make_batch([joined])
        del batch["attention_mask"]
        return batch

    model = build_leak_probe(vocabulary_for(rows))
    with watch_leaks(model, by_token(rows)) as found:
        run_trainer(model, [joined], micro_batch=1, collator=collate)
    return found, [{"lengths": LENGTHS}]


def leak_mamba():
    """Four rows of one length through Mamba."""
    return searched(padded, [5, 5, 5, 5], "mamba", state_size=4), [{"lengths": [5, 5, 5, 5]}]


def leak_lfm2():
    """Four rows of one length through a convolution and an attention layer of LFM2."""
    found = searched(padded, [5, 5, 5, 5], "lfm2", layer_types=["conv", "full_attention"], block_ff_dim=48)
    return found, [{"lengths": [5, 5, 5, 5]}]


def leak_padding_free():
    """TRL's trainer without padding."""

    def train(model, rows):
        run_sft(model, rows, micro_batch=4, padding_free=True, max_length=None)

    return searched(train, LENGTHS), [{"lengths": LENGTHS}]


def leak_packing():
    """TRL's trainer with packing: two packs of two documents, which either strategy fills."""

    def train(model, rows):
        run_sft(model, rows, micro_batch=2, packing=True, max_length=8)

    return searched(train, [6, 2, 5, 3]), [{"lengths": [6, 2, 5, 3], "packs": [[6, 2], [5, 3]]}]


def leak_by_positions():
    """A flattened batch of four documents, which its position ids tell apart."""
    rows = tracer_rows(LENGTHS)
    model = build_leak_probe(vocabulary_for(rows))
    with watch_leaks(model) as found:
        flattened(model, rows)
    return found, [{"lengths": LENGTHS}]


def leak_detached():
    """Two rows, of which the second gets a part of the first one's hidden states, cut from the graph."""
    return [find_leaks(ReadsDetached(), padded_batch(2), forward=True)], [{"lengths": [5, 5]}]


def leak_two_batches():
    """Two batches of one row of two documents that nothing tells apart, both of which are to be searched."""
    rows = tracer_rows([4, 3, 3, 5])
    joined = [rows[0] + rows[1], rows[2] + rows[3]]

    def collate(items):
        return {name: value for name, value in make_batch([items[0]["input_ids"]]).items() if name != "attention_mask"}

    model = build_leak_probe(vocabulary_for(rows))
    with watch_leaks(model, by_token(rows), batches=2) as found:
        run_trainer(model, joined, micro_batch=1, collator=collate)
    return found, [{"lengths": [4, 3], "number": 0}, {"lengths": [3, 5], "number": 1}]


LEAKS = (
    leak_flattened,
    leak_one_token,
    leak_sliding_window,
    leak_chunked,
    leak_packed_rows,
    leak_without_boundaries,
    leak_mamba,
    leak_lfm2,
    leak_padding_free,
    leak_packing,
    leak_by_positions,
    leak_detached,
    leak_two_batches,
)
