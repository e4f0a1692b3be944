"""``eaglecfg init``: a file that validates, of what the checkpoints' files say and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import materialize
from eaglecfg.schema.load import load_config
from eaglecfg.schema.loaded import LoadedConfig
from eaglecfg.source.read import parse_document

ROOT = Path(__file__).parents[2]
TINY = ROOT / "examples" / "tiny"


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small pair, target/ and draft/, and no config; the current folder of the test."""
    materialize({"title": "pair"}, tmp_path)
    (tmp_path / "eaglecfg.yaml").unlink()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, LoadedConfig, str]:
    """Text, config and stderr of an init that works."""
    assert run(["init", *arguments]) == 0
    out, err = capsys.readouterr()
    config = load_config(parse_document(out, "eaglecfg.yaml", "."))
    assert config.problems == ()
    assert config.document.problems == ()
    return out, config, err


def test_the_file_says_what_the_checkpoints_say_and_validates(
    pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, config, err = made(capsys, "target", "draft", "--engine-version", "0.5.14", "--tp-size", "2")
    (one,) = config.deployments
    target = json.loads((pair / "target" / "config.json").read_text())
    draft = json.loads((pair / "draft" / "config.json").read_text())
    ids = draft["eagle_config"]["eagle_aux_hidden_state_layer_ids"]
    assert one.model.target.hidden_size == target["hidden_size"]
    assert one.model.target.num_hidden_layers == target["num_hidden_layers"]
    assert one.model.draft is not None
    assert one.model.draft.fc_input_width == len(ids) * target["hidden_size"]
    assert one.model.capture.layer_ids == ids
    assert one.model.parallel.tp_size == 2
    assert text.startswith("# yaml-language-server: $schema=schemas/eaglecfg.schema.json\n")
    assert "validate finds 0 errors" in err
    (pair / "eaglecfg.yaml").write_text(text)
    assert run(["validate", "--format", "concise"]) == 0


def test_trained_boundaries_are_written_only_from_a_record(
    pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = pair / "draft" / "eaglecfg-training.json"
    record.unlink(missing_ok=True)
    text, config, _ = made(capsys, "target", "draft")
    assert config.deployments[0].model.capture.trained_boundaries is None
    assert "# trained_boundaries: [_, _, _]" in text
    assert "only who trained it knows" in text
    record.write_text('{"version": 1, "boundaries": [1, 2, 3]}')
    text, config, err = made(capsys, "target", "draft")
    assert config.deployments[0].model.capture.trained_boundaries == [1, 2, 3]
    assert "eaglecfg-training.json" in text
    assert "validate finds 1 error" in err, "the ids of the draft capture other boundaries"


def test_a_target_alone_runs_without_speculation(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, config, _ = made(capsys, "target", "off", "--name", "no: 1")
    (one,) = config.deployments
    assert (one.name, one.model.speculative, one.model.draft) == ("no: 1", "off", None)
    assert "capture" not in text


def test_paths_count_from_the_file_that_is_written(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pair / "deploy").mkdir()
    assert run(["init", "target", "./draft/", "--output", "deploy/chat.yaml"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "wrote deploy/chat.yaml" in err
    text = (pair / "deploy" / "chat.yaml").read_text()
    assert "checkpoint: ../target" in text.replace('"', "")
    assert "checkpoint: ../draft" in text.replace('"', "")
    assert run(["validate", "deploy/chat.yaml", "--format", "concise"]) == 0
    assert run(["init", "target", "draft", "--output", "deploy/chat.yaml"]) == 2
    assert "is not overwritten" in capsys.readouterr().err
    assert (pair / "deploy" / "chat.yaml").read_text() == text


def test_hub_ids_are_taken_as_they_are(
    pair: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HOME", str(pair / "no-cache"))
    text, config, err = made(capsys, "org/Target-7B", "org/draft")
    assert (config.deployments[0].name, config.deployments[0].model.target.checkpoint) == (
        "target-7b",
        "org/Target-7B",
    )
    assert "not in the local hub cache" in text
    assert "what it names could not all be read" in err


def test_files_of_the_example_pair_come_out_as_its_own_config_has_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    text, config, err = made(
        capsys, "examples/tiny/target", "examples/tiny/draft", "--engine-version", "0.5.14"
    )
    assert config.deployments[0].name == "tiny"
    assert "trained_boundaries: [2, 4, 6]" in text
    assert "# sglang 0.5.14 captures boundaries [2, 4, 6]" in text
    assert "validate finds 0 errors" in err


@pytest.mark.parametrize(
    "config", ["", "[]", '{"architectures": [5], "hidden_size": "x"}', "{}", '{"a": ' * 500]
)
def test_broken_checkpoints_give_a_file_and_a_count(
    config: str, pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("target", "draft"):
        (pair / name / "config.json").write_text(config)
        for path in (pair / name).glob("*.safetensors*"):
            path.write_bytes(b"\0" * 4)
    text, _, err = made(capsys, "target", "draft")
    assert "fc_input_width" not in text
    assert "validate finds" in err


def test_an_odd_folder_name_is_spelled_so_that_it_is_found(
    pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "no: 'x' #1 \"é\" $A"
    shutil.move(pair / "target", pair / odd)
    _, config, err = made(capsys, odd, "draft", "--schema", "x y\nz")
    assert config.deployments[0].model.target.checkpoint == odd
    assert "could not all be read" not in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["target"], "DRAFT"),
        (["nowhere", "draft"], "there is no such folder"),
        (["target", "no/such/folder"], "there is no such folder"),
        (["target/config.json", "draft"], "this is a file"),
        (["target", "draft", "--engine-version", "latest"], "latest"),
        (["target", "draft", "--engine-version", "installed"], "has no sglang"),
        (["target", "draft", "--tp-size", "0"], "--tp-size"),
        (["target", "draft", "--output", "no/such/x.yaml"], "there is no folder"),
        (["target", "draft", "--output", "draft"], "is not overwritten"),
        (["", "draft"], "no hub id"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str], says: str, pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
