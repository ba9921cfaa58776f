"""Named loops by hand that do something wrong behind backward, which a right instrument tells."""

import torch

from instrument import make_batch, watch
from tests.faults.told_scenarios import judged
from tests.instrument import models

ROWS = [[5, 9, 7, 5, 11, 6], [8, 4, 9, 7]]


class SGD(torch.optim.SGD):
    """Gradient descent, behind which something else moves parameters too."""

    def __init__(self, parameters, meddle):
        super().__init__(parameters, lr=0.1)
        self._meddle = meddle

    def step(self):
        held = self.param_groups[0]["params"]
        before = [p.detach().clone() for p in held]
        super().step()
        with torch.no_grad():
            self._meddle(held, before)


def one_step(meddle=lambda held, before: None, behind_backward=lambda held: None, model=None):
    """The report of a window of one micro-batch."""
    model = models.llama() if model is None else model
    held = list(model.parameters())
    optimizer = SGD(held, meddle)
    with watch(model, optimizer) as report:
        model(**make_batch(ROWS)).loss.backward()
        behind_backward(held)
        optimizer.step()
    return report


def judged_last_twice():
    """The last parameter moves twice as far as the optimizer's rule says."""

    def meddle(held, before):
        held[-1].add_(held[-1] - before[-1])

    return judged(one_step(meddle)), [{"right": (False,)}]


def judged_tail_left():
    """The second half of each matrix stays where it was."""

    def meddle(held, before):
        for parameter, was in zip(held, before):
            if parameter.dim() > 1:
                parameter.flatten()[parameter.numel() // 2 :] = was.flatten()[parameter.numel() // 2 :]

    return judged(one_step(meddle)), [{"right": (False,)}]


def judged_doubled():
    """Every parameter's gradient is doubled on its way, though each target weighs right in front of the head."""
    model = models.llama()
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: 2 * gradient)
    return judged(one_step(model=model)), [{"right": (False,)}]


def judged_partly_clipped():
    """The first parameter's gradient is halved between backward and the step."""
    return judged(one_step(behind_backward=lambda held: held[0].grad.mul_(0.5))), [{"right": (False,)}]


def step_one_layer_less():
    """Two micro-batches, of which the second leaves the last layer out."""
    model = models.llama()
    names = [name for name, _ in model.named_parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer) as report:
        for layers, row in zip((2, 1), ROWS):
            model.config.num_hidden_layers = layers
            (model(**make_batch([row])).loss / 2).backward()
        optimizer.step()
    return report, [{"parameters": names, "micro_batches": 2, "left_out": "layers.1."}]


WRONG_STEPS = (judged_last_twice, judged_tail_left, judged_doubled, judged_partly_clipped, step_one_layer_less)
