"""Every trainer that the installed TRL has, and the checks that drive it.

The names are read from TRL's files, which are not imported: a release may have a trainer that needs a library that is
not installed. One that is in neither table is a check of the report that was not run, and fails a test.
"""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

from .objective_record import NotRun

# Module and class, to how the names of its checks begin.
CHECKED = {
    "trainer.sft_trainer.SFTTrainer": "SFT",
    "trainer.dpo_trainer.DPOTrainer": "DPO",
    "trainer.kto_trainer.KTOTrainer": "KTO",
    "trainer.reward_trainer.RewardTrainer": "Reward",
    "trainer.grpo_trainer.GRPOTrainer": "GRPO",
    "trainer.rloo_trainer.RLOOTrainer": "RLOO",
    "trainer.distillation_trainer.DistillationTrainer": "Distillation",
    "experimental.cpo.cpo_trainer.CPOTrainer": "CPO",
    "experimental.orpo.orpo_trainer.ORPOTrainer": "ORPO",
    "experimental.tpo.tpo_trainer.TPOTrainer": "TPO",
    "experimental.gmpo.gmpo_trainer.GMPOTrainer": "GMPO",
    "experimental.online_dpo.online_dpo_trainer.OnlineDPOTrainer": "Online DPO",
    "experimental.gkd.gkd_trainer.GKDTrainer": "GKD",
    "experimental.gold.gold_trainer.GOLDTrainer": "GOLD",
    "experimental.server_distillation.server_distillation_trainer.ServerDistillationTrainer": "Server distillation",
    "experimental.async_distillation.async_distillation_trainer.AsyncDistillationTrainer": "Async distillation",
    "experimental.async_grpo.async_grpo_trainer.AsyncGRPOTrainer": "Async GRPO",
    "experimental.sdft.sdft_trainer.SDFTTrainer": "SDFT",
    "experimental.sdpo.sdpo_trainer.SDPOTrainer": "SDPO",
    "experimental.a2po.a2po_trainer.A2POTrainer": "A*-PO",
    "experimental.iw_opd.iw_opd_trainer.IWOPDTrainer": "IW-OPD",
    "experimental.bema_for_ref_model.dpo_trainer.DPOTrainer": "DPO, averaged reference",
    # The stable ones under their former names, which warn and change nothing.
    "experimental.distillation.DistillationTrainer": "Distillation",
    "experimental.kto.KTOTrainer": "KTO",
}
NOT_CHECKED: dict[str, str] = {}


def installed() -> list[str]:
    """Module and class of each trainer in the files of the installed TRL; none where there is no TRL."""
    found = importlib.util.find_spec("trl")
    folders = [] if found is None else list(found.submodule_search_locations or [])
    names = []
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("*.py")):
            module = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            classes = re.findall(r"^class ([A-Za-z]\w*Trainer)\(", path.read_text("utf-8"), re.M)
            names += [f"{module}.{name}" for name in classes]
    return names


def not_checked() -> list[tuple[str, NotRun]]:
    """The installed trainers that no check drives, each with the reason."""
    unknown = "no check drives it: what its tokens weigh is not known"
    return [
        (f"trl.{name}", NotRun(f"trl {version('trl')}: {NOT_CHECKED.get(name, unknown)}"))
        for name in installed()
        if name not in CHECKED
    ]
