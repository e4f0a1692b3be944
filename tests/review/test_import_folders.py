"""A relative checkpoint is joined with the folder that the script stands in where that is certain."""

from __future__ import annotations

import pytest

from tests.review.imported import only, told

START = "python3 -m sglang.launch_server --model-path "


def checkpoint(script: str) -> str:
    return str(only(script)["target"]["checkpoint"])


@pytest.mark.parametrize("path", ["llama", "./llama", "x/../llama", "../models/llama"])
@pytest.mark.parametrize(
    "before",
    [
        "cd /srv/models",
        "pushd /srv/models >/dev/null",
        "cd -P -- '/srv/models/'",
        "cd /srv && cd models",
        "cd /srv/models || exit 1",
        "D=/srv/models; cd $D",
        "cd /srv/models/old/..",
        "cd /srv; pushd models",
        "pushd /srv/models; pushd /tmp; popd",
        "pushd /srv/models; pushd /tmp; pushd",
        "cd /srv/models; (cd /tmp; make)",
        "cd /srv/models; cd /tmp | true",
        "cd /srv/models; pushd -n /tmp",
        "cd /srv/models; x=$(cd /tmp; pwd)",
        "go() { cd /srv/models; }; go",
        "{ cd /srv/models; }",
        "for i in 1 2; do echo; done; cd /srv/models",
        "[ x ] && cd /tmp; cd /srv/models",
    ],
)
def test_a_certain_folder_is_joined(before: str, path: str) -> None:
    script = f"{before}\n{START}{path}"
    if path.count("/") == 1 and not path.startswith("."):
        assert checkpoint(script) == path
        return
    assert checkpoint(script) == "/srv/models/llama"
    assert any(
        "/models" in line or "where the script" in line or "the script goes" in line for line in told(script)
    )


@pytest.mark.parametrize(
    "before",
    [
        "",
        "cd models",
        "cd $HERE",
        'cd "$(dirname "$0")"',
        "cd ~/models",
        "cd",
        "cd /tmp; cd -",
        "pushd /srv/models; popd",
        "pushd /srv/models; pushd",
        "pushd /srv/models; pushd +1",
        "popd",
        "(cd /srv/models)",
        "cd /srv/models | true",
        "cd /srv/models &",
        "[ -d x ] && cd /srv/models",
        "if x; then cd /srv/models; fi",
        "if x; then cd /srv/models; else cd /tmp; fi",
        "for d in a b; do cd /srv/models; done",
        "cd /srv/models; if x; then pushd /tmp; fi",
        "cd /srv/models; if x; then cd /tmp; fi",
        "pushd /srv/models; if x; then pushd /tmp; fi; pushd /a; popd; popd",
        "go() { [ x ] && return; cd /srv/models; }; go",
        "CDPATH=/a:/b; cd /srv; cd models",
        "cd /srv/models; while x; do cd ..; done",
    ],
)
def test_what_is_not_certain_stays_as_it_is_spelled(before: str) -> None:
    assert checkpoint(f"{before}\n{START}./llama") == "./llama"


@pytest.mark.parametrize("path", ["org/llama", "/data/llama", "s3://bucket/llama", "org/llama.gguf"])
def test_what_may_be_a_name_on_the_hub_stays(path: str) -> None:
    assert checkpoint(f"cd /srv/models\n{START}{path}") == path


@pytest.mark.parametrize("front", ["exec ", "nohup ", "A=1 ", "env A=1 ", "sudo -E ", ""])
def test_what_starts_it_where_it_stands(front: str) -> None:
    assert checkpoint(f"cd /srv\n{front}{START}./llama") == "/srv/llama"


@pytest.mark.parametrize(
    "front",
    [
        "docker run image ",
        "ssh host ",
        "env -C /tmp ",
        "srun --chdir /tmp ",
        "uv run --directory /tmp ",
        "sudo -i ",
    ],
)
def test_what_may_start_it_elsewhere(front: str) -> None:
    assert checkpoint(f"cd /srv\n{front}{START}./llama") == "./llama"


def test_a_shell_inside_has_its_own_folder() -> None:
    assert checkpoint(f"docker run image bash -c 'cd /models && exec {START}./llama'") == "/models/llama"
    assert checkpoint(f"cd /srv\nssh host 'cd /models; {START}./llama'") == "/models/llama"
    assert checkpoint(f"bash -c 'cd /models'\n{START}./llama") == "./llama"


def test_the_draft_is_joined_alike_and_the_file_says_from_where() -> None:
    found = only(
        f"pushd /srv\n{START}llama --speculative-algorithm EAGLE3 --speculative-draft-model-path ./eagle"
    )
    assert (found["target"]["checkpoint"], found["draft"]["checkpoint"]) == ("/srv/llama", "/srv/eagle")


@pytest.mark.parametrize(
    "before", ["pushd /srv", "cd /srv", "pushd srv", "pushd $HERE", "cd", "pushd /srv; popd"]
)
def test_where_a_script_goes_is_told(before: str) -> None:
    assert any(line.startswith("the script goes") for line in told(f"{before}\n{START}org/m"))


def test_where_it_goes_behind_the_launch_is_not_told() -> None:
    lines = told(f"pushd /srv\n{START}llama &\npopd\ncd /tmp\n")
    assert len([line for line in lines if line.startswith("the script goes")]) == 1


def test_no_folder_gets_into_the_environment() -> None:
    assert "env" not in only(f"set -a\ncd /srv\npushd /tmp\n{START}org/m")


def test_a_stack_of_any_depth() -> None:
    script = "cd /srv\n" + "pushd /a\n" * 5000 + "popd\n" * 20 + f"{START}./llama"
    assert checkpoint(script) == "/a/llama"
    assert checkpoint("cd /srv\n" + "pushd /a\n" * 500 + "popd\n" * 499 + f"{START}./llama") == "./llama"
