from __future__ import annotations

from pathlib import Path

import pytest

from eaglecfg.engines.disagreements import Comparison, compare
from eaglecfg.engines.table import load_facts
from eaglecfg.engines.wheel_open import opened
from eaglecfg.engines.wheel_refusals import read_messages
from eaglecfg.engines.wheel_values import wheel_version
from eaglecfg.errors import UsageError
from eaglecfg.record import replace

from .wheels import FILES, wheel_facts, write_wheel, zip_wheel


def compared(folder: Path, **changes: tuple[str, str]) -> Comparison:
    return compare(wheel_facts(), write_wheel(folder, **changes))


def test_facts_that_are_true_of_the_wheel_have_no_difference(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert found.disagreements == []
    assert found.unread == []
    assert found.compared == {
        "flags": 3,
        "targets": 1,
        "id rules": 1,
        "default boundaries": 1,
        "drafts": 1,
        "architectures": 3,
        "values": 7,
        "refusals": 0,
    }


CHANGES = [
    ("flags", "kernel default", ('kernel: str = "plain"', 'kernel: str = "fast"'), '"plain"', '"fast"'),
    ("flags", "kernel choices", ('["plain", "fast"]', '["plain", "new"]'), "with fast", "with new"),
    ("flags", "model_path aliases", ('"--model-path", "--model"', '"--model-path"'), "with model", ""),
    ("flags", "steps type", ('"--steps", type=int', '"--steps", type=float'), '"int"', '"float"'),
    ("flags", "steps", ('parser.add_argument("--steps", type=int, default=ServerArgs.steps)', "pass"),
     "int, default null", ""),
    ("default boundaries", "WolfForCausalLM, 24 layers, no ids", ("[2, n // 2, n - 3]", "[3, n // 2, n - 3]"),
     "[2, 12, 21]", "[3, 12, 21]"),
    ("drafts", "WolfForCausalLMEagle3 fc_bias", ("config.hidden_size", "config.hidden_size + config.fc_bias"),
     "", "read"),
    ("architectures", "PlainForCausalLM", ("[WolfForCausalLM, PlainForCausalLM]", "[WolfForCausalLM]"),
     "registered", ""),
    ("values", "auto_shape.otherwise", ("return (3, 1, 4)", "return (4, 1, 5)"), "[3, 1, 4]", "[4, 1, 5]"),
    ("values", "auto_shape.by_architecture.LynxForCausalLM", (', "LynxForCausalLM"]', "]"), "[5, 4, 8]", ""),
    ("values", "algorithms EAGLE", ("EAGLE3 = auto()", "EAGLE3 = auto()\n    EAGLE = auto()"),
     "", "listed"),
    ("values", "draft_backends fast", (', "fast": self._fast', ""), "listed", ""),
    ("values", "meta_info.correct_drafts", ("spec_num_correct_drafts", "spec_accepted_drafts"),
     '"spec_num_correct_drafts"', '"spec_accepted_drafts"'),
    ("values", "pins.torch", ("torch==9.0.0", "torch==9.1.0"), '"==9.0.0"', '"==9.1.0"'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("topic", "name", "change", "told", "found"), CHANGES, ids=[f"{one[0]}-{one[1]}" for one in CHANGES]
)
def test_a_changed_wheel_differs_there_and_nowhere_else(
    tmp_path: Path, topic: str, name: str, change: tuple[str, str], told: str, found: str
) -> None:
    disagreements = compared(tmp_path, change=change).disagreements
    assert [(one.topic, one.name, one.told, one.found) for one in disagreements] == [
        (topic, name, told, found)
    ]
    assert disagreements[0].source or topic == "architectures"


def test_a_changed_id_rule_is_named_with_the_rule_that_it_follows_now(tmp_path: Path) -> None:
    change = (
        "[one + 1 for one in layer_ids]",
        "[one + 1 for one in layer_ids] if layer_ids and layer_ids[0] == 1 else layer_ids",
    )
    refused = compared(tmp_path / "a", change=change).disagreements
    assert [one.topic for one in refused] == ["id rules"]
    assert "IfExp in a capture setter" in refused[0].found
    branch = """if layer_ids and layer_ids[0] == 1:
                layer_ids = [one + 1 for one in layer_ids]
            self.model.layers_to_capture = layer_ids"""
    change = ("self.model.layers_to_capture = [one + 1 for one in layer_ids]", branch)
    changed = compared(tmp_path / "b", change=change).disagreements
    assert [one.topic for one in changed] == ["id rules"]
    assert '"plus_one_if_first_is_one"' in changed[0].hint


def test_a_rule_that_no_fact_knows_is_for_a_person_to_read(tmp_path: Path) -> None:
    changed = compared(tmp_path, change=("one + 1 for one", "one - 1 for one")).disagreements
    assert [one.topic for one in changed] == ["id rules"]
    assert "no known rule" in changed[0].hint


def test_a_new_target_class_comes_with_the_row_that_its_setter_suggests(tmp_path: Path) -> None:
    change = ("[WolfForCausalLM, PlainForCausalLM]", "[WolfForCausalLM, PlainForCausalLM, HuskyForCausalLM]")
    husky = (
        "class PlainForCausalLM",
        "class HuskyForCausalLM(WolfForCausalLM):\n    pass\n\n\nclass PlainForCausalLM",
    )
    found = compared(tmp_path, change=change, husky=husky).disagreements
    assert [(one.topic, one.name) for one in found] == [
        ("targets", "HuskyForCausalLM"),
        ("architectures", "HuskyForCausalLM"),
    ]
    assert '{"rule": "plus_one"}' in found[0].hint


def test_a_class_that_lost_its_setter_is_said_once(tmp_path: Path) -> None:
    found = compared(tmp_path, change=("def set_eagle3_layers_to_capture", "def set_nothing")).disagreements
    assert [(one.topic, one.name, one.found) for one in found] == [("targets", "WolfForCausalLM", "")]


def test_code_that_moved_away_is_not_taken_for_agreement(tmp_path: Path) -> None:
    found = compared(tmp_path, change=("def auto_choose_speculative_params", "def pick")).disagreements
    assert [(one.name, one.found) for one in found] == [("auto_shape", "not found")]


def test_a_wheel_file_reads_like_its_folder(tmp_path: Path) -> None:
    file = zip_wheel(tmp_path / "sglang-9.9.9-py3-none-any.whl", {"sglang/srt/models/../../../x.py": "1 +"})
    with opened(file) as package:
        assert wheel_version(package) == "9.9.9"
        assert compare(wheel_facts(), package).disagreements == []
        space = package.parent
    assert not space.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [file.name]


def test_a_folder_is_found_from_the_package_too(tmp_path: Path) -> None:
    package = write_wheel(tmp_path)
    for path in (tmp_path, package):
        with opened(path) as found:
            assert found == package


def test_what_is_no_wheel_is_a_usage_error(tmp_path: Path) -> None:
    text = tmp_path / "notes.whl"
    text.write_text(FILES["sglang/srt/models/wolf.py"])
    for path, says in ((tmp_path / "nothing.whl", "there is no wheel"), (text, "cannot be read as a wheel"),
                       (tmp_path, "holds no sglang package")):  # fmt: skip
        with pytest.raises(UsageError, match=says), opened(path):
            pass


def test_a_wheel_of_too_much_text_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eaglecfg.engines.wheel_open.MOST_BYTES", 1000)
    file = zip_wheel(tmp_path / "sglang.whl")
    with pytest.raises(UsageError, match="more than any wheel"), opened(file):
        pass


def test_a_setter_that_cannot_run_alone_is_never_taken_for_agreement(tmp_path: Path) -> None:
    handed_on = "return self.model.built_elsewhere.set_eagle3_layers_to_capture(layer_ids)\n        self."
    change = ("self.capture_aux_hidden_states", handed_on + "capture_aux_hidden_states")
    package = write_wheel(tmp_path, change=change)
    (found,) = compare(wheel_facts(), package).disagreements
    assert (found.topic, found.hint) == ("id rules", "read the setter by hand")
    assert "built_elsewhere of a model that is built elsewhere" in found.found
    facts = wheel_facts()
    inferred = {name: replace(fact, inferred=True) for name, fact in facts.captures.items()}
    admitted = compare(replace(facts, captures=inferred), package)
    assert admitted.disagreements == []
    assert [line.partition(":")[0] for line in admitted.unread] == ["WolfForCausalLM"]


CHECKS = """
def check_server_args(self):
    assert self.tokenizer_worker_num > 0, (
        "Tokenizer worker "
        "num must >= 1"
    )
    if self.enable_pdmux:
        raise ValueError(f"PD-Multiplexing is not compatible with {self.mode}.")
"""


def test_checks_are_found_by_the_words_that_the_engine_stops_with(tmp_path: Path) -> None:
    facts = load_facts("sglang", "0.5.14")
    assert facts is not None
    package = write_wheel(tmp_path)
    arguments = package / "srt" / "server_args.py"
    arguments.write_text(arguments.read_text(encoding="utf-8") + CHECKS, encoding="utf-8")
    assert any("compatible with {self.mode}." in text for text in read_messages(package))
    found = compare(facts, package)
    gone = {one.name: one for one in found.disagreements if one.topic == "refusals"}
    assert "tokenizer_worker_num" not in gone
    assert gone["detokenizer_worker_num"].told == "Detokenizer worker num must >= 1"
    assert found.compared["refusals"] == 1
