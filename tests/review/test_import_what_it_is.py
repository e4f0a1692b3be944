"""What a file is, its first line and its own lines decide, and not what it writes elsewhere."""

from __future__ import annotations

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.review.imports.importing import import_text
from tests.review.imported import only

RUN = "exec python3 -m sglang.launch_server --model-path org/m --tp 8\n"
PREFLIGHT = "import torch\nfrom os import environ\nassert torch.cuda.device_count() == 8\n"
BASH = "#!/bin/bash\n"
PYTHON = 'import subprocess\nsubprocess.run(["python3", "-m", "sglang.launch_server"])\n'


def read_as(text: str, shown: str = "launch") -> str:
    """The file that ``text``, which is named ``shown``, is imported to."""
    return import_text(text, shown, engine_version="0.5.14").text


@pytest.mark.parametrize(
    "first", [BASH, "#!/usr/bin/env bash\n", "#! /bin/sh -e\n", "#!/usr/bin/env -S bash -eu\n", ""]
)
@pytest.mark.parametrize(
    "preflight",
    [
        f"python3 - <<'PY'\n{PREFLIGHT}PY\n",
        f'python3 - <<"PY"\n{PREFLIGHT}PY\n',
        f"python3 - <<PY >log 2>&1\n{PREFLIGHT}PY\n",
        f"python3 - <<-\\PY || exit 1\n{PREFLIGHT}\tPY\n",
        f"cat > check.py <<EOF\n{PREFLIGHT}EOF\npython3 check.py\n",
        f"cat <<A <<B\n{PREFLIGHT}A\n{PREFLIGHT}B\n",
        f"python3 -c '\n{PREFLIGHT}'\n",
        f'python3 -c "\n{PREFLIGHT}"\n',
        f"COUNT=$(python3 - <<'PY'\n{PREFLIGHT}PY\n)\n",
        "cat > compose.yaml <<EOF\nservices:\n  x: {}\nEOF\n",
        "cat <<EOF | kubectl apply -f -\napiVersion: v1\nkind: Secret\nEOF\n",
        "cat > /etc/systemd/system/x.service <<EOF\n[Unit]\nDescription=x\nEOF\n",
        "cat > Makefile <<EOF\nall: x\n\techo\nEOF\n",
        "cat > site.yml <<'EOF'\n- hosts: all\n  tasks:\nEOF\n",
        "cat > README.md <<'EOF'\n```\nx\n```\nEOF\n",
        'cat > main.tf <<EOF\nresource "a" "b" {\n}\nEOF\n',
        "cat > s.conf <<EOF\n[program:x]\nEOF\n",
        "cat > env <<EOF\n# command:\nEOF\n",
    ],
)  # fmt: skip
def test_a_script_is_a_script_whatever_it_writes_or_hands_on(first: str, preflight: str) -> None:
    found = only(first + "set -e\n" + preflight + RUN)
    assert found["target"] == {"checkpoint": "org/m"}
    assert found["parallel"] == {"tp_size": 8}


@pytest.mark.parametrize("shown", ["launch.sh", "a/b.bash", "job.sbatch", "job.slurm"])
@pytest.mark.parametrize("odd", ["import torch\n", "```\n```\n", "all: x\n\tmake\n"])
def test_the_name_of_a_script_settles_it_where_no_line_does(shown: str, odd: str) -> None:
    assert "checkpoint: org/m" in read_as(odd + RUN, shown)


def test_the_first_line_of_a_shell_settles_it_before_all_else() -> None:
    assert "checkpoint: org/m" in read_as(BASH + "import torch\n" + RUN, "launch.py")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (PYTHON, "launch"),
        (PYTHON.replace("\n", "\r\n"), "launch"),
        ("#!/usr/bin/env python3\n" + PYTHON, "launch"),
        ("#!/usr/bin/python3.12 -u\nrun('sglang serve')\n", "launch.sh"),
        ("run('sglang serve')\n", "launch.py"),
        ('"""It\'s a launcher."""\n' + PYTHON + "SIZE = 1 << SHIFT\n", "launch"),
        ("# don't\n" + PYTHON + "x = 'never closed in a shell\\''\n", "launch"),
        ("SHIFT = 1 << EOF\n" + PYTHON, "launch.py"),
    ],
)
def test_a_python_program_is_refused(text: str, shown: str) -> None:
    with pytest.raises(UsageError, match="looks like a Python program"):
        read_as(text, shown)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("run:\n\tsglang serve --model-path org/m\n", "a Makefile"),
        ("[program:x]\ncommand=sglang serve\n", "a supervisor configuration"),
        ("- hosts: all\n  tasks:\n  - shell: sglang serve\n", "an Ansible playbook"),
        ("# Serve\n\n```bash\ncat <<EOF\nx\nEOF\nsglang serve\n```\n", "a page of Markdown"),
    ],
)
def test_what_is_no_script_is_refused_still(text: str, what: str) -> None:
    with pytest.raises(UsageError, match=f"looks like {what}"):
        read_as(text)


def test_a_here_document_that_is_never_closed_hides_nothing() -> None:
    with pytest.raises(UsageError, match="a Makefile"):
        read_as("x:\n\techo $$((1 << SHIFT))\n\tsglang serve\n")


def test_many_here_documents_cost_no_more_than_their_length() -> None:
    assert "checkpoint: org/m" in read_as("cat <<EOF\nx\nEOF\n" * 3000 + "# <<NEVER\n" * 3000 + RUN)


ENGINE = 'llm = sgl.Engine(model_path="m", speculative_algorithm="EAGLE3")\n'


@pytest.mark.parametrize("first", ["import sglang as sgl\n", "import os, sglang\nimport sglang as sgl\n", ""])
@pytest.mark.parametrize("shown", ["serve.py", "stdin"])
def test_a_program_that_starts_an_engine_itself_is_named(first: str, shown: str) -> None:
    if not first and shown == "stdin":
        return  # nothing shows what it is
    with pytest.raises(UsageError, match="looks like a Python program, which is not read"):
        read_as(first + ENGINE, shown)


@pytest.mark.parametrize("text", ["import -window root x.png\n", "nvidia-smi\n", BASH + "import numpy\n"])
def test_other_commands_are_not_taken_for_programs(text: str) -> None:
    with pytest.raises(UsageError, match="is expected to launch a server"):
        read_as(text)
