"""What ``validate --live`` makes of servers that answer, and of what they say."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from live_servers import Answer, Handler, generation, info, scripted

from eaglecfg.cli.main import run
from eaglecfg.rules.examples import BASE_SERVER, materialize

DATA = Path(__file__).parent / "data"
RECORDED: Mapping[str, Any] = json.loads(
    (DATA / "sglang-0.5.14-server-info.json").read_text(encoding="utf-8")
)
GOOD = {**BASE_SERVER, "version": "0.5.14", "skip_tokenizer_init": False}
Check = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def check(config: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Compare a scripted server with the config: exit code and the JSON report."""

    def _check(script: Mapping[str, Answer], *options: str) -> tuple[int, dict[str, Any]]:
        with scripted(script) as server:
            code = run(["validate", "--format", "json", "--live", server.url, *options])
        return code, json.loads(capsys.readouterr().out)

    return _check


def found(report: Mapping[str, Any]) -> dict[str, str]:
    """Rule id to message of the findings about the server."""
    return {
        each["rule"]: each["message"] for each in report["findings"] if "EC851" <= each["rule"] <= "EC869"
    }


def undecided(report: Mapping[str, Any]) -> dict[str, str]:
    return {
        each["rule"]: each["reason"] for each in report["not_checked"] if "EC851" <= each["rule"] <= "EC869"
    }


def server(settings: Mapping[str, Any] = GOOD, answer: Answer | None = None) -> dict[str, Answer]:
    return {"/server_info": info(**settings), "/generate": answer or generation()}


def test_a_server_that_runs_the_config_gives_no_finding(check: Check) -> None:
    code, report = check(server())
    assert code == 0
    assert found(report) == {}
    assert list(undecided(report)) == ["EC858"]
    assert "write expected_accept_length: 2.50" in next(
        each["help"] for each in report["not_checked"] if each["rule"] == "EC858"
    )


def test_the_expectation_decides(config: Path, check: Check) -> None:
    materialize({"engine": "0.5.14", "deployment": {"expected_accept_length": 2.5}}, config.parent)
    assert undecided(check(server())[1]) == {}
    code, report = check(server(answer=generation(correct=20)))
    assert code == 1
    assert found(report)["EC858"].startswith("silent loss: the server at http://127.0.0.1")
    assert "accepts 1.50 [1.50, 1.50] over 24 requests" in found(report)["EC858"]
    assert "40 % fewer tokens per verify step" in found(report)["EC858"]
    code, report = check(server(answer=generation(correct=100)))
    assert (code, list(found(report))) == (0, ["EC858"]), "more than expected is worth knowing"


def test_a_wide_interval_decides_nothing(config: Path, check: Check) -> None:
    materialize({"engine": "0.5.14", "deployment": {"expected_accept_length": 2.5}}, config.parent)
    turns = iter(range(1000))

    def uneven(handler: Handler) -> None:
        generation(correct=10 if next(turns) % 2 else 90)(handler)

    code, report = check(server(answer=uneven), "--live-requests", "6")
    assert code == 0
    assert undecided(report)["EC858"].startswith("cannot be told") or found(report) == {}
    code, report = check(server(answer=generation(correct=20)), "--live-requests", "3")
    assert undecided(report)["EC858"].startswith("too few requests for an interval: 1.50 over 3 requests")


def test_next_to_no_acceptance_is_the_sign_of_wrong_wiring(config: Path, check: Check) -> None:
    code, report = check(server(answer=generation(correct=1)))
    assert (code, list(found(report))) == (1, ["EC859"])
    materialize({"engine": "0.5.14", "deployment": {"expected_accept_length": 2.5}}, config.parent)
    _, report = check(server(answer=generation(correct=1)))
    assert list(found(report)) == ["EC859"], "one cause, one finding: the one that says where to look"
    assert "where 2.5 was measured before" in found(report)["EC859"]
    assert any(each["rule"] == "EC858" for each in report["dropped"])


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        ({"version": "0.5.12"}, "EC852", "0.5.12 runs at"),
        ({"model_path": "/models/elsewhere"}, "EC853", "runs the target /models/elsewhere"),
        ({"speculative_num_steps": 1}, "EC854", "speculative_num_steps 1"),
        ({"speculative_algorithm": None}, "EC854", "speculative_algorithm off"),
        ({"tp_size": 2}, "EC855", "tp_size 2"),
        ({"enable_metrics": True}, "EC861", "enable_metrics true"),
        ({"reference": {"boundaries": [0, 3, 6]}}, "EC856", "[0, 3, 6]"),
    ],
)
def test_drift_is_named(change: Mapping[str, Any], rule: str, words: str, check: Check) -> None:
    _, report = check(server({**GOOD, **change}), "--live-requests", "0")
    assert words in found(report)[rule]
    assert set(found(report)) == {rule}


def test_what_the_engine_rewrites_as_expected_is_no_drift(config: Path, check: Check) -> None:
    shape = {"num_steps": 2}
    materialize({"engine": "0.5.14", "deployment": {"speculative": shape}}, config.parent)
    _, report = check(server({**GOOD, "speculative_num_steps": 2, "speculative_num_draft_tokens": 3}))
    assert found(report) == {}, "4 draft tokens were asked for, and 3 are what two steps give"
    _, report = check(server({**GOOD, "speculative_num_steps": 2, "speculative_num_draft_tokens": 4}))
    assert "(asked for 4)" in found(report)["EC854"]


def test_a_real_answer_of_sglang_fits_a_config_of_what_it_ran(
    config: Path, check: Check, tmp_path: Path
) -> None:
    flags = {"attention_backend": "triton", "sampling_backend": "pytorch", "mem_fraction_static": 0.3}
    materialize(
        {"engine": "0.5.14", "deployment": {"server": {**flags, "max_running_requests": 16}}}, tmp_path
    )
    prompts = tmp_path / "ids.jsonl"
    prompts.write_text('{"input_ids": [1, 2, 3]}\n' * 6, encoding="utf-8")
    script = server(RECORDED)
    code, report = check(script, "--live-prompts", str(prompts))
    assert (code, found(report)) == (0, {})
    code, report = check(script)
    assert "takes token ids only" in undecided(report)["EC857"]
    materialize(
        {"engine": "0.5.14", "deployment": {"server": {**flags, "max_running_requests": 32}}}, tmp_path
    )
    _, report = check(script, "--live-requests", "0")
    assert found(report) == {
        "EC855": "the server at "
        + found(report)["EC855"].split("the server at ")[1].split(" ")[0]
        + " runs max_running_requests 16; the config asks for 32"
    }


@pytest.mark.parametrize(
    "change", [lambda data: data[:200] + b"\xff" + data[201:], lambda data: data + b"\0"]
)
def test_other_weights_in_a_folder_of_the_same_name_are_named(
    change: Callable[[bytes], bytes], config: Path, check: Check
) -> None:
    twin = config.parent / "elsewhere" / "draft"
    shutil.copytree(config.parent / "draft", twin)
    running = server({**GOOD, "speculative_draft_model_path": str(twin)})
    assert "EC853" not in found(check(running, "--live-requests", "0")[1])
    weights = twin / "model.safetensors"
    weights.write_bytes(change(weights.read_bytes()))
    code, report = check(running, "--live-requests", "0")
    assert code == 1
    assert "model.safetensors is another than that of draft.checkpoint draft" in found(report)["EC853"]


def test_a_key_that_only_generation_asks_for_is_named(check: Check) -> None:
    def refuse(handler: Handler) -> None:
        handler.send_json({"error": {"message": "Unauthorized"}}, 401)

    _, report = check(server(GOOD, refuse))
    (told,) = [each for each in report["findings"] if each["rule"] == "EC857"]
    assert "--live-key" in told["help"]


@pytest.mark.parametrize("version", ["0.5.13", "0.5.17", "0.5.23"])
def test_real_answers_of_other_versions_show_no_drift_from_what_was_asked(
    version: str, config: Path, check: Check, tmp_path: Path
) -> None:
    recorded = json.loads((DATA / f"sglang-{version}-server-info.json").read_text(encoding="utf-8"))
    flags = {"device": "cpu", "attention_backend": "torch_native", "max_running_requests": 16}
    flags |= {"max_total_tokens": 32768, "disable_overlap_schedule": True, "disable_cuda_graph": True}
    shape = {"num_steps": 2, "num_draft_tokens": 3}
    materialize({"engine": version, "deployment": {"server": flags, "speculative": shape}}, tmp_path)
    _, report = check(server(recorded), "--live-requests", "0")
    assert found(report) == {}
    flags["disable_cuda_graph"] = None
    materialize({"engine": version, "deployment": {"server": flags, "speculative": shape}}, tmp_path)
    _, report = check(server(recorded), "--live-requests", "0")
    assert set(found(report)) == {"EC861"}
    assert "disable_cuda_graph true" in found(report)["EC861"]


@pytest.mark.parametrize(
    "meta",
    [
        {"spec_num_correct_drafts": None, "spec_accepted_drafts": 60},
        {"spec_num_correct_drafts": None, "spec_accept_token_num": 60},
        {"spec_num_correct_drafts": None, "spec_accept_rate": 0.5},
        {"spec_num_correct_drafts": None, "completion_tokens": 101},
    ],
    ids=["0.5.11", "0.5.9", "0.5.4", "completion tokens"],
)
def test_counters_of_other_versions_come_to_the_same(
    meta: Mapping[str, Any], config: Path, check: Check
) -> None:
    materialize({"engine": "0.5.14", "deployment": {"expected_accept_length": 2.5}}, config.parent)
    code, report = check(server(answer=generation(**meta)))
    assert (code, found(report), undecided(report)) == (0, {}, {})


def test_an_old_server_knows_the_old_path_only(check: Check) -> None:
    script = {"/get_server_info": info(**GOOD), "/generate": generation()}
    assert check(script)[0] == 0
    assert found(check(script)[1]) == {}


def test_a_server_behind_a_path(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with scripted({f"/pool/a{path}": answer for path, answer in server().items()}) as running:
        assert run(["validate", "--live", f"{running.url}/pool/a/"]) == 0


def test_failed_requests_are_told_and_the_rest_is_not_sent(check: Check) -> None:
    def broken(handler: Handler) -> None:
        handler.send_json({"error": {"message": "CUDA out of memory, key hf_abcdefghijklmnopqrstuv"}}, 500)

    code, report = check(server(answer=broken))
    assert code == 1
    told = found(report)["EC857"]
    assert "failed the first 3 requests, and the other 21 of 24 were not sent: HTTP 500: CUDA out" in told
    assert "hf_abcdef" not in json.dumps(report)
    assert "EC858" in undecided(report)


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({"completion_tokens": 3}, "3 of 64 tokens although ignore_eos was set"),
        ({"finish_reason": {"type": "abort", "message": "overloaded"}}, "aborted: overloaded"),
    ],
)
def test_answers_that_are_not_what_was_asked_for_are_failures(
    meta: Mapping[str, Any], words: str, check: Check
) -> None:
    assert words in found(check(server(answer=generation(**meta)))[1])["EC857"]


def test_a_router_that_drops_the_counters(check: Check) -> None:
    none = generation(spec_verify_ct=None)
    assert "none of 24 answers counts verify steps" in found(check(server(answer=none))[1])["EC860"]


def test_the_prompts_of_the_study_are_asked(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = config.parent
    aside = materialize({"study": {}}, folder / "aside").with_name("study.yaml").read_text(encoding="utf-8")
    (folder / "studies").mkdir()
    text = aside.replace("config: eaglecfg.yaml", "config: ../eaglecfg.yaml")
    (folder / "studies" / "night.yaml").write_text(text, encoding="utf-8")
    lines = "".join(f'{{"input_ids": [{number}]}}\n' for number in range(1, 41))
    (folder / "studies" / "prompts.jsonl").write_text(lines, encoding="utf-8")
    asked = []

    def remember(handler: Handler) -> None:
        asked.append(handler.body)
        generation()(handler)

    with scripted(server(answer=remember)) as running:
        assert run(["validate", "--live", running.url, "--live-requests", "8"]) == 0
    assert sorted(body["input_ids"][0] for body in asked) == [1, 6, 11, 16, 21, 26, 31, 36]
    assert {body["sampling_params"]["max_new_tokens"] for body in asked} == {64}
    assert all(body["sampling_params"]["temperature"] == 0 for body in asked)
    assert "prompts of studies/night.yaml, 64 tokens each" in capsys.readouterr().err


def test_without_speculation_nothing_is_expected_of_the_draft(config: Path, check: Check) -> None:
    materialize({"engine": "0.5.14", "deployment": {"speculative": "off"}}, config.parent)
    off = {name: None if name.startswith("speculative") else value for name, value in GOOD.items()}
    code, report = check(server(off, generation(spec_verify_ct=None)))
    assert (code, found(report), undecided(report)) == (0, {}, {})
