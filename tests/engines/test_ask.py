from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from eaglecfg.engines.ask import EngineSays, ask
from eaglecfg.errors import UsageError

from .invented import write_engine

ARGV = ["--model-path", "target", "--speculative-num-steps", "3", "--tp-size", "2"]


def asked(engine: Path, argv: list[str] = ARGV, timeout: float = 30.0) -> EngineSays:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(engine)}
    return ask(sys.executable, argv, folder=engine, env=env, timeout=timeout)


def test_an_engine_tells_its_settings_and_keeps_its_secrets(tmp_path: Path) -> None:
    says = asked(write_engine(tmp_path), [*ARGV, "--api-key", "hunter2"])
    assert (says.outcome, says.version, says.on_cpu) == ("values", "0.5.14", False)
    assert says.values["speculative_num_steps"] == 3
    assert says.values["max_running_requests"] == 48
    assert "api_key" not in says.values
    assert "adapter" not in says.values, "what is no plain data cannot be told"


@pytest.mark.parametrize(
    ("does", "outcome", "says"),
    [
        (
            "raise ValueError('page size 3\\n does not fit')",
            "refused",
            "ValueError: page size 3 does not fit",
        ),
        ("assert self.tp_size == 1, 'one rank only'", "refused", "AssertionError: one rank only"),
        ("raise RuntimeError('the kernel is gone')", "failed", "RuntimeError: the kernel is gone"),
        ("import json; json.loads('{')", "failed", "JSONDecodeError"),
        ("import kernels_of_nobody", "failed", "kernels_of_nobody"),
        ("import os; os._exit(7)", "silent", "exit code 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "silent", "signal 11"),
    ],
)
def test_an_engine_that_stops_says_why(tmp_path: Path, does: str, outcome: str, says: str) -> None:
    answer = asked(write_engine(tmp_path, does))
    assert answer.outcome == outcome
    assert says in answer.message
    assert "\n" not in answer.message
    assert "Traceback" not in answer.message


def test_a_word_that_the_parser_does_not_take_is_refused_in_its_words(tmp_path: Path) -> None:
    answer = asked(write_engine(tmp_path), [*ARGV, "--nonsense", "1"])
    assert answer.outcome == "refused"
    assert answer.message.endswith("error: unrecognized arguments: --nonsense 1")


def test_without_an_accelerator_the_engine_is_asked_for_the_cpu(tmp_path: Path) -> None:
    engine = write_engine(tmp_path, "if self.device != 'cpu': raise RuntimeError('No accelerator here')")
    answer = asked(engine)
    assert (answer.outcome, answer.on_cpu) == ("values", True)
    assert answer.message == "RuntimeError: No accelerator here"
    assert asked(engine, [*ARGV, "--device", "cuda"]).outcome == "failed", "a device that is given stays"


def test_the_check_of_every_launch_is_asked_too(tmp_path: Path) -> None:
    checks = "assert self.tp_size == 1 or self.page_size is None, 'one rank only'; self.tp_size = 7"
    says = asked(write_engine(tmp_path, checks=checks))
    assert (says.outcome, says.message) == ("refused", "AssertionError: one rank only")
    assert {"tp_size", "page_size"} <= set(says.about)
    assert "device" not in says.about
    passed = asked(write_engine(tmp_path / "b", checks=checks.replace("one rank only", "no")), ARGV[:4])
    assert (passed.outcome, passed.values["tp_size"]) == ("values", 1), (
        "settings as they were before the check"
    )


def test_a_check_that_breaks_costs_no_setting(tmp_path: Path) -> None:
    says = asked(write_engine(tmp_path, checks="raise RuntimeError('no cuDNN here')"))
    assert (says.outcome, says.unchecked) == ("values", "RuntimeError: no cuDNN here")
    assert says.values["speculative_num_steps"] == 3


def test_an_engine_without_such_a_check_is_asked_as_before(tmp_path: Path) -> None:
    engine = write_engine(tmp_path, "type(self).check_server_args = None; del type(self).check_server_args")
    assert (asked(engine).outcome, asked(engine).unchecked) == ("values", "")


def test_what_is_asked_before_an_early_return_belongs_to_a_refusal(tmp_path: Path) -> None:
    leaves = "if self.device == 'cpu':\n            return\n"
    lines = leaves + "        if self.tp_size > 1:\n            raise ValueError('no')"
    assert {"device", "tp_size"} <= set(asked(write_engine(tmp_path, checks=lines)).about)


def test_an_engine_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    start = f"subprocess.Popen([sys.executable, '-c', {_beat(mark)!r}])"
    child = f"import subprocess, sys, time; {start}; time.sleep(60)"
    started = time.monotonic()
    answer = asked(write_engine(tmp_path, child), timeout=3.0)
    assert (answer.outcome, answer.message) == ("silent", "no answer within 3 s")
    assert time.monotonic() - started < 20
    assert mark.exists()
    last = mark.read_text()
    time.sleep(0.4)
    assert mark.read_text() == last, "a child of the engine is still running"


def _beat(mark: Path) -> str:
    """Code that changes ``mark`` every 20 ms for as long as it lives."""
    return (
        "import time, pathlib\n"
        f"for n in range(3000): pathlib.Path({str(mark)!r}).write_text(str(n)); time.sleep(0.02)"
    )


def test_an_engine_that_never_stops_printing_fills_nothing(tmp_path: Path) -> None:
    answer = asked(write_engine(tmp_path, "print('x' * 10_000_000); import os; os._exit(1)"))
    assert answer.outcome == "silent"
    assert len(answer.message) < 500


def test_no_engine_is_not_an_error(tmp_path: Path) -> None:
    answer = asked(write_engine(tmp_path, first="raise ImportError('no torch here')"))
    assert (answer.outcome, answer.message) == ("absent", "no torch here")
    broken = asked(write_engine(tmp_path / "b", first="raise OSError('libcuda.so.1 is missing')"))
    assert (broken.outcome, broken.message) == ("failed", "OSError: libcuda.so.1 is missing")


def test_a_folder_beside_the_config_is_not_taken_for_the_engine(tmp_path: Path) -> None:
    engine = write_engine(tmp_path / "installed")
    (tmp_path / "project" / "sglang").mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(engine)}
    answer = ask(sys.executable, ARGV, folder=tmp_path / "project", env=env, timeout=30.0)
    assert answer.outcome == "values"


def test_a_python_that_cannot_be_started_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--engine-python"):
        ask(str(tmp_path / "python"), ARGV, folder=tmp_path, env={})
