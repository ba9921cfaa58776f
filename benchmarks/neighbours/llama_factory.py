"""LLaMA-Factory: its command `train`, four micro-batches a step, under `weighbridge run`.

python benchmarks/neighbours/llama_factory.py [NAME=VALUE ...]

NAME=VALUE is another of its options, use_dft_loss=true or packing=true for instance.

Stand-in: an empty module `torchaudio`, which LLaMA-Factory imports for sound and which has no build for torch 2.13.0.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from local import of_llama_factory

with tempfile.TemporaryDirectory() as text:
    folder = Path(text)
    options = {
        **of_llama_factory(folder),
        "output_dir": str(folder / "out"),
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "max_steps": 2,
        "learning_rate": 1e-3,
        "report_to": "none",
        "save_strategy": "no",
        **dict(word.split("=", 1) for word in sys.argv[1:]),
    }
    (folder / "options.yaml").write_text(json.dumps(options))
    (folder / "torchaudio.py").touch()
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    words = ["run", "--fail-on", "none", "-m", "llamafactory.cli", "train", str(folder / "options.yaml")]
    sys.exit(subprocess.run([sys.executable, "-m", "instrument.cli", *words], env=environment).returncode)
