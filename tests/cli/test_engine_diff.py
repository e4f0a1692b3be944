"""``eaglecfg engine-diff``, on an invented wheel that no fact is true of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engines.wheels import write_wheel, zip_wheel

from .conftest import RunLine


def test_a_version_that_is_not_known_is_compared_with_the_nearest(run_line: RunLine, tmp_path: Path) -> None:
    write_wheel(tmp_path)
    code, out, err = run_line("engine-diff", str(tmp_path))
    assert (code, err) == (1, "")
    first = out.splitlines()[0]
    assert first.startswith(
        "wheel of sglang 9.9.9, which is not among the known versions: compared with 0.5."
    )
    assert "WolfForCausalLM" in out
    assert 'acts like {"rule": "plus_one"}' in out
    assert "docs/new-engine-release.md" in out.splitlines()[-1]


def test_json_holds_every_difference_in_full(run_line: RunLine, tmp_path: Path) -> None:
    file = zip_wheel(tmp_path / "sglang-9.9.9-py3-none-any.whl")
    code, out, err = run_line("engine-diff", str(file), "--format", "json", "--facts", "0.5.12")
    report = json.loads(out)
    assert (code, err) == (1, "")
    assert (report["version"], report["facts_of"], report["standing"]) == (1, "0.5.12", "known")
    pins = {one["name"]: one for one in report["differences"] if one["topic"] == "values"}
    assert pins["pins.torch"]["told"] == '"==2.11.0"'
    assert pins["pins.torch"]["found"] == '"==9.0.0"'
    assert pins["pins.torch"]["source"] == "sglang-9.9.9.dist-info/METADATA:1"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.whl"], "there is no wheel nowhere.whl"),
        (["."], "holds no sglang package"),
        (["wheel", "--engine", "vllm"], "vllm"),
        (["broken"], "cannot be read"),
        (["nameless"], "--facts VERSION"),
        ([], "WHEEL"),
    ],
)
def test_what_cannot_be_compared_exits_2(
    run_line: RunLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    write_wheel(tmp_path / "wheel")
    write_wheel(tmp_path / "broken", change=("class ServerArgs:", "class ServerArgs"))
    package = write_wheel(tmp_path / "nameless")
    (package.parent / "sglang-9.9.9.dist-info" / "METADATA").unlink()
    monkeypatch.chdir(tmp_path)
    code, out, err = run_line("engine-diff", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
