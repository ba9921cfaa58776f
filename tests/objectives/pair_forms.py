"""Which closed form a loss type of CPOTrainer is, with the options that the tests give it."""

from closed_forms import preference, reference_free


def cpo_weights(loss_type, x, y, beta):
    """Weights of the scores x of the chosen and y of the rejected completions."""
    if loss_type == "sigmoid":
        return preference.smoothed_sigmoid(x, y, beta, 0.25)
    if loss_type == "simpo":
        return reference_free.simpo(x, y, beta, 0.5, 0.25)
    return {"hinge": preference.hinge, "ipo": preference.ipo}[loss_type](x, y, beta)
