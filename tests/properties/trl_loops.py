"""Every trainer of TRL on four drawn rows, pairs or completions: what each token of the first window weighs."""

from instrument.loops import dpo, kto, reference_free, reward, sft
from instrument.loops.a2po import Valued, run_a2po
from instrument.loops.groups import Group
from instrument.loops.grpo import run_gmpo, run_grpo
from instrument.loops.online_dpo import run_online_dpo
from instrument.loops.rloo import run_rloo
from instrument.loops.sdpo import run_sdpo
from instrument.objective_a2po import of_a2po
from instrument.objective_free import FreeOptions, of_cpo, of_orpo, of_tpo
from instrument.objective_geometric import of_gmpo
from instrument.objective_online import of_online_dpo
from instrument.objective_pairs import PairOptions, of_dpo, of_kto, of_sft
from instrument.objective_policy import Options, of_grpo, of_rloo
from instrument.objective_rewards import of_rewards
from instrument.objective_sdpo import of_sdpo
from instrument.tiny import near, tiny_policy, tiny_reward
from tests.properties.strategies import VOCABULARY, Ids
from tests.properties.trl_lessons import LESSONS

EOS = 2
STRAIGHT = (0, 1, 2, 3)
CLASSES = {
    "SFT": "trainer.sft_trainer.SFTTrainer",
    "DPO": "trainer.dpo_trainer.DPOTrainer",
    "KTO": "trainer.kto_trainer.KTOTrainer",
    "Reward": "trainer.reward_trainer.RewardTrainer",
    "GRPO": "trainer.grpo_trainer.GRPOTrainer",
    "RLOO": "trainer.rloo_trainer.RLOOTrainer",
    "Distillation": "trainer.distillation_trainer.DistillationTrainer",
    "CPO": "experimental.cpo.cpo_trainer.CPOTrainer",
    "ORPO": "experimental.orpo.orpo_trainer.ORPOTrainer",
    "TPO": "experimental.tpo.tpo_trainer.TPOTrainer",
    "GMPO": "experimental.gmpo.gmpo_trainer.GMPOTrainer",
    "OnlineDPO": "experimental.online_dpo.online_dpo_trainer.OnlineDPOTrainer",
    "GKD": "experimental.gkd.gkd_trainer.GKDTrainer",
    "GOLD": "experimental.gold.gold_trainer.GOLDTrainer",
    "ServerDistillation": "experimental.server_distillation.server_distillation_trainer.ServerDistillationTrainer",
    "AsyncDistillation": "experimental.async_distillation.async_distillation_trainer.AsyncDistillationTrainer",
    "SDFT": "experimental.sdft.sdft_trainer.SDFTTrainer",
    "SDPO": "experimental.sdpo.sdpo_trainer.SDPOTrainer",
    "A*-PO": "experimental.a2po.a2po_trainer.A2POTrainer",
    "IW-OPD": "experimental.iw_opd.iw_opd_trainer.IWOPDTrainer",
}


def weighed(name, shapes, seed, order=STRAIGHT, **options):
    """Place -> weights of its scored tokens in the first window, and how far each may be off; places as in `shapes`."""
    return {"SFT": supervised, "Reward": rewarded, "KTO": unpaired, "OnlineDPO": online, "A*-PO": regressed}.get(
        name, {**PAIRED, **GROUPED, **TAUGHT}.get(name)
    )(shapes, seed, order, **options)


def supervised(shapes, seed, order, **options):
    ids = Ids(seed)
    rows = [ids.take(sum(shape)) for shape in shapes]
    driven = sft.run_supervised(tiny_policy(VOCABULARY, seed), [rows[i] for i in order], **options)
    return by_row(driven.windows, of_sft(driven), order)


def pairs_of(shapes, seed):
    ids = Ids(seed)
    return [tuple(ids.take(n) for n in shape) for shape in shapes]


def preferred(pairs, seed, **options):
    model = tiny_policy(VOCABULARY, seed)
    driven = dpo.run_dpo(model, pairs, reference=near(model), beta=0.5, **options)
    return driven.windows, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5))


def contrastive(pairs, seed, **options):
    # Without the term of the chosen tokens, which is a mean of its own in each micro-batch.
    driven = reference_free.run_cpo(tiny_policy(VOCABULARY, seed), pairs, beta=0.5, cpo_alpha=0.0, **options)
    return driven.windows, of_cpo(driven, FreeOptions("sigmoid", 0.5, cpo_alpha=0.0))


def odds(pairs, seed, **options):
    driven = reference_free.run_orpo(tiny_policy(VOCABULARY, seed), pairs, beta=0.5, **options)
    return driven.windows, of_orpo(driven, [len(prompt) for prompt, *_ in pairs], 0.5)


def tripled(pairs, seed, **options):
    ids = Ids(seed)
    ids.take(40)
    triples = [(*pair, ids.take(1)) for pair in pairs]
    given = {"beta": 0.5, "tpo_alpha": 0.0, "loss_type": "sigmoid"}
    driven = reference_free.run_tpo(tiny_policy(VOCABULARY, seed), triples, **given, **options)
    return driven.windows, of_tpo(driven, FreeOptions("sigmoid", 0.5), 0.0)


def in_pairs(run, rows):
    """A runner over pairs; rows: how many numbers each pair has."""

    def weigh(shapes, seed, order, **options):
        pairs = pairs_of(shapes, seed)
        windows, forms = run([pairs[i] for i in order], seed, **options)
        return by_row(windows, forms, [rows * i + side for i in order for side in range(rows)])

    return weigh


PAIRED = {
    "DPO": in_pairs(preferred, 2),
    "CPO": in_pairs(contrastive, 2),
    "ORPO": in_pairs(odds, 2),
    "TPO": in_pairs(tripled, 3),
}


def rewarded(shapes, seed, order, **options):
    pairs = [((*p, *c), (*p, *r)) for p, c, r in pairs_of(shapes, seed)]
    windows, _ = reward.run_reward(tiny_reward(VOCABULARY, seed), [pairs[i] for i in order], **options)
    places = [2 * i + side for i in order for side in (0, 1)]
    return {
        places[number]: (batch.weight[b, [last]], form.allowed[b, [last]])
        for batch, form in zip(windows[0], of_rewards(windows, None, 0.0)[0])
        for b, (number, last) in enumerate(zip(batch.numbers, batch.last))
    }


def unpaired(shapes, seed, order, **options):
    # The baseline of "kto" is of the completions that meet in a micro-batch.
    model = tiny_policy(VOCABULARY, seed)
    answers = [(prompt, said, n % 2 == 0) for n, (prompt, said, _) in enumerate(pairs_of(shapes, seed))]
    given = [answers[i] for i in order]
    asked = {"loss_type": "apo_zero_unpaired", "beta": 0.5}
    driven, mixed = kto.run_kto(model, given, reference=near(model), **asked, **options)
    return by_row(driven.windows, of_kto(driven, mixed, [good for _, _, good in given], **asked), order)


def groups_of(shapes, seed, order, count):
    """Groups of two completions in that order, with rewards that differ."""
    ids = Ids(seed)
    drawn = [
        Group(ids.take(1), [(*ids.take(n), EOS) for n in shape[:2]], [[shape[0] / 4], [1 + shape[1] / 4]])
        for shape in shapes[:count]
    ]
    return [drawn[i] for i in order]


def in_groups(run):
    """A runner over two groups of two completions."""

    def weigh(shapes, seed, order, **options):
        order = [i // 2 for i in order[::2]]
        groups = groups_of(shapes, seed, order, 2)
        rewards = [reward for group in groups for reward in group.rewards]
        windows, forms = run(groups, rewards, seed, options.get("gradient_accumulation_steps", 1), **options)
        return by_row(windows, forms, [2 * i + side for i in order for side in (0, 1)])

    return weigh


def relative(groups, rewards, seed, steps, **options):
    driven = run_grpo(tiny_policy(VOCABULARY, seed), groups, scale_rewards="none", beta=0.0, **options)
    return driven.windows, of_grpo(driven, rewards, 2, Options(scale_rewards="none", steps_per_generation=steps))


def geometric(groups, rewards, seed, steps, **options):
    driven = run_gmpo(tiny_policy(VOCABULARY, seed), groups, scale_rewards="none", beta=0.0, **options)
    return driven.windows, of_gmpo(driven, rewards, 2, Options(scale_rewards="none", steps_per_generation=steps))


def left_out(groups, rewards, seed, steps, **options):
    driven = run_rloo(tiny_policy(VOCABULARY, seed), groups, beta=0.0, **options)
    return driven.windows, of_rloo(driven, rewards, 2, beta=0.0)


def self_taught(groups, rewards, seed, steps, **options):
    # Both succeed, so that every completion is taught by the other.
    groups = [group._replace(rewards=[[1.0], [1.5]]) for group in groups]
    rewards = [reward for group in groups for reward in group.rewards]
    asked = {"loss_type": "grpo", "scale_rewards": "group"}
    driven, taught = run_sdpo(tiny_policy(VOCABULARY, seed), groups, distillation_weight=0.5, **asked, **options)
    return driven.windows, of_sdpo(driven, rewards, 2, Options(**asked, steps_per_generation=steps), taught, 0.5)


GROUPED = {
    "GRPO": in_groups(relative),
    "GMPO": in_groups(geometric),
    "RLOO": in_groups(left_out),
    "SDPO": in_groups(self_taught),
}


def online(shapes, seed, order, **options):
    model, groups = tiny_policy(VOCABULARY, seed), groups_of(shapes, seed, order, 4)
    rewards = [reward for group in groups for reward in group.rewards]
    driven = run_online_dpo(model, groups, reference=near(model), beta=0.5, loss_type="sigmoid", **options)
    places = [2 * i + side for i in order for side in (0, 1)]
    return by_row(driven.windows, of_online_dpo(driven, rewards, "sigmoid", 0.5), places)


def regressed(shapes, seed, order, **options):
    samples, values = ((1, 1, EOS), (1, EOS)), (1.0, 0.0)
    rows = [
        Valued(prompt, (*said, EOS), float(n % 2), samples, values)
        for n, (prompt, said, _) in enumerate(pairs_of(shapes, seed))
    ]
    given = [rows[i] for i in order]
    driven = run_a2po(tiny_policy(VOCABULARY, seed), given, beta1=0.5, beta2=0.5, **options)
    forms = of_a2po(driven, [row.reward for row in given], [values] * 4, 0.5, 0.5)
    return by_row(driven.windows, forms, order)


def in_lessons(run):
    """A runner over four answers."""

    def weigh(shapes, seed, order, **options):
        answers = [(prompt, (*said, EOS)) for prompt, said, _ in pairs_of(shapes, seed)]
        windows, forms = run([answers[i] for i in order], seed, **options)
        return by_row(windows, forms, order)

    return weigh


TAUGHT = {name: in_lessons(run) for name, run in LESSONS.items()}


def by_row(windows, forms, places):
    """Place -> its scored weights in the first window, and how far each may be off."""
    return {
        places[number]: (weight[mask], allowed[mask])
        for batch, form in zip(windows[0], forms[0])
        for number, mask, weight, allowed in zip(batch.numbers, batch.mask, batch.weight, form.allowed)
    }
