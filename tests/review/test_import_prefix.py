"""Variables of a server come from what sets variables, and from nothing that only looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.imported import imported, only, told

SERVER = "python3 -m sglang.launch_server --model-path org/m"


def variables(text: str) -> dict[str, Any]:
    """``nccl`` and ``env`` of the one deployment, with what is left to do under ``?``."""
    one = only(text)
    todo = [line for line in told(text) if line.startswith("TODO ")]
    out = {**one.get("nccl", {}), **one.get("env", {})}
    return out | ({"?": todo} if todo else {})


@pytest.mark.parametrize(
    "prefix",
    [
        "uv run --with sglang==0.5.14",
        "uv run --with=sglang==0.5.14 --python 3.12",
        "uv run --extra-index-url https://x.org/?a=b",
        "uv tool run --from sglang==0.5.14",
        "uvx --with torch==2.9 --from sglang==0.5.14",
        "pipx run --spec sglang==0.5.14",
        "sudo -E numactl -N 0 timeout 3600 nice -n 5 stdbuf -oL uv run --with sglang==0.5.14",
        "ssh -o StrictHostKeyChecking=no -p 22 node",
        "ssh -tt -oBatchMode=yes me@node",
        "systemd-run --scope -p MemoryMax=1G",
        "mpirun -np 1 --mca btl_tcp_if_include eth0",
        "torchrun --rdzv-conf a=b,c=d",
        "accelerate launch --config x=y",
        "srun --gres=gpu:8 --mpi pmix",
        "poetry run",
        "conda run -n x",
    ],
)
def test_no_variable_is_made_of_a_word_that_sets_none(prefix: str) -> None:
    assert variables(f"{prefix} {SERVER}") == {}
    inner = f"docker run img {prefix} {SERVER}"
    assert variables(inner) == {} or prefix.startswith("ssh")


@pytest.mark.parametrize(
    "prefix",
    [
        "env NCCL_PROTO=LL",
        "NCCL_PROTO=LL",
        "sudo NCCL_PROTO=LL",
        "sudo -E env NCCL_PROTO=LL",
        "uv run env NCCL_PROTO=LL",
        "export NCCL_PROTO=LL; uv run --with sglang==0.5.14",
        "ssh node NCCL_PROTO=LL",
        "ssh node env NCCL_PROTO=LL",
        "ssh node export 'NCCL_PROTO=LL;'",
        "mpirun -x NCCL_PROTO=LL",
        "export NCCL_PROTO=LL; mpirun -x NCCL_PROTO",
        "mpiexec -genv NCCL_PROTO LL",
        "export NCCL_PROTO=LL; mpiexec -genvlist NCCL_PROTO",
        "systemd-run -E NCCL_PROTO=LL",
        "systemd-run --setenv=NCCL_PROTO=LL",
        "systemd-run -p Environment=NCCL_PROTO=LL",
        "export NCCL_PROTO=LL; systemd-run -E NCCL_PROTO",
        "export NCCL_PROTO=LL; systemd-run --scope",
        "export A=1; systemd-run -E NCCL_PROTO=LL",
        "tmux new -d -e NCCL_PROTO=LL",
        "apptainer exec --env NCCL_PROTO=LL x.sif",
        "apptainer exec --env=NCCL_PROTO=LL x.sif",
        "export A=1; singularity exec --cleanenv --env NCCL_PROTO=LL x.sif",
        "export APPTAINERENV_NCCL_PROTO=LL; apptainer exec -e x.sif",
        "export A=1 SINGULARITYENV_NCCL_PROTO=LL; singularity exec -C x.sif",
        "export NCCL_PROTO=LL; srun",
        "export NCCL_PROTO=LL; srun --export=ALL",
        "srun --export=ALL,NCCL_PROTO=LL",
        "srun --export ALL,NCCL_PROTO=LL",
        "export A=1; srun --export=NCCL_PROTO=LL",
        "export A=1 NCCL_PROTO=LL; srun --export=NCCL_PROTO",
        "export A=1; srun --export=NONE env NCCL_PROTO=LL",
        "export A=1; srun --export NIL env NCCL_PROTO=LL",
        "export A=1; env -i NCCL_PROTO=LL",
        "export A=1; ssh node NCCL_PROTO=LL",
        "export A=1; pdsh -w node NCCL_PROTO=LL",
        "#!/bin/bash\n#SBATCH --export=ALL,NCCL_PROTO=LL\nsrun",
        "#!/bin/bash\n#SBATCH --export=NCCL_PROTO=LL\nsrun",
        "#!/bin/bash\n#SBATCH --export=NCCL_PROTO=LL\n",
        "#SBATCH --export NCCL_PROTO=LL\n#SBATCH -N 2\n\nexport A=1\nsrun",
        "#SBATCH --export=NONE\nexport NCCL_PROTO=LL\nsrun --export=ALL",
        "#SBATCH --export=NONE\nexport NCCL_PROTO=LL SLURM_EXPORT_ENV=ALL\nsrun",
        "#SBATCH --export=NONE\nexport NCCL_PROTO=LL\nunset SLURM_EXPORT_ENV\nsrun",
        "#SBATCH --export=NONE\nexport NCCL_PROTO=LL\n",
        "#SBATCH --export=NONE\nexport NCCL_PROTO=LL SRUN_EXPORT_ENV=ALL\nsrun",
        "export SRUN_EXPORT_ENV=NCCL_PROTO NCCL_PROTO=LL A=1; srun -x node3",
        "#PBS -v NCCL_PROTO=LL\n",
        "#!/bin/sh\n#PBS -l x=1 -v NCCL_PROTO=LL\nmpirun",
    ],
)
def test_what_sets_a_variable_sets_it_and_what_hides_others_hides_them(prefix: str) -> None:
    glue = "" if prefix.endswith("\n") else " "
    assert variables(f"{prefix}{glue}{SERVER}") == {"proto": "LL"}


@pytest.mark.parametrize(
    ("prefix", "todo"),
    [
        ("uv run --env-file .env", ".env is not read"),
        ("apptainer exec --env-file=p.env x.sif", "p.env is not read"),
        ("systemd-run -p EnvironmentFile=-/etc/x.env", "/etc/x.env is not read"),
        ("dotenv run --", "dotenv sets variables"),
        ("op run --env-file=.env --", "op sets variables"),
        ("doppler run --", "doppler sets variables"),
        ("launcher NCCL_PROTO=LL", "whether it sets a variable is not known"),
        ("nsys profile --env-var=NCCL_PROTO=LL", "whether it sets a variable is not known"),
        ("taskset -c 0 NCCL_PROTO=LL", "whether it sets a variable is not known"),
        ("export NCCL_PROTO=LL; tmux new -d", "whether tmux keeps it"),
        ("export NCCL_PROTO=LL; doas", "whether doas keeps it"),
        ("export NCCL_PROTO=LL; srun --export=$E", "which variables srun --export=${E} hands on"),
        ("#SBATCH --export-file=e.txt\n", "e.txt is not read"),
    ],
)
def test_what_another_program_decides_is_a_todo(prefix: str, todo: str) -> None:
    result, config = imported(f"{prefix} {SERVER}")
    assert any(note.todo and todo in note.text for note in result.notes), result.notes
    assert result.left_open
    (one,) = config.deployments
    assert not one.model.model_dump(exclude_unset=True).get("nccl")


def test_what_slurm_keeps_from_the_server_is_told() -> None:
    lines = told(f"export NCCL_PROTO=LL B=1; srun --export=NONE {SERVER}")
    assert "srun --export=NONE keeps B, NCCL_PROTO from the server" in lines
    lines = told(f"#SBATCH --export=NCCL_PROTO=LL\nexport B=1\nsrun {SERVER}")
    assert "srun --export=NCCL_PROTO=LL keeps B from the server" in lines
    assert any(
        "NCCL_ALGO is handed on" in line for line in told(f"#SBATCH --export=NCCL_ALGO\nsrun {SERVER}")
    )
    text = f"srun --export=ALL,NCCL_PROTO=LL,A=$X,B=1 {SERVER}"
    assert only(text)["nccl"] == {"proto": "LL"}
    assert only(text)["env"] == {"B": "1"}
    assert "TODO A is left out: X is not known here" in told(text)
    assert any("which variables srun" in line for line in told(f"srun --export=ALL,$X {SERVER}"))
    assert "token" not in "".join(told(f"export A=1; srun --export=HF_TOKEN=hf_tokentoken {SERVER}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"ssh node {SERVER} --tp 2", {"tp_size": 2}),
        (f"ssh node 'TP=2; ' {SERVER} --tp '$TP'", {"tp_size": 2}),
        (f"ssh node cd /x '&&' TP=2 '&&' {SERVER} --tp \\$TP", {"tp_size": 2}),
        (f"ssh -t node -- {SERVER} --tp 2", {"tp_size": 2}),
        (f"ssh node docker run -e TP=2 img bash -c '\"{SERVER} --tp \\$TP\"'", {"tp_size": 2}),
        (f"ssh node docker run -e TP=2 img bash -c '\"{SERVER} --tp $TP\"'", None),
    ],
)
def test_the_other_host_reads_the_words_once_more(text: str, expected: object) -> None:
    assert only(text).get("parallel") == expected


def test_what_the_other_host_splits_is_split() -> None:
    one = only(f"ssh node {SERVER} --served-model-name 'a --tp 2'")
    assert one["parallel"] == {"tp_size": 2}
    assert one["server"] == {"served_model_name": "a"}
