"""What the gradient of one optimizer step ought to be: closed forms in float64, from plain numbers and arrays.

aggregation: the weight of every target under each way to average. overcounts: the same when too much is counted.
logged: what is logged, against what was differentiated. rounding: how far a measured weight may be off for rounding
alone. leaks: which sequence's loss may depend on which other one. shifts, feeding, kernels: weights when labels are
shifted wrongly, when other rows are fed, when the cross-entropy is wrong. misreadings, absence: what a wrong instrument
would report, or touch.

supervised: nll and DFT of SFT. preference, preference_sides, divergences, dpo: all DPO losses. unpaired: KTO. reward:
reward models. moving_reference: a reference that follows its policy. reference_free: CPO, SimPO, AlphaPO, TPO, ORPO,
OnlineDPO, A*-PO. advantages, policy, policy_masks, policy_tokens, kl: GRPO and its relatives, RLOO, GMPO. distillation:
the JSD family, SDPO, SDFT, IW-OPD. universal: GOLD across tokenizers. spelled_rows, served_rows, sampled_rows: rows of
a student that is taught wrongly. regularizers: label smoothing, z-loss, entropy bonus, expert balance.

There a weight is w = -dL/dlog p: positive where the step makes a token likelier. A form gives it for one micro-batch
and one rank; the window divides where the docstring says so. Arrays are padded: [b, t] with a mask, 0 outside it.
"""
