"""What NCCL takes a text as, variable by variable and version by version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eaglecfg.nccl.facts import variable_fact, variable_names
from eaglecfg.nccl.parse import parse

VERSIONS = ["2.23.4", "2.27.5", "2.28.9", "2.29.7", "2.30.7", "2.31.2", "2.32.3", "nonsense"]


@pytest.mark.parametrize(
    ("name", "text", "taken", "code", "fixed"),
    [
        ("NCCL_NVLS_ENABLE", "true", 0, "misread", None),
        ("NCCL_MNNVL_ENABLE", "on", 0, "misread", None),
        ("NCCL_CUMEM_ENABLE", "true", 0, "misread", "1"),
        ("NCCL_NVLS_ENABLE", "off", 0, "spelling", "0"),
        ("NCCL_P2P_DISABLE", "false", 0, "spelling", "0"),
        ("NCCL_P2P_DISABLE", "1.0", 1, "spelling", "1"),
        ("NCCL_NTHREADS", "512 # fast", 512, "spelling", "512"),
        ("NCCL_NTHREADS", "0", None, "range", None),
        ("NCCL_NTHREADS", "-2", None, "range", None),
        ("NCCL_NTHREADS", "32", 64, "range", None),
        ("NCCL_LL128_NTHREADS", "-1", None, "range", None),
        ("NCCL_NVLS_ENABLE", "3", 1, "values", None),
        ("NCCL_P2P_DISABLE", "2", 0, "values", None),
        ("NCCL_NVB_DISABLE", "5", 1, "values", None),
        ("NCCL_SHM_LOCALITY", "3", 2, "values", None),
        ("NCCL_GRAPH_MIXING_SUPPORT", "2", None, "values", None),
        ("NCCL_BUFFSIZE", "4M", 4, "misread", "4194304"),
        ("NCCL_BUFFSIZE", "0x400000", 4194304, None, None),
        ("NCCL_BUFFSIZE", "3000000", 3000000, "power", None),
        ("NCCL_MIN_NCHANNELS", "010", 8, "octal", "10"),
        ("NCCL_MIN_NCHANNELS", " 8", 8, "spelling", "8"),
        ("NCCL_MAX_CTAS", "1e1", 1, "misread", "10"),
        ("NCCL_MAX_NCHANNELS", "128", 64, "range", None),
        ("NCCL_NTHREADS", "100", 512, "multiple", None),
        ("NCCL_NTHREADS", "96", 96, "unusual", None),
        ("NCCL_NTHREADS", "1024", 512, "range", None),
        ("NCCL_LL128_BUFFSIZE", "1000000", 1000000, "multiple", None),
        ("NCCL_IB_TIMEOUT", "32", 32, "range", None),
        ("NCCL_P2P_LEVEL", "PHB", "PHB", None, None),
        ("NCCL_P2P_LEVEL", "phb", None, "case", "PHB"),
        ("NCCL_P2P_LEVEL", "PCI", None, "word", None),
        ("NCCL_P2P_LEVEL", "2", "PXB", "number", "PXB"),
        ("NCCL_P2P_LEVEL", "9", "SYS", "number", "SYS"),
        ("NCCL_SOCKET_FAMILY", "af_inet", None, "case", "AF_INET"),
        ("NCCL_DEBUG", "info", "INFO", None, None),
        ("NCCL_NET", "socket", "Socket", None, None),
        ("NCCL_NET", "Infiniband", None, "word", "IB"),
        ("NCCL_THREAD_THRESHOLDS", "8 8 64", (8, 8, 64), None, None),
        ("NCCL_THREAD_THRESHOLDS", "8,8,64", (8,), "word", "8 8 64"),
        ("NCCL_DEBUG_SUBSYS", "INIT, ENV", None, "word", "INIT,ENV"),
        ("NCCL_DEBUG_SUBSYS", "INIT,ENVY", None, "word", None),
        ("NCCL_CTA_POLICY", "ZERO", ("ZERO",), None, None),
        ("NCCL_CTA_POLICY", "ZERO|EFFICIENCY", ("ZERO",), "word", None),
        ("NCCL_SYM_KERNEL", "AllReduce_AGxLL_R", "AllReduce_AGxLL_R", None, None),
        ("NCCL_SYM_KERNEL", "allreduce_agxll_r", None, "case", "AllReduce_AGxLL_R"),
        ("NCCL_NETDEVS_POLICY", "MAX:2", "MAX:2", None, None),
        ("NCCL_NETDEVS_POLICY", "MAX", None, "word", None),
        ("NCCL_PROTO", "", None, "empty", None),
    ],
)
def test_on_2_30_7(name: str, text: str, taken: object, code: str | None, fixed: str | None) -> None:
    parsed = parse(name, text, "2.30.7")
    assert parsed.taken == taken
    assert [problem.code for problem in parsed.problems] == ([code] if code else [])
    assert [problem.fixed for problem in parsed.problems] == ([fixed] if code else [])


def test_a_number_that_does_not_fit_leaves_the_default() -> None:
    parsed = parse("NCCL_BUFFSIZE", "9" * 30, "2.30.7")
    assert parsed.taken is None
    assert parsed.problems[0].code == "overflow"
    assert "4194304" in parsed.shown


@pytest.mark.parametrize(
    ("name", "text", "outcomes"),
    [
        ("NCCL_MAX_NCHANNELS", "48", {"2.23.4": 32, "2.28.9": 48}),
        ("NCCL_MAX_CTAS", "128", {"2.30.7": 64, "2.31.2": None}),
        ("NCCL_MAX_CTAS", "0", {"2.30.7": None}),
        ("NCCL_DEBUG_SUBSYS", "INIT,NOPE", {"2.28.9": "INIT", "2.30.7": None}),
        ("NCCL_CTA_POLICY", "ZERO", {"2.28.9": ("DEFAULT",), "2.29.7": ("ZERO",)}),
        ("NCCL_SYM_KERNEL", "AllReduce_RSxNet_ARxMC_AGxNet", {"2.30.7": None}),
    ],
)
def test_outcomes_that_depend_on_the_version(name: str, text: str, outcomes: dict[str, object]) -> None:
    assert {version: parse(name, text, version).taken for version in outcomes} == outcomes


def test_an_unknown_name_stops_nccl_from_2_24_on_only() -> None:
    old, new = (
        parse("NCCL_ALGO", "Ring,Chain", version).problems[0].outcome for version in ("2.23.4", "2.24.3")
    )
    assert "drops" in old
    assert "stops" in new


def test_names_without_facts_are_taken_as_they_are() -> None:
    parsed = parse("NCCL_SITE_PATCH", "yes", "2.30.7")
    assert (parsed.taken, parsed.problems) == ("yes", ())


@given(
    st.sampled_from(variable_names()),
    st.one_of(st.text(max_size=40), st.text(alphabet=":;,^| 0123456789LNrinegtalduc", max_size=40)),
    st.sampled_from(VERSIONS),
)
def test_never_raises_and_always_says_what_is_taken(name: str, text: str, version: str) -> None:
    parsed = parse(name, text, version)
    assert parsed.text == text
    assert isinstance(parsed.shown, str)
    for problem in parsed.problems:
        assert problem.outcome
        assert problem.expected
        assert (
            problem.fixed is None
            or not parse(name, problem.fixed, "2.30.7").problems
            or problem.fixed != text
        )


@pytest.mark.parametrize("text", ["true", "on", "False", "no", "+2", " 1", "1.0", "02", "4M", "256 # fast"])
def test_what_is_put_in_place_of_a_number_is_read_as_it_stands(text: str) -> None:
    for name in variable_names():
        fact = variable_fact(name)
        assert fact is not None
        for problem in parse(name, text, "2.30.7").problems if fact.kind == "int" else ():
            if problem.fixed is None:
                continue
            again = parse(name, problem.fixed, "2.30.7")
            assert not {"misread", "spelling", "octal"} & {one.code for one in again.problems}
            if problem.code == "spelling":
                assert again.taken == parse(name, text, "2.30.7").taken


def test_a_wish_that_may_be_1_or_automatic_is_not_guessed() -> None:
    guessed = {
        name
        for name in variable_names()
        if any(one.fixed == "1" for one in parse(name, "true", "2.30.7").problems)
    }
    assert {"NCCL_P2P_DISABLE", "NCCL_CUMEM_ENABLE"} <= guessed
    assert not {"NCCL_NVLS_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_PAT_ENABLE"} & guessed
