"""Make a faulty sibling of the example deployment: the same weights, capture ids in another convention.

Some trainers write boundaries where SGLang expects layer ids. The draft loads, the server runs, answers stay
right; every captured state is one layer late.

    python examples/faulty_sibling.py FOLDER           writes FOLDER/draft and FOLDER/eaglecfg.yaml
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent / "tiny"

CONFIG = """\
version: 1
engine: {{name: sglang, version: 0.5.14}}
deployments:
  sibling:
    target: {{checkpoint: {target}}}
    draft: {{checkpoint: draft}}
    speculative: {{algorithm: EAGLE3, num_steps: 2, eagle_topk: 1, num_draft_tokens: 3}}
    server: {{max_running_requests: 16}}
"""


def main(folder: Path) -> None:
    """Copy the draft, write its boundaries as ids, and write a config that uses it."""
    draft = folder / "draft"
    if draft.exists():
        shutil.rmtree(draft)
    shutil.copytree(HERE / "draft", draft)
    config = json.loads((draft / "config.json").read_text())
    record = json.loads((draft / "eaglecfg-training.json").read_text())
    config["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = record["boundaries"]
    (draft / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    target = os.path.relpath(HERE / "target", folder)
    (folder / "eaglecfg.yaml").write_text(CONFIG.format(target=target))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
