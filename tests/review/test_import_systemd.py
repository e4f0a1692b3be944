"""Units are read as systemd.service(5), systemd.exec(5) and systemd.syntax(7) say."""

from __future__ import annotations

import pytest

from eaglecfg.errors import UsageError
from tests.review.imported import imported, only, told

SERVER = "/usr/bin/python3 -m sglang.launch_server --model-path org/m"


def unit(*settings: str, start: str = "", program: str = SERVER) -> str:
    return "\n".join(["[Service]", *settings, f"ExecStart={program} {start}", ""])


@pytest.mark.parametrize(
    ("start", "tp"),
    [
        ("--tp ${TP}", 4),
        ("--tp=${TP}", 4),
        ("--tp $TP", 4),
        ('--tp "$TP"', 4),
        ("--tp '${TP}'", 4),
        ("$FLAGS", 4),
        ("--t'p' 4", 4),
        ("--tp \\x34", 4),
        ("--tp '\\64'", None),
        ("--tp '\\064'", 4),
    ],
)
def test_variables_quotes_and_escapes_of_a_command(start: str, tp: int | None) -> None:
    text = unit("Environment=TP=4 'FLAGS=--tp 4'", start=start)
    if tp is None:
        assert "parallel" not in only(text)
    else:
        assert only(text)["parallel"] == {"tp_size": tp}
        assert not imported(text)[0].left_open


@pytest.mark.parametrize(
    ("start", "value"),
    [
        ("${NAME}-x", "chat-x"),
        ("$NAME", "chat"),
        ("$$NAME", "$NAME"),
        ("$${NAME}", "${NAME}"),
        ("x$NAME", "x$NAME"),
        ("x$NAME-${NAME}", "x$NAME-chat"),
        ("'a b'", "a b"),
        ('"a \\"b\\""', 'a "b"'),
        ("a\\sb", "a b"),
        ("a&b;c|d>(e)", "a&b;c|d>(e)"),
        ("\\;", ";"),
        ("50%%", "50%"),
        ("`x`", "`x`"),
        ("#x", "#x"),
        ("~/x", "~/x"),
    ],
)
def test_a_word_comes_to_what_systemd_makes_of_it(start: str, value: str) -> None:
    text = unit("Environment=NAME=chat", start=f"--served-model-name {start}")
    assert only(text)["server"]["served_model_name"] == value
    inside = "$NAME" in value and "$$" not in start
    assert any("systemd expands ${NAME} inside a word" in line for line in told(text)) == (
        inside or start == "$$NAME"
    )


@pytest.mark.parametrize(
    ("start", "todo"),
    [
        ("--served-model-name $NAME/x", "$NAME/x is not known"),
        ("--served-model-name ${OTHER}", "OTHER is not known"),
        ("--served-model-name $OTHER", "OTHER is not known"),
        ("--served-model-name a-%H", "%H is not known"),
        ("--served-model-name %i", "%i is not known"),
        ("$OTHER", "${OTHER} is not known here: it may hold flags"),
    ],
)
def test_what_only_systemd_can_tell_is_a_todo(start: str, todo: str) -> None:
    result, _ = imported(unit("Environment=NAME=chat", start=start))
    assert result.left_open
    assert any(todo in line or todo.replace(" is not known", "") in line for line in told(unit(start=start)))


def test_a_colon_turns_variables_off_and_an_at_names_the_program() -> None:
    text = unit("Environment=TP=4", program=f":{SERVER}", start="--served-model-name ${TP}")
    assert only(text)["server"]["served_model_name"] == "${TP}"
    text = unit("Environment=TP=4", program=f"-@{SERVER.replace(' -m', ' A=1 -m', 1)}", start="--tp ${TP}")
    assert only(text)["parallel"] == {"tp_size": 4}
    assert only(text)["env"] == {"TP": "4"}


def test_an_inner_shell_gets_what_systemd_leaves() -> None:
    inner = "python3 -m sglang.launch_server --model-path org/m --tp"
    docker = f"/usr/bin/docker run -e TP=8 img bash -c '{inner}"
    assert only(unit("Environment=TP=2", program=f"{docker} ${{TP}}'"))["parallel"] == {"tp_size": 2}
    assert only(unit("Environment=TP=2", program=f"{docker} $TP'"))["parallel"] == {"tp_size": 8}
    assert only(unit("Environment=TP=2", program=f"{docker} $${{TP}}'"))["parallel"] == {"tp_size": 8}
    assert "parallel" not in only(unit(program=f"{docker} ${{TP}}'"))
    assert only(unit("Environment=TP=2", program=f"/bin/sh -c '{inner} $TP'"))["parallel"] == {"tp_size": 2}
    text = unit(program=f"/bin/sh -c '{inner} 2 --served-model-name %H'")
    assert only(text)["parallel"] == {"tp_size": 2}
    assert any("TODO --served-model-name is not known: %H" in line for line in told(text))


def test_commands_of_one_line() -> None:
    text = unit("Type=oneshot", program=f"/bin/x ; {SERVER}", start="--tp 2 ; /bin/true")
    assert only(text)["parallel"] == {"tp_size": 2}


@pytest.mark.parametrize(
    ("settings", "env"),
    [
        (["Environment=A=1", "Environment=A=2 B=3"], {"A": "2", "B": "3"}),
        (["Environment=A=1", "Environment="], None),
        (["UnsetEnvironment=A", "Environment=A=1 B=2"], {"B": "2"}),
        (["Environment=A=1", "UnsetEnvironment=A=2"], {"A": "1"}),
        (["Environment=A=1", "UnsetEnvironment=A=1"], None),
        (["UnsetEnvironment=A", "UnsetEnvironment=", "Environment=A=1"], {"A": "1"}),
        (["Environment=A=1", "PassEnvironment=A"], {"A": "1"}),
        (["PassEnvironment=A"], {"A": "${A}"}),
        (["PassEnvironment=A", "PassEnvironment="], None),
        (["EnvironmentFile=/x", "EnvironmentFile=", "Environment=A=1"], {"A": "1"}),
        (['Environment="A=1 2" \'B=x "y"\' C=$D'], {"A": "1 2", "B": 'x "y"', "C": "$D"}),
        (["Environment=A=1 \\", "# a remark", "  B=2"], {"A": "1", "B": "2"}),
    ],
)
def test_the_environment_is_put_together_as_systemd_does(settings: list[str], env: object) -> None:
    text = unit(*settings)
    assert only(text).get("env") == env
    assert not imported(text)[0].left_open


def test_a_file_that_is_not_read_replaces_what_stands_in_the_unit() -> None:
    text = unit("Environment=A=1", "EnvironmentFile=-/etc/x.env")
    (line,) = [line for line in told(text) if "x.env" in line]
    assert line.startswith("TODO /etc/x.env is not read")
    assert "replace those of Environment=" in line


def test_a_quote_that_is_never_closed_is_refused_with_its_line() -> None:
    with pytest.raises(UsageError, match="line 3: a single quote is opened and never closed"):
        imported(unit("Environment=A=1", start="--served-model-name 'x"))
