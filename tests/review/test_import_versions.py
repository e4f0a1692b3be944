"""The engine's version is written as known only where nothing else may decide it."""

from __future__ import annotations

import pytest

from tests.review.imported import imported

SERVER = "python3 -m sglang.launch_server --model-path org/m"
IMAGE = "lmsysorg/sglang:v0.5.14"


def version(text: str) -> str:
    """The version that is written, ``?`` where a TODO says that it is not known."""
    result, config = imported(text, None)
    assert config.engine is not None
    line = next(line for line in result.text.split("\n") if line.startswith("  version: "))
    assert ("TODO" in line) == any("which version runs" in note.text for note in result.notes), line
    assert result.left_open or "TODO" not in line
    return "?" if "TODO" in line else str(config.engine.version)


OPEN = [
    "pip install -U sglang",
    "pip install sglang",
    'pip install -U "sglang[all]"',
    "pip install SGLang",
    'pip install --pre "sglang>=0.5.14"',
    "pip install sglang~=0.5.14",
    "pip install sglang!=0.5.13",
    "pip install sglang==0.5.*",
    "pip install sglang==$VERSION",
    "pip install $PACKAGES",
    'pip install "sglang @ git+https://github.com/sgl-project/sglang"',
    "pip install git+https://github.com/sgl-project/sglang.git@main#subdirectory=python",
    "pip install https://github.com/sgl-project/sglang/archive/main.zip",
    "pip install ./sglang-main.zip",
    "python3 -m pip install --upgrade sglang",
    "python -mpip install --upgrade sglang",
    "sudo -E env X=1 pip3.12 install --upgrade sglang",
    "timeout 600 pip install -U sglang",
    "pip install -r requirements.txt",
    "pip install -rrequirements.txt",
    "pip install --requirement=requirements.txt",
    "pip install -c constraints.txt sglang",
    "pip install -e 'python[all]'  -e ./python",
    "pip install -e /src/sglang/python",
    "pip install --editable .",
    "cd sglang && pip install -e python",
    "cd /sgl-workspace/sglang && git checkout v0.5.9",
    "git -C /sgl-workspace/sglang pull",
    "pip uninstall -y sglang",
    "pip install sglang==0.5.9",
    "if x; then pip install sglang==0.5.9; fi",
    "uv pip install -U sglang",
    "uv pip install --system --upgrade sglang",
    "uv pip install -r pyproject.toml",
    "uv pip sync requirements.txt",
    "uv sync",
    "uv sync --frozen",
    "uv add sglang",
    "poetry install",
    "pixi add sglang",
    "conda install -y -c conda-forge sglang",
    "conda install sglang=0.5.12",
    "mamba install 'sglang>=0.5.12'",
    "conda env update -f environment.yml",
    "module load sglang/0.5.9",
    "sh -c 'pip install -U sglang'",
    "sudo -E bash -lc 'cd x; pip install -U sglang'",
    "bash -c 'pip install \"sglang'",
    "xargs pip install -U",
    "sh install.sh",
    "./tools/setup_env.sh --all",
    "(pip install -U sglang)",
    "{ pip install -U sglang; }",
    "eval 'pip install -U sglang'",
    "for p in sglang x; do pip install -U $p; done",
    "export PYTHONPATH=/src/sglang/python",
    "export PYTHONPATH=$PWD/python",
    "cd /src/sglang/python",
    "cd python",
    "export PYTHONPATH=/src/sglang/python:$PYTHONPATH",
]


@pytest.mark.parametrize("install", OPEN)
def test_what_stands_behind_an_install_may_replace_it(install: str) -> None:
    assert version(f"pip install sglang==0.5.12\n{install}\n{SERVER}") == "?"


@pytest.mark.parametrize("install", [each for each in OPEN if "==0.5.9" not in each and " -c '" not in each])
def test_what_runs_in_an_image_may_replace_what_its_tag_says(install: str) -> None:
    inner = install.replace('"', "").replace("'", "").replace("$", "\\$").replace("<", "\\<")
    inner = inner.replace(">", "\\>").replace("*", "\\*")
    assert version(f'docker run {IMAGE} bash -c "{inner}; {SERVER}"') == "?"


@pytest.mark.parametrize(
    "install",
    [each for each in OPEN if not each.startswith(("module", "export", "if", "cd /src", "cd python"))],
)
def test_what_an_image_is_built_with_may_replace_what_its_base_says(install: str) -> None:
    expected = "0.5.9" if install == "pip install sglang==0.5.9" else "?"
    assert version(f"FROM {IMAGE}\nRUN {install}\nENTRYPOINT {SERVER}\n") == expected


@pytest.mark.parametrize(
    "install",
    [
        "pip install -U transformers",
        "pip install sglang-router==0.3.0 sgl-kernel sgl_kernel",
        "pip install sgl-kernel --index-url https://docs.sglang.ai/whl/cu129",
        "pip install -i https://docs.sglang.ai/whl x",
        "pip install https://x.org/sglang-router/sglang_router-0.3.0-py3-none-any.whl",
        "pip download sglang",
        "pip show sglang",
        "pip list | grep sglang",
        "pip install --dry-run sglang",
        "echo pip install -U sglang",
        "git clone https://github.com/sgl-project/sglang",
        "git pull",
        "cd /models/x && git checkout main",
        "export PYTHONPATH=/app:/usr/lib/python3",
        "cd /sgl-workspace",
        "cd /src",
        "uv cache clean sglang",
        'sh -c "pip install transformers"',
        'bash -c "awk {"',
        "sh prepare.sh",
        "conda activate base",
    ],
)
def test_what_is_not_about_the_engine_leaves_its_version_known(install: str) -> None:
    inner = install.replace('"', "")
    assert version(f"docker run {IMAGE} bash -c '{inner}; {SERVER}'") == "0.5.14"
    if "activate" not in install:
        assert version(f"pip install sglang==0.5.12\n{install}\n{SERVER}") == "0.5.12"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (f"pip install -U sglang\npip install sglang==0.5.12\n{SERVER}", "0.5.12"),
        (f"pip install -r r.txt; pip install sglang==0.5.12; {SERVER}", "0.5.12"),
        (f"pip uninstall -y sglang && pip install sglang==0.5.12 && {SERVER}", "0.5.12"),
        (f"pip install sglang==0.5.12; if x; then pip install sglang==0.5.12; fi; {SERVER}", "0.5.12"),
        (f"pip install ./sglang-0.5.12-py3-none-any.whl; {SERVER}", "0.5.12"),
        (f"pip install https://x.org/sglang-0.5.12.tar.gz; {SERVER}", "0.5.12"),
        (f"pip install ./sglang-0.5.12+cu129-py3-none-any.whl; {SERVER}", "?"),
        (f"conda install -y sglang==0.5.12; {SERVER}", "0.5.12"),
        # an environment of its own
        (f"uv run --with sglang==0.5.12 {SERVER}", "0.5.12"),
        (f"uv run --with=sglang==0.5.12 {SERVER}", "0.5.12"),
        (f"uv run --with 'sglang[all]==0.5.12,torch' {SERVER}", "0.5.12"),
        (f"uv run --with 'sglang>=0.5.12' {SERVER}", "?"),
        (f"uv run --with-requirements r.txt {SERVER}", "?"),
        (f"uv tool run --from sglang==0.5.12 {SERVER}", "0.5.12"),
        ("uvx --from sglang==0.5.12 sglang serve org/m", "0.5.12"),
        (f"pipx run --spec sglang==0.5.12 {SERVER}", "0.5.12"),
        (f"sudo -E nice -n 5 uv run --with sglang==0.5.12 {SERVER}", "0.5.12"),
        (f"pip install sglang==0.5.9; uv run --with sglang==0.5.12 {SERVER}", "0.5.12"),
        (f"pip install sglang==0.5.12; uv run {SERVER}", "?"),
        (f"uv pip install sglang==0.5.12; uv run {SERVER}", "0.5.12"),
        (f"pip install sglang==0.5.12; poetry run {SERVER}", "?"),
        (f"pip install sglang==0.5.12; conda run -n x {SERVER}", "?"),
        (f"docker run {IMAGE} uv run --with sglang==0.5.12 {SERVER}", "0.5.12"),
        # another environment than the one that it is installed in
        (f"pip install sglang==0.5.12; conda activate x; {SERVER}", "?"),
        (f"pip install sglang==0.5.12; source /v/bin/activate; {SERVER}", "?"),
        (f"source /v/bin/activate; pip install sglang==0.5.12; {SERVER}", "0.5.12"),
        (f"/a/bin/pip install sglang==0.5.12; /b/bin/{SERVER}", "?"),
        (f"/a/bin/python -m pip install sglang==0.5.12; /b/bin/{SERVER}", "?"),
        (f"/a/bin/python -m pip install sglang==0.5.12; /a/bin/{SERVER}", "0.5.12"),
        (f"pip install sglang==0.5.12; /b/bin/{SERVER}", "?"),
        (f"pip install sglang==0.5.12; /usr/bin/{SERVER}", "0.5.12"),
        (f"uv pip install --python /a/bin/python sglang==0.5.12; /a/bin/{SERVER}", "0.5.12"),
        (f"uv pip install --python /a/bin/python sglang==0.5.12; /b/bin/{SERVER}", "?"),
        (f"pip install --target /x sglang==0.5.12; {SERVER}", "?"),
        (f"conda install -n x sglang==0.5.12; {SERVER}", "?"),
        (f"conda run -n x pip install sglang==0.5.12; {SERVER}", "?"),
        # another host, another container
        (f"pip install sglang==0.5.12; ssh node {SERVER}", "?"),
        (f"pip install sglang==0.5.12; ssh node '{SERVER}'", "?"),
        (f"ssh node 'pip install sglang==0.5.12; {SERVER}'", "0.5.12"),
        (f"pip install sglang==0.5.12; docker exec c {SERVER}", "?"),
        (f"docker exec c pip install sglang==0.5.12; {SERVER}", "?"),
        (f"docker run -v /src/sglang:/sgl-workspace/sglang {IMAGE} {SERVER}", "?"),
        (f"docker run -v /src/sglang:/models/sglang {IMAGE} {SERVER}", "0.5.14"),
        (f"docker run -e PYTHONPATH=/src/sglang/python {IMAGE} {SERVER}", "?"),
        (f"FROM {IMAGE}\nCOPY . /sgl-workspace/sglang\nCMD {SERVER}", "?"),
        (f"FROM {IMAGE}\nCOPY run_sglang.sh /usr/bin/\nCMD {SERVER}", "0.5.14"),
        (f"FROM {IMAGE}\nRUN <<E\npip install -U sglang\nE\nCMD {SERVER}", "?"),
        (f"FROM {IMAGE}\nRUN bash -e <<-'E'\n\tpip install -U sglang\n\tE\nCMD {SERVER}", "?"),
        (f"FROM {IMAGE}\nRUN cat > x <<E\npip install -U sglang\nE\nCMD {SERVER}", "0.5.14"),
        (f"FROM {IMAGE}\nCOPY <<E /run.sh\nCMD x\nENV A=1\nE\nCMD {SERVER}", "0.5.14"),
        (f"FROM {IMAGE}\nRUN pip install 'sglang\nCMD {SERVER}", "?"),
        (f"docker run registry:5000/llm/app:0.5.12 {SERVER}", "?"),
        (f"docker run registry:5000/ml/sglang-ours:0.5.12 {SERVER}", "0.5.12"),
        (f"services: {{a: {{build: ., image: '{IMAGE}', command: {SERVER}}}}}\n", "?"),
        (f"conda run -n x docker run {IMAGE} {SERVER}", "0.5.14"),
        (f"FROM {IMAGE}\nWORKDIR /sgl-workspace/sglang\nRUN git checkout x\nCMD {SERVER}", "?"),
    ],
)
def test_the_version_that_counts_is_that_of_the_server_s_own_environment(script: str, expected: str) -> None:
    assert version(script) == expected


def test_what_decides_is_named() -> None:
    notes = imported(f"pip install sglang==0.5.12\npip install -U sglang\n{SERVER}", None)[0].notes
    assert "pip install sglang==0.5.12 or pip install -U sglang decides which version runs" in notes[0].text
    notes = imported(f"pip install https://me:s3cretpass@x.org/sglang.zip\n{SERVER}", None)[0].notes
    assert "s3cretpass" not in "".join(note.text for note in notes)
