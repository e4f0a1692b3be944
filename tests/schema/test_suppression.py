"""What a config and a study file accept under ``suppress:``, and the accept length of a deployment."""

from __future__ import annotations

import pytest

from eaglecfg.schema.deployment import Deployment
from eaglecfg.schema.load import load_config
from eaglecfg.schema.load_study import load_study
from eaglecfg.schema.loaded import LoadedConfig, LoadedStudy
from eaglecfg.schema.suppression import Suppression
from eaglecfg.source.read import parse_document
from eaglecfg.source.span import show_path
from tests.schema.test_export import errors
from tests.schema.test_refusals import HEAD
from tests.schema.test_study import STUDY

CONFIG = f"{HEAD}  chat: {{target: {{checkpoint: t}}}}\n"
LINES = """\
suppress:
- {rule: EC301, reason: measured on both}
- rule: 301
  reason: 2.30
  deployment: 07
"""


def config(text: str) -> LoadedConfig:
    return load_config(parse_document(text, "eaglecfg.yaml", "."))


def study(text: str) -> LoadedStudy:
    return load_study(parse_document(text, "study.yaml", "."))


def test_a_config_and_a_study_list_what_they_accept_as_it_is_spelled() -> None:
    meant = (
        Suppression(rule="EC301", reason="measured on both"),
        Suppression(rule="301", reason="2.30", deployment="07"),
    )
    loaded = config(CONFIG + LINES)
    assert (loaded.suppress, loaded.problems) == (meant, ())
    read = study(STUDY + LINES)
    assert read.problems == ()
    assert read.model is not None
    assert tuple(read.model.suppress) == meant


@pytest.mark.parametrize("lines", ["", "suppress:\n", "suppress: []\n"])
def test_nothing_is_accepted_without_a_list(lines: str) -> None:
    loaded, read = config(CONFIG + lines), study(STUDY + lines)
    assert (loaded.suppress, loaded.problems, read.problems) == ((), (), ())
    assert read.model is not None
    assert read.model.suppress == []
    assert errors("eaglecfg.schema.json", CONFIG + lines) == []
    assert errors("study.schema.json", STUDY + lines) == []


@pytest.mark.parametrize(
    ("lines", "kind", "path", "message", "help"),
    [
        ("- {rule: EC1}", "missing-key", "suppress[0].reason", "suppress[0] needs the key reason", "add"),
        ("- {reason: x}", "missing-key", "suppress[0].rule", "suppress[0] needs the key rule", "add"),
        (
            "- {rule: EC1, reason: x, deploy: a}",
            "unknown-key",
            "suppress[0].deploy",
            'suppress[0] has no key "deploy"',
            "the nearest key is deployment",
        ),
        (
            "- EC301",
            "wrong-type",
            "suppress[0]",
            "suppress[0] takes a mapping, not the text",
            "keys such as rule",
        ),
        (
            "{rule: EC1, reason: x}",
            "wrong-type",
            "suppress",
            "suppress takes a list, not a mapping",
            "a list",
        ),
        ("- {rule: [EC1], reason: x}", "wrong-type", "suppress[0].rule", "takes text, not a list", "text"),
        ("- {rule: , reason: x}", "wrong-type", "suppress[0].rule", "takes text, not nothing", "text"),
    ],
)
def test_slips(lines: str, kind: str, path: str, message: str, help: str) -> None:
    text = f"suppress:\n{lines}\n" if lines[0] == "-" else f"suppress: {lines}\n"
    for loaded in (config(CONFIG + text), study(STUDY + text)):
        assert [(p.kind, show_path(p.path)) for p in loaded.problems] == [(kind, path)]
        assert message in loaded.problems[0].message
        assert help in loaded.problems[0].help
    assert config(CONFIG + text).suppress == ()
    assert errors("eaglecfg.schema.json", CONFIG + text)
    assert errors("study.schema.json", STUDY + text)


def test_a_slip_leaves_the_deployments_standing() -> None:
    loaded = config(CONFIG + "suppress: [x]\n")
    assert [each.name for each in loaded.deployments] == ["chat"]


def test_an_accept_length_is_a_number_above_0() -> None:
    text = f"{HEAD}  chat: {{target: {{checkpoint: t}}, expected_accept_length: NUMBER}}\n"
    loaded = config(text.replace("NUMBER", "3"))
    assert loaded.problems == ()
    assert loaded.deployments[0].model.expected_accept_length == 3.0
    for wrong in ("'2.9'", "0", "-1", ".nan", "true", "[3]"):
        [problem] = config(text.replace("NUMBER", wrong)).problems
        assert "expected_accept_length takes a number" in problem.message
        assert wrong == ".nan" or errors("eaglecfg.schema.json", text.replace("NUMBER", wrong))
    assert Deployment.model_validate({"target": {"checkpoint": "t"}}).expected_accept_length is None
