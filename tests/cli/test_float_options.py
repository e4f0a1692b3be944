"""No option of any command takes a number that cannot be counted with."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from eaglecfg.cli.main import COMMANDS, cli, run
from eaglecfg.cli.numbers import FiniteRange
from eaglecfg.cli.tune_views import COMMANDS as VIEWS


def commands() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield (name,), command
    for name, command in VIEWS.items():
        yield ("tune", name), command


FLOATS = [
    (words, option)
    for words, command in commands()
    for option in command.params
    if isinstance(option.type, (click.types.FloatParamType, click.FloatRange))
]


def test_some_options_take_floats() -> None:
    assert {option.opts[0] for _, option in FLOATS} >= {"--time-limit", "--hours", "--live-seconds"}


@pytest.mark.parametrize(("words", "option"), FLOATS, ids=lambda each: getattr(each, "name", None))
def test_every_float_option_has_ends(words: tuple[str, ...], option: click.Parameter) -> None:
    assert isinstance(option.type, FiniteRange)
    assert option.type.min is not None


@pytest.mark.parametrize(
    "text", ["nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "1_5", "", "1.5s"]
)
@pytest.mark.parametrize(("words", "option"), FLOATS, ids=lambda each: getattr(each, "name", None))
def test_what_is_no_number_in_the_range_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], option: click.Parameter, text: str
) -> None:
    assert run([*words, f"{option.opts[0]}={text}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"Invalid value for '{option.opts[0]}'" in err


def test_an_end_that_is_open_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "x.yaml", "--hours", "0"]) == 2
    assert "x>0" in capsys.readouterr().err
