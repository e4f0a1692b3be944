"""``eaglecfg nccl-log`` as a user runs it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft7Validator

import eaglecfg
from eaglecfg.cli.main import run
from tests.nccl_log.conftest import said, written

ROOT = Path(eaglecfg.__file__).parents[1]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "nccl-log.schema.json").read_text(encoding="utf-8"))
CONFIG = """\
version: 1
engine: {name: sglang, version: 0.5.14}
deployments:
  chat:
    target: {checkpoint: t}
    parallel: {tp_size: 2}
    nccl: {proto: LL, nvls_enable: "true", nthreads: 128}
    env: {NCCL_DEBUG: INFO, OMP_NUM_THREADS: "8"}
    hardware: {gpu: H200, count: 2, topology: nvlink-pair}
  other:
    target: {checkpoint: t}
"""
GOOD = {"NCCL_PROTO": "LL", "NCCL_NTHREADS": "128", "NCCL_NVLS_ENABLE": "true"}
Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Exit code, stdout and stderr of one command line."""

    def _ask(*arguments: str) -> tuple[int, str, str]:
        code = run(["nccl-log", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return _ask


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a config and two logs; the current folder of the test."""
    (tmp_path / "eaglecfg.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "ll.log").write_text("\n".join(written(**GOOD)) + "\n", encoding="utf-8")
    (tmp_path / "plain.log").write_text("\n".join(written()) + "\n", encoding="utf-8")
    (tmp_path / "none.log").write_text("nothing of note\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def data(text: str) -> Any:
    """The JSON, which follows its schema and holds nothing that JSON does not have."""
    found = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(found)] == []
    return found


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)


def test_a_log_in_brief(ask: Ask, folder: Path) -> None:
    code, out, err = ask("ll.log")
    assert (code, err) == (0, "")
    assert out.startswith("NCCL 2.27.5+cuda12.9  ")
    assert "2 ranks, on standin, 24 channels, no NVLS, P2P/CUMEM" in out
    assert "  NCCL_NVLS_ENABLE  0" in out
    assert "  AllReduce   56 KiB  2 ranks  Ring LL, 1 channel    ×1" in out
    assert "\x1b" not in out


def test_json_follows_its_schema(ask: Ask, folder: Path) -> None:
    for arguments in (["ll.log"], ["plain.log", "ll.log"], ["ll.log", "--against", "plain.log"]):
        code, out, _ = ask(*arguments, "--format", "json")
        assert code == 0
        assert data(out)["nccl_versions"] == ["2.27.5+cuda12.9"]
    whole = data(ask("ll.log", "--config", "eaglecfg.yaml", "-d", "chat", "--format", "json")[1])
    assert {one["name"]: one["status"] for one in whole["settings"]} == {
        "NCCL_PROTO": "acted",
        "NCCL_NTHREADS": "acted",
        "NCCL_NVLS_ENABLE": "misread",
    }
    assert whole["deployment"] == "chat"


def test_rich_json_follows_its_schema(ask: Ask, folder: Path) -> None:
    lines = said(
        "Enabled NCCL Func/Proto/Algo Matrix:",
        "Invalid NCCL_NTHREADS 100 (must be a multiple of 32)",
        "NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)",
        "Using network Socket",
        "TUNER/Plugin: Using tuner plugin x",
        "AllReduce: opCount 1 sendbuff 0x1 recvbuff 0x2 count 8 datatype 99 op 0 root 0 comm 0x1 "
        "[nranks=2] stream 0x0",
        "AllReduce [Symmetric]: 4096 Bytes -> Kernel K nchannels 4 nthreads 512",
        "AllGather [Copy Engine]: 9 Bytes -> cudaMemcpyBatchAsync",
        "8 Bytes -> Algo 1 proto 0 time 8.4",
    )
    lines += ["     Function |       LL   |          Tree  ", "    AllReduce |        1   |             0  "]
    lines += said("something failed", level="WARN")
    lines += ["box:1:1 [0] NCCL INFO AllReduce: 8192 Bytes -> Algo RI"]
    (folder / "rich.log").write_text("\n".join(lines), encoding="utf-8")
    found = data(ask("rich.log", "--format", "json")[1])
    assert found["cut_lines"] == 1
    assert found["multicast"] is True
    assert found["calls"][0]["by_rank"] == {"?": 1}
    code, out, _ = ask("rich.log")
    assert code == 0
    assert "something failed" in out


def test_settings_that_did_not_act_end_with_1(ask: Ask, folder: Path) -> None:
    code, out, _ = ask("ll.log", "--config", "eaglecfg.yaml", "-d", "chat")
    assert code == 1
    assert "NCCL_PROTO=LL          acted        AllReduce of 8 KiB ran Ring LL once" in out
    assert "NCCL_NVLS_ENABLE=true  misread      NCCL reads 0; expected 0, 1 or 2" in out
    assert "  NCCL_NVLS_ENABLE  0  (asked: true)" in out
    assert "NCCL_DEBUG" not in out
    (folder / "eaglecfg.yaml").write_text(CONFIG.replace('nvls_enable: "true", ', ""), encoding="utf-8")
    code, out, _ = ask("ll.log", "--config", "eaglecfg.yaml", "-d", "chat")
    assert code == 0
    assert "  NCCL_NVLS_ENABLE  0  (not in the config)" in out


def test_a_deployment_without_nccl_settings(ask: Ask, folder: Path) -> None:
    code, out, _ = ask("ll.log", "--config", "eaglecfg.yaml", "-d", "other")
    assert code == 0
    assert "it sets no variable of NCCL" in out


def test_a_deployment_that_only_makes_the_log(ask: Ask, folder: Path) -> None:
    text = CONFIG.replace('nccl: {proto: LL, nvls_enable: "true", nthreads: 128}', "nccl: {debug: INFO}")
    (folder / "eaglecfg.yaml").write_text(text.replace("NCCL_DEBUG: INFO", "A: b"), encoding="utf-8")
    arguments = ["ll.log", "--config", "eaglecfg.yaml", "-d", "chat"]
    code, out, _ = ask(*arguments)
    assert code == 0
    assert "it sets NCCL_DEBUG alone, which makes the log" in out
    (folder / "eaglecfg.yaml").write_text(
        text.replace("NCCL_DEBUG: INFO", "NCCL_DEBUG_SUBSYS: ENV"), encoding="utf-8"
    )
    assert "it sets NCCL_DEBUG and NCCL_DEBUG_SUBSYS alone, which make the log" in ask(*arguments)[1]


@pytest.mark.parametrize("given", ["BANANA", "INIT,BANANA", "", "INIT,,ENV", "^", "^BANANA", "INIT ENV"])
def test_subsystems_that_nccl_does_not_have_are_refused(ask: Ask, folder: Path, given: str) -> None:
    code, out, err = ask("ll.log", "--subsystems", given)
    assert (code, out) == (2, "")
    assert "--subsystems takes names of NCCL_DEBUG_SUBSYS with commas between them, got '" in err
    assert "INIT, COLL, P2P" in err


def test_subsystems_are_read_as_nccl_reads_them(ask: Ask, folder: Path) -> None:
    for given in ("init,env", "ALL", "^ENV", "INIT, COLL"):
        assert ask("ll.log", "--subsystems", given)[0] == 0


TEXT = "\n".join(written()).encode()
PACKED = {
    "log.gz": (gzip.compress(TEXT), "compressed with gzip", "zcat"),
    "log.xz": (lzma.compress(TEXT), "compressed with xz", "xzcat"),
    "log.bz2": (bz2.compress(TEXT), "compressed with bzip2", "bzcat"),
    "log.zst": (b"\x28\xb5\x2f\xfd" + bytes(90), "compressed with zstd", "zstdcat"),
    "log.zip": (b"PK\x03\x04" + bytes(90), "a zip archive", "unzip -p"),
    "log.tar": (b"log".ljust(257, b"\0") + b"ustar\x0000" + bytes(300) + TEXT, "a tar archive", "tar -xOf"),
    "bom.log": (TEXT.decode().encode("utf-16"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
    "le.log": (TEXT.decode().encode("utf-16-le"), "text in UTF-16", "iconv -f UTF-16LE -t UTF-8"),
}


@pytest.mark.parametrize("name", PACKED)
def test_what_has_to_be_unpacked_first_is_said_to(
    ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    content, what, how = PACKED[name]
    (folder / name).write_bytes(content)
    for form in ("text", "json"):
        code, _, err = ask("ll.log", name, "--format", form)
        assert code == 2
        assert err == f"eaglecfg: {name} is {what}, which is not read: {how} {name} | eaglecfg nccl-log -\n"
    assert ask("ll.log", "--against", name)[0] == 2
    with (folder / name).open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        assert ask("-")[2] == f"eaglecfg: stdin is {what}, which is not read: {how} | eaglecfg nccl-log -\n"


def test_a_name_with_blanks_is_quoted_in_the_command(ask: Ask, folder: Path) -> None:
    (folder / "a log.gz").write_bytes(gzip.compress(TEXT))
    assert "zcat 'a log.gz' | eaglecfg" in ask("a log.gz")[2]


def test_numbers_that_no_nccl_has_are_damage(ask: Ask, folder: Path) -> None:
    lines = written()
    more = said(
        "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..9999999999999}",
        "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={9..2}",
        "AllReduce [Symmetric]: 8 Bytes -> Kernel AllReduce_AGxLL_R nchannels 99999999 nthreads 64",
        "99999999 coll channels, 0 collnet channels, 0 nvls channels, 1 p2p channels, "
        "1 p2p channels per peer",
    )
    (folder / "plain.log").write_text("\n".join(lines), encoding="utf-8")
    (folder / "huge.log").write_text("\n".join([*lines, *more]), encoding="utf-8")
    plain, huge = (json.loads(ask(name, "--format", "json")[1]) for name in ("plain.log", "huge.log"))
    assert huge["choices"] == plain["choices"]
    assert huge["communicators"] == plain["communicators"]
    assert huge["cut_lines"] == plain["cut_lines"] + 4


def test_what_nccl_chose_against_another_log(ask: Ask, folder: Path) -> None:
    code, out, _ = ask("ll.log", "--against", "plain.log")
    assert code == 0
    assert "AllReduce of 16 MiB: Ring LL, 24 channels; there Ring Simple, 24 channels" in out
    assert "the other 3 messages as there" in out
    assert "changes no choice of NCCL's" in ask("ll.log", "--against", "ll.log")[1]


def test_files_without_a_line_of_nccl_end_with_3(ask: Ask, folder: Path) -> None:
    code, out, err = ask("none.log")
    assert (code, out) == (3, "")
    assert "none.log: no line of NCCL; start the server with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=" in err
    assert ask("ll.log", "--against", "none.log")[0] == 3
    code, out, _ = ask("none.log", "--format", "json")
    assert json.loads(out)["summary"]["exit_code"] == 3
    (folder / "empty.log").write_bytes(b"")
    assert ask("empty.log")[0] == 3
    assert ask("none.log", "ll.log")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.log"], "No such file"),
        (["."], "is a folder"),
        (["ll.log", "-d", "chat"], "--config"),
        (["ll.log", "--config", "eaglecfg.yaml"], "several deployments; choose one with -d: chat, other"),
        (["ll.log", "--config", "eaglecfg.yaml", "-d", "x"], "no deployment 'x'; it has chat, other"),
        (["ll.log", "--config", "gone.yaml"], "gone.yaml"),
        ([], "FILE"),
    ],
)
def test_what_cannot_be_used_ends_with_2(ask: Ask, folder: Path, arguments: list[str], words: str) -> None:
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_standard_input(ask: Ask, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO((folder / "ll.log").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    code, out, _ = ask("-")
    assert code == 0
    assert out.startswith("NCCL 2.27.5")


def test_a_log_without_collectives_says_what_to_set(ask: Ask, folder: Path) -> None:
    (folder / "short.log").write_text("\n".join(said("Using network IB")), encoding="utf-8")
    assert "start the server with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT" in " ".join(
        ask("short.log")[1].split()
    )
    (folder / "warn.log").write_text("\n".join(said("bad", level="WARN")), encoding="utf-8")
    assert "no line of level INFO" in ask("warn.log")[1]
    tuned = said("    AllReduce |     7.8/  47.0 |")
    (folder / "tuned.log").write_text("\n".join(tuned), encoding="utf-8")
    assert "no collective ran through NCCL" in ask("tuned.log")[1]


def test_declared_subsystems_turn_silence_into_a_verdict(ask: Ask, folder: Path) -> None:
    lines = [line for line in written() if "SIMPLE" not in line]
    (folder / "quiet.log").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["quiet.log", "--config", "eaglecfg.yaml", "-d", "chat"]
    code, out, _ = ask(*arguments)
    assert "NCCL_DEBUG_SUBSYS=ENV" in " ".join(out.split())
    code, out, _ = ask(*arguments, "--subsystems", "ALL")
    assert code == 1
    assert "NCCL_PROTO=LL          not taken" in out
    assert ask(*arguments, "--subsystems", "^ENV")[1] == ask(*arguments)[1]


def test_control_characters_do_not_reach_the_terminal(ask: Ask, folder: Path) -> None:
    lines = said(
        "NCCL_TOPO_FILE set by environment to /a\x1b]0;gotcha\x07b",
        "AllReduce [Symmetric]: 8 Bytes -> Kernel a\x07b nchannels 1 nthreads 64",
        "Channel 00 : 0[0] -> 1[1] via SHM/a\x07",
    ) + said("bell \x07", level="WARN")
    (folder / "bad.log").write_text("\n".join(lines), encoding="utf-8")
    assert "\x07" not in ask("bad.log")[1]
    data(ask("bad.log", "--format", "json")[1])


def test_long_lists_are_cut_in_text_and_whole_in_json(ask: Ask, folder: Path) -> None:
    lines = said(
        *(
            f"AllReduce: {8 * number} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..0}}"
            for number in range(100)
        )
    )
    (folder / "many.log").write_text("\n".join(lines), encoding="utf-8")
    assert "and 60 more; --format json has all" in ask("many.log")[1]
    assert len(data(ask("many.log", "--format", "json")[1])["choices"]) == 100


def test_a_closed_pipe_ends_quietly(folder: Path) -> None:
    lines = said(
        *(f"AllReduce: {n} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..0}}" for n in range(5000))
    )
    (folder / "many.log").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "eaglecfg", "nccl-log", "many.log", "--format", "json"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() in (0, 141)  # whether the writer hears of it is up to the system
