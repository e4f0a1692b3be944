"""Settings as given, as listed, and what NCCL would make of them."""

from __future__ import annotations

import pytest

from eaglecfg.errors import UsageError
from eaglecfg.nccl.bench.setting import (
    DEFAULT,
    MOST_SETTINGS,
    Setting,
    arrange,
    list_names,
    parse_setting,
    ready_list,
    remarks_on,
    reserved,
)

VERSION = "2.28.9"


def test_a_setting_is_variables_as_a_shell_would_take_them() -> None:
    found = parse_setting("NCCL_PROTO=LL NCCL_THREAD_THRESHOLDS='8 8 64'")
    assert found.variables == {"NCCL_PROTO": "LL", "NCCL_THREAD_THRESHOLDS": "8 8 64"}
    assert parse_setting(found.spelled) == found


@pytest.mark.parametrize("text", ["default", " Default "])
def test_default_adds_nothing(text: str) -> None:
    assert parse_setting(text) == Setting(DEFAULT, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "got nothing"),
        ("NCCL_PROTO", "expected NAME=VALUE, got NCCL_PROTO"),
        ("NCCL_PROTO=LL 8", "expected NAME=VALUE, got 8; quote values with spaces"),
        ("=LL", "expected NAME=VALUE"),
        ("NCCL PROTO=LL", "expected NAME=VALUE, got NCCL"),
        ("NCCL_PROTO='LL", "No closing quotation"),
        ("NCCL_PROTO=LL NCCL_PROTO=Simple", "NCCL_PROTO stands there twice"),
        ("NCCL_PROTO=a\0b", "null character"),
        ("ÑCCL=1", "expected NAME=VALUE"),
    ],
)
def test_what_is_no_setting_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_setting(text)


@pytest.mark.parametrize("name", list_names())
@pytest.mark.parametrize("version", ["2.27.5", "2.28.9", "2.29.7", "2.30.7", "2.32.3"])
def test_every_ready_setting_is_taken_as_written(name: str, version: str) -> None:
    settings = ready_list(name)
    assert settings is not None
    assert settings[0] == Setting(DEFAULT, {})
    assert [each for one in settings for each in remarks_on(one, version, {})] == []
    assert len({tuple(one.variables.items()) for one in settings}) == len(settings)


def test_the_common_list_holds_protocols_algorithms_transport_and_threads() -> None:
    names = [each.name for each in ready_list("common") or ()]
    assert names == [
        "default",
        "LL",
        "LL128",
        "Simple",
        "Ring",
        "Tree",
        "P2P off",
        "64 threads",
        "128 threads",
        "256 threads",
        "512 threads",
    ]
    assert ready_list("nosuch") is None


def test_the_default_comes_first_and_equal_settings_once() -> None:
    ll = parse_setting("NCCL_PROTO=LL")
    assert arrange([Setting("LL", {"NCCL_PROTO": "LL"}), ll, parse_setting("default")]) == (
        Setting(DEFAULT, {}),
        Setting("LL", {"NCCL_PROTO": "LL"}),
    )


def test_settings_of_one_name_are_told_apart() -> None:
    one, two = Setting("same", {"NCCL_PROTO": "LL"}), Setting("same", {"NCCL_PROTO": "Simple"})
    names = [each.name for each in arrange([one, two, Setting(DEFAULT, {"NCCL_ALGO": "Ring"})])]
    assert len(set(names)) == 4


def test_more_settings_than_anybody_waits_for_are_refused() -> None:
    many = [parse_setting(f"NCCL_BUFFSIZE={number}") for number in range(MOST_SETTINGS)]
    with pytest.raises(UsageError, match=f"up to {MOST_SETTINGS} settings .* got {MOST_SETTINGS + 1}"):
        arrange(many)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "NCCL_PROTOO=LL",
            "reads no variable NCCL_PROTOO, so it would change nothing; the nearest name is NCCL_PROTO",
        ),
        ("NCL_PROTO=LL", "the nearest name is NCCL_PROTO"),
        ("NCCL_PROTO=LL129", "expected LL, LL128, Simple; NCCL stops at initialisation"),
        ("NCCL_P2P_DISABLE=true", "NCCL reads 0; write NCCL_P2P_DISABLE=1"),
        ("NCCL_BUFFSIZE=4M", "NCCL reads 4; write NCCL_BUFFSIZE=4194304"),
        ("NCCL_P2P_LEVEL=sys", "write NCCL_P2P_LEVEL=SYS"),
        ("NCCL_NTHREADS=100", "NCCL uses 512"),
        ("NCCL_PROTO=", "expected a value"),
        ("NCCL_CHECK_MODE=DEBUG_LOCAL", "does not read NCCL_CHECK_MODE (it does from 2.29.7 on)"),
    ],
)
def test_what_nccl_would_not_take_as_written_is_refused(text: str, words: str) -> None:
    (found,) = remarks_on(parse_setting(text), VERSION, {})
    assert found.refused
    assert words in found.message


@pytest.mark.parametrize("text", ["NCCL_NTHREADS=96", "NCCL_BUFFSIZE=1000001"])
def test_what_nccl_takes_though_nobody_writes_it_is_only_told(text: str) -> None:
    (found,) = remarks_on(parse_setting(text), VERSION, {})
    assert not found.refused


@pytest.mark.parametrize(
    "text", ["NCCL_PROTO=LL", "CUDA_DEVICE_MAX_CONNECTIONS=1", "TORCH_NCCL_HIGH_PRIORITY=1"]
)
def test_what_is_good_is_not_told(text: str) -> None:
    assert remarks_on(parse_setting(text), VERSION, {"NCCL_NVLS_ENABLE": "0"}) == ()


def test_a_variable_that_the_environment_has_too_is_told() -> None:
    (found,) = remarks_on(parse_setting("NCCL_PROTO=LL"), VERSION, {"NCCL_PROTO": "Simple"})
    assert not found.refused
    assert "NCCL_PROTO=Simple holds on this machine" in found.message


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "NCCL_DEBUG_FILE", "MASTER_PORT", "RANK", "PYTHONPATH"])
def test_what_the_benchmark_sets_itself_is_no_setting(name: str) -> None:
    assert reserved(parse_setting(f"NCCL_PROTO=LL {name}=1")) == name
    assert reserved(parse_setting("NCCL_PROTO=LL")) == ""
