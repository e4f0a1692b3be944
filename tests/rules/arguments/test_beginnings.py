"""Flags that are written by their beginning, which the engine's parser completes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from eaglecfg.engines.flags import Flags
from eaglecfg.engines.table import known_versions, load_facts
from eaglecfg.report.catalogue import family_of
from eaglecfg.rules.examples import materialize, read_docs
from eaglecfg.rules.outcome import Report
from eaglecfg.rules.registry import ALL_RULES
from eaglecfg.rules.runner import validate
from eaglecfg.source.read import read_document

EXAMPLES = [
    pytest.param(example, id=f"{rule.id}-{number}")
    for rule in ALL_RULES
    for number, example in enumerate(read_docs(rule).failing)
    if example.get("deployment", {}).get("server")
    and example.keys().isdisjoint({"text", "study", "study_text", "engine_says", "server_says"})
    and rule.id not in ("EC104", "EC301", "EC341")
    and family_of(rule) != "text"
]


def _flags(version: str = "0.5.23") -> Flags:
    facts = load_facts("sglang", version)
    assert facts is not None
    return facts.flags


def _shortest(flags: Flags, name: str) -> str:
    """The shortest beginning that the engine completes to ``name``; the name where none is shorter."""
    found = flags[name].option.removeprefix("--").replace("-", "_") or name
    for length in range(1, len(found)):
        if flags.canonical(found[:length]) == name:
            return found[:length]
    return name


def _check(path: Path) -> Report:
    report = validate([read_document(path, "eaglecfg.yaml")])
    assert not report.crashes
    return report


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_beginning_is_checked_like_the_flag_in_full(example: Mapping[str, Any], tmp_path: Path) -> None:
    path = materialize(example, tmp_path)
    before = _check(path)
    config = yaml.safe_load(path.read_text("utf-8"))
    if any(each.rule.id.startswith("EC1") for each in before.findings):
        return
    flags = _flags(config["engine"]["version"])
    server = config["deployments"]["chat"]["server"]
    short = {
        name: _shortest(flags, flags.canonical(name)) for name in server if flags.canonical(name) in flags
    }
    config["deployments"]["chat"]["server"] = {short.get(name, name): value for name, value in server.items()}
    path.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    after = _check(path)
    found = [
        sorted((each.rule.id, each.finding.message) for each in one.findings if each.rule.id != "EC341")
        for one in (before, after)
    ]
    assert found[1] == found[0]
    told = {each.finding.values["written"] for each in after.findings if each.rule.id == "EC341"}
    assert told == {name for name in short.values() if flags.whole(name) is None}


def _parser(flags: Flags) -> argparse.ArgumentParser:
    """A parser with the options of a version, as the engine makes it: abbreviations allowed."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for name, flag in flags.items():
        aliases = ["--" + alias.lstrip("-").replace("_", "-") for alias in flag.aliases]
        parser.add_argument(flag.option or "--" + name.replace("_", "-"), *aliases, dest=name)
    return parser


@pytest.mark.parametrize("version", [known_versions("sglang")[0], "0.5.14", known_versions("sglang")[-1]])
def test_beginnings_mean_what_argparse_makes_of_them(version: str) -> None:
    flags = _flags(version)
    parser = _parser(flags)
    names = {name[:length] for name in flags for length in (2, 7, 14, len(name) - 1)}
    for name in sorted(names):
        if not name or name.endswith("_"):
            continue
        option = "--" + name.replace("_", "-")
        try:
            taken, left = parser.parse_known_args([f"{option}=x"])
            found = {key for key, value in vars(taken).items() if value == "x"}
        except (argparse.ArgumentError, SystemExit):
            found, left = set(), [option]  # several options begin so
        flag = flags.canonical(name)
        if name in flags and flags[name].option:
            continue  # the field's name, which counts in a file and is no option
        assert ({flag} if flag in flags else set()) == found, (name, left)


def _report(folder: Path, **deployment: Any) -> Report:
    return _check(materialize({"deployment": deployment}, folder))


def test_an_ambiguous_beginning_is_an_error_that_names_what_it_could_be(tmp_path: Path) -> None:
    report = _report(tmp_path, server={"pp": 2})
    found = next(each.finding for each in report.findings if each.rule.id == "EC301")
    assert "beginning of 3 options" in found.message
    assert "--pp-async-batch-depth, --pp-max-micro-batch-size or --pp-size" in found.why


def test_two_beginnings_of_one_flag_are_one_setting(tmp_path: Path) -> None:
    report = _report(tmp_path, parallel={"tp_size": 1}, server={"tp": 1, "tensor_par": 1})
    assert [each.rule.id for each in report.findings].count("EC104") == 2


def test_a_beginning_counts_as_given(tmp_path: Path) -> None:
    report = _report(tmp_path, server={"max_running_requests": None, "max_running_r": 32})
    ids = [each.rule.id for each in report.findings]
    assert "EC312" not in ids
    assert "EC341" in ids


def test_thousands_of_unknown_flags_take_no_time(tmp_path: Path) -> None:
    path = materialize({"deployment": {"server": {f"mem_{n}": n for n in range(900)}}}, tmp_path)
    assert _check(path).findings
