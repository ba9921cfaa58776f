"""Each tool around one training, as its own documentation says; `said` is what it said, in lines."""

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def attached(
    tool: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: dict, documents: list[int]
) -> Iterator[list[str]]:
    """The tool around a training block; its lines are there when the block has ended."""
    said: list[str] = []
    with {
        "nothing": nothing,
        "weighbridge": weighbridge,
        "guardtower": guardtower,
        "torch-audit": torch_audit,
        "torchtest2": torchtest2,
        "dattri-llm": dattri,
    }[tool](model, optimizer, batch, documents, said):
        yield said


@contextlib.contextmanager
def nothing(model, optimizer, batch, documents, said):
    yield


@contextlib.contextmanager
def weighbridge(model, optimizer, batch, documents, said):
    """`find_leaks` on the first batch, `watch` with the optimizer around the rest: README's two calls."""
    from instrument import find_leaks, watch

    leaks = find_leaks(model, batch, documents=torch.tensor([documents]))
    with watch(model, optimizer) as report:
        yield
    said += str(leaks).splitlines()[:1] if leaks else []
    said += [line for line in str(report).splitlines() if "FAULT" in line]


@contextlib.contextmanager
def guardtower(model, optimizer, batch, documents, said):
    """A pre-flight audit on the first batch."""
    import guardtower

    report = guardtower.audit(model, lambda: model(**batch).loss, optimizer=optimizer)
    said += [f"{finding.check}: {finding.message}" for finding in [*report.errors, *report.warnings]]
    yield


@contextlib.contextmanager
def torch_audit(model, optimizer, batch, documents, said):
    """Zero-touch mode, at every step."""
    from torch_audit import autopatch

    auditor = autopatch(model, optimizer=optimizer, every_n_steps=1, fail_level="ERROR")
    yield
    result = auditor.finish(report=False)
    auditor.unpatch()
    said += sorted({f"{finding.rule_id}: {finding.message}" for finding in result.findings})


@contextlib.contextmanager
def torchtest2(model, optimizer, batch, documents, said):
    """The battery of checks, on the first batch with its labels."""
    import torchtest2

    report = torchtest2.check_model(model, batch, optimizer=optimizer)
    said += [line.strip() for line in str(report).splitlines() if line.split()[:1] in (["FAIL"], ["WARN"])]
    yield


@contextlib.contextmanager
def dattri(model, optimizer, batch, documents, said):
    """Its hooks on the head, which capture gradients and judge nothing: the norm at each backward."""
    from dattri_llm import HookManager, HookManagerConfig
    from dattri_llm.gradient.callbacks.base import HookManagerCallback

    class Norms(HookManagerCallback):
        def on_layer_backward(self, layer_name, grad_output, layer_type, module_kwargs):
            said.append(f"{grad_output.double().norm().item():.17g}")

    manager = HookManager(model, config=HookManagerConfig(hook_types={"lm_head": "linear_io"}), callbacks=[Norms()])
    with manager.collect():
        yield
    manager.remove()
