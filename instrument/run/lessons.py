"""In which units the student of a trainer is read: over which words it is compared with its teacher, and how."""

from typing import Any, NamedTuple

from ..objective_distilled import Served, Support
from ..objective_tokens import Sampled


class Units(NamedTuple):
    """What one token of a student should be pulled by, but for its share of the mean.

    Attributes:
        beta, temperature: of the divergence.
        support: over which words; Sampled where only the sampled tokens are compared.
        by_completion: each completion is averaged by itself.
    """

    beta: float
    temperature: float
    support: Support | Served | Sampled
    by_completion: bool

    def named(self) -> str:
        """In words."""
        if not isinstance(self.support, Sampled):
            return f"the divergence with beta = {self.beta:g} at temperature {self.temperature:g}"
        if self.support.gamma is None:
            return f"the reverse KL at the sampled tokens at temperature {self.temperature:g}"
        return f"IW-OPD at the sampled tokens with gamma = {self.support.gamma:g} at temperature {self.temperature:g}"


def units_of(trainer: Any) -> Units:
    """As a trainer was told; what has no units here is refused by `odd`."""
    args = trainer.args
    if hasattr(args, "distillation_alpha"):
        words = args.distillation_topk if args.distillation_mode == "topk_logits" else None
        sampled = args.distillation_mode == "sampled_token"
        support = Sampled() if sampled else Support(words, args.distillation_add_tail)
        return Units(args.distillation_alpha, args.temperature, support, True)
    if hasattr(args, "distillation_objective"):
        return Units(args.beta, args.temperature, of_iw_opd(args), False)
    # GKD draws by its temperature, and compares without.
    kinds = [kind.__name__ for kind in type(trainer).__mro__]
    return Units(args.beta, 1.0 if "GKDTrainer" in kinds else args.temperature, Support(), False)


def of_iw_opd(args: Any) -> Support | Served | Sampled:
    """Support of an IWOPDConfig."""
    if args.distillation_objective == "iw_opd":
        return Sampled(args.iw_opd_gamma, args.iw_opd_epsilon)
    if not args.loss_top_k:
        return Support()
    if args.beta == 0 or args.loss_top_k == 1:
        return Served(args.loss_top_k, args.loss_add_tail)
    return Support(args.loss_top_k, args.loss_add_tail)


def odd(trainer: Any) -> str:
    """An argument of a trainer with a teacher that has no units here, and why; empty without one."""
    args = trainer.args
    if getattr(args, "use_uld_loss", False):
        return (
            "use_uld_loss=True compares groups of tokens across two tokenizers, and no token has a weight of its own: "
            "`weighbridge report --only trl` holds that loss against its closed form, a run of yours is not"
        )
    if getattr(args, "use_teacher_server", False):
        return (
            "use_teacher_server=True: the teacher runs in another program, so its logits are not there to compare "
            "with; with the teacher in this process they are"
        )
    if getattr(args, "distillation_weight", 1.0) != 1:
        return (
            f"distillation_weight={args.distillation_weight:g} mixes the teacher with a policy's reward, and the two "
            "cannot be told apart token by token; with 1 the teacher alone is"
        )
    if getattr(args, "distillation_objective", "") == "jsd" and args.loss_top_k:
        if args.loss_top_k > 1 and 0 < args.beta < 1:
            return f"loss_top_k={args.loss_top_k} with beta={args.beta:g}: a union of words that has no units here"
        if args.loss_top_k == 1 and args.beta > 0 and args.reverse_kl_top_1_mode != "sampled":
            return f"reverse_kl_top_1_mode={args.reverse_kl_top_1_mode!r}: words that have no units here"
    return ""
