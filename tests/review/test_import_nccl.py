"""An NCCL that is installed, preloaded or named stands in the file, or a TODO says that it decides."""

from __future__ import annotations

import pytest

from tests.review.imported import imported, only, told

RUN = "python3 -m sglang.launch_server --model-path org/m"


def version(text: str) -> str:
    """The version that is written, ``?`` where a TODO asks for it, empty where there is neither."""
    result, _ = imported(text)
    written = only(text).get("hardware", {}).get("nccl_version", "")
    asked = [note.text for note in result.notes if note.todo and note.block == "hardware"]
    assert not (written and asked)
    assert all(f"# TODO: {text}" in result.text and "nccl_version" in text for text in asked)
    assert bool(asked) == bool(result.left_open)
    return "?" if asked else str(written)


@pytest.mark.parametrize(
    "install",
    [
        "pip install -q --no-deps nvidia-nccl-cu12==2.30.7",
        "pip install nvidia-nccl-cu13==2.30.7",
        "pip install 'nvidia-nccl-cu12==2.30.7'",
        'pip install "nvidia-nccl-cu12 == 2.30.7"',
        "pip install nvidia_nccl_cu12==2.30.7",
        "pip install NVIDIA-NCCL-CU12===2.30.7",
        "pip install 'nvidia-nccl-cu12[x]==2.30.7 ; sys_platform == \"linux\"'",
        "pip3.12 install --force-reinstall nvidia-nccl-cu12==2.30.7",
        "python3 -m pip install nvidia-nccl-cu12==2.30.7",
        "sudo -E env A=1 pip install nvidia-nccl-cu12==2.30.7",
        "uv pip install nvidia-nccl-cu12==2.30.7",
        "uv pip install --system 'nvidia-nccl-cu13==2.30.7'",
        "pip install sglang==0.5.14 && pip install --no-deps nvidia-nccl-cu12==2.30.7",
        "pip install nvidia-nccl-cu12==2.30.7 torch==2.11.0",
        "pip install /w/nvidia_nccl_cu12-2.30.7-py3-none-manylinux_2_18_x86_64.whl",
        "V=2.30.7; pip install nvidia-nccl-cu12==$V",
        "bash -c 'pip install nvidia-nccl-cu12==2.30.7'",
        "pip install nvidia-nccl-cu12==2.30.7 || true",
    ],
)
def test_an_exact_install_is_the_version(install: str) -> None:
    assert version(f"#!/bin/bash\nset -e\n{install}\n{RUN}\n") == "2.30.7"
    assert version(f"{install}\nexport LD_LIBRARY_PATH=/opt/nccl/lib\n{RUN}\n") == "2.30.7"


@pytest.mark.parametrize(
    "install",
    [
        "pip install -U nvidia-nccl-cu12",
        "pip install 'nvidia-nccl-cu12>=2.30'",
        "pip install nvidia-nccl-cu12==2.30.*",
        "pip install nvidia-nccl-cu12==$VERSION",
        "pip uninstall -y nvidia-nccl-cu12",
        "if x; then pip install nvidia-nccl-cu12==2.30.7; fi",
        "[ x ] && pip install nvidia-nccl-cu12==2.30.7",
        "pip install nvidia-nccl-cu12==2.30.7; pip install nvidia-nccl-cu12==2.29.7",
        "pip install nvidia-nccl-cu12==2.30.7; pip install nvidia-nccl-cu13",
        "pip install nvidia-nccl-cu12==2.30.7; pip install sglang==0.5.14",
        "pip install nvidia-nccl-cu12==2.30.7; pip install torch==2.11.0",
        "pip install nvidia-nccl-cu12==2.30.7; uv pip install -U torch",
        "pip install --target /elsewhere nvidia-nccl-cu12==2.30.7",
        "pip install nvidia-nccl-cu12==2.30.7; source /venv/bin/activate",
    ],
)
def test_what_leaves_it_open_is_a_todo(install: str) -> None:
    assert version(f"{install}\n{RUN}\n") == "?"


@pytest.mark.parametrize(
    "install", ["pip install -r more.txt", "pip install numpy", "pip install torchao==0.9", ""]
)
def test_nothing_about_nccl_says_nothing(install: str) -> None:
    assert version(f"{install}\n{RUN}\n") == ""


@pytest.mark.parametrize(
    "engine",
    ["pip install nvidia-nccl-cu12==2.30.7", "pip install torch==2.11.0", "pip install nvidia-nccl-cu12"],
)
def test_nccl_and_torch_leave_the_engines_version_alone(engine: str) -> None:
    _, config = imported(f"pip install sglang==0.5.12\n{engine}\n{RUN}", None)
    assert config.engine is not None
    assert config.engine.version == "0.5.12"


@pytest.mark.parametrize(
    "choice",
    [
        "export LD_PRELOAD=/opt/nccl-2.30.7/libnccl.so.2",
        "export LD_PRELOAD='/lib/libtcmalloc.so.4:/opt/libnccl.so.2.30.7'",
        "export SGLANG_NCCL_SO_PATH=/opt/libnccl.so.2",
        "pip install nvidia-nccl-cu12==2.30.7; export LD_PRELOAD=/opt/libnccl.so.2",
    ],
)
def test_a_library_that_is_chosen_is_a_todo(choice: str) -> None:
    assert version(f"{choice}\n{RUN}") == "?"
    assert any(
        "decides which NCCL runs" in line and "libnccl.so" in line for line in told(f"{choice}\n{RUN}")
    )


def test_every_form_tells_a_preloaded_library() -> None:
    library = "LD_PRELOAD=/opt/libnccl.so.2"
    assert version(f"{library} {RUN}") == "?"
    assert version(f"docker run -e {library} lmsysorg/sglang:v0.5.14 {RUN}") == "?"
    assert (
        version(f"services:\n  s:\n    image: x\n    environment: [{library}]\n    command: {RUN}\n") == "?"
    )
    assert version(f"FROM x\nENV {library}\nCMD {RUN}\n") == "?"
    assert version(f"[Service]\nEnvironment={library}\nExecStart=/usr/bin/{RUN}\n") == "?"


def test_an_image_installs_it() -> None:
    text = f"FROM lmsysorg/sglang:v0.5.14\nRUN pip install --no-deps nvidia-nccl-cu12==2.30.7\nCMD {RUN}\n"
    assert version(text) == "2.30.7"


def test_what_the_host_installs_is_not_in_the_container() -> None:
    assert version(f"pip install nvidia-nccl-cu12==2.30.7\ndocker run lmsysorg/sglang:v0.5.14 {RUN}") == ""
    inner = f"bash -c 'pip install nvidia-nccl-cu12==2.30.7 && {RUN}'"
    assert version(f"docker run lmsysorg/sglang:v0.5.14 {inner}") == "2.30.7"


def test_the_installed_library_may_be_preloaded_by_its_path() -> None:
    own = "/usr/lib/python3/dist-packages/nvidia/nccl/lib/libnccl.so.2"
    assert version(f"pip install nvidia-nccl-cu12==2.30.7\nexport LD_PRELOAD={own}\n{RUN}") == "2.30.7"
    assert version(f"export LD_PRELOAD={own}\n{RUN}") == "?"


@pytest.mark.parametrize("value", ["/lib/libtcmalloc.so.4", "/opt/libnccl-net.so", "/opt/libnccl-tuner.so"])
def test_other_libraries_choose_no_nccl(value: str) -> None:
    assert version(f"export LD_PRELOAD={value}\n{RUN}") == ""


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("$HERE/libnccl.so.2", "LD_PRELOAD=${HERE}/libnccl.so.2 decides"),
        ('"$OTHERS /opt/libnccl.so.2"', "LD_PRELOAD=/opt/libnccl.so.2 decides"),
        ("${LD_PRELOAD:+$LD_PRELOAD:}/opt/libnccl.so.2", "LD_PRELOAD=/opt/libnccl.so.2 decides"),
    ],
)
def test_a_library_is_seen_beside_what_is_not_known(value: str, shown: str) -> None:
    assert any(line.startswith(f"TODO {shown}") for line in told(f"export LD_PRELOAD={value}\n{RUN}"))
