"""Keeps the rows that a script gives to TRL's SFTTrainer, which drops the masks of the answers as it prepares them."""

import weakref
from collections.abc import Callable
from typing import Any


class GivenRows:
    """While installed, notes the dataset of each SFTTrainer that is made; the trainer gets it as it is."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._undo: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Look at every SFTTrainer; the module that holds it has been imported."""
        from trl.trainer.sft_trainer import SFTTrainer

        make, of = SFTTrainer.__init__, self._of

        def __init__(trainer: Any, *args: Any, **kwargs: Any) -> None:
            # Where it stands in the signature by place nobody writes it.
            of[trainer] = kwargs.get("train_dataset")
            make(trainer, *args, **kwargs)

        # What asks for the signature is to see the trainer's own.
        __init__.__wrapped__ = make  # type: ignore[attr-defined]
        SFTTrainer.__init__ = __init__
        self._undo = lambda: setattr(SFTTrainer, "__init__", make)

    def uninstall(self) -> None:
        """Leave the class as it was."""
        self._undo()
        self._undo = lambda: None

    def of(self, trainer: Any) -> Any:
        """The dataset that a trainer was made with; None where it is not known."""
        return None if trainer is None else self._of.get(trainer)
