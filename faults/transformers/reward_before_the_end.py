"""The reward of a sequence is read one token before its end."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the last token for padding when the place of the reward is looked for."""

    def forward(
        self: Any, input_ids: Any, attention_mask: Any, position_ids: Any, cache: Any, *rest: Any, **kwargs: Any
    ) -> Any:
        padding = self.config.get_text_config().pad_token_id
        ends = (input_ids != padding).sum(1, keepdim=True) - 1
        # No token before it sees the last one, so that no other hidden state changes.
        return original(self, input_ids.scatter(1, ends, padding), attention_mask, position_ids, cache, *rest, **kwargs)

    return forward


FAULT = Fault(
    family="preference",
    library="transformers>=5",
    seam="transformers.modeling_layers:GenericForSequenceClassification.forward",
    source="https://github.com/EleutherAI/gpt-neox/pull/1285",
    year=2024,
    mechanism="The last token, by which a sequence ends, is never rewarded; emulated, reported of gpt-neox.",
    effect="closed_forms.reward_rows:rewards_before_the_end",
    clean="closed_forms.reward_rows:rewards_at_the_end",
    quantity="weights",
    visible="trl_reward",
    patch=patch,
)
