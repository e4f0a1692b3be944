from __future__ import annotations

import ast
from pathlib import Path

import pytest

from eaglecfg.engines.facts import CaptureFact
from eaglecfg.engines.flags import UNREADABLE
from eaglecfg.engines.wheel import architectures, read_models, read_setters
from eaglecfg.engines.wheel_flags import read_flags
from eaglecfg.engines.wheel_setter import Refused, compile_setter, run_in_wheel

BASE = """
class Inner:
    def set_eagle3_layers_to_capture(self, layers_to_capture: list[int]):
        self.layers_to_capture = layers_to_capture
        for layer_id in self.layers_to_capture:
            setattr(self.layers[layer_id], "_is_layer_to_capture", True)


class BaseForCausalLM(Module):
    def __init__(self, config):
        self.model = Inner(config)

    def set_eagle3_layers_to_capture(self, layer_ids: Optional[List[int]] = None):
        if not self.pp_group.is_last_rank:
            return
        self.capture_aux_hidden_states = True
        if layer_ids is None:
            n = self.config.num_hidden_layers
            self.model.set_eagle3_layers_to_capture([2, n // 2, n - 3])
        else:
            self.model.set_eagle3_layers_to_capture([val + 1 for val in layer_ids])


EntryClass = [BaseForCausalLM]
"""

CHILD = """\ufefffrom sglang.srt.models.base import BaseForCausalLM


class ChildForCausalLM(BaseForCausalLM):
    pass


class PlainForCausalLM(Module):
    pass


EntryClass = [ChildForCausalLM, PlainForCausalLM]
"""

OLD_FLAGS = """
CHOICES = ["auto", "fast"]


class ServerArgs:
    model_path: str
    tp_size: int = 1
    backend: Optional[str] = None
    cache: Optional[int] = None
    late: int = compute()

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str, required=True)
        parser.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size)
        parser.add_argument("--backend", type=str, choices=CHOICES, default=ServerArgs.backend)
        parser.add_argument("--cache", type=human_readable_int, default=ServerArgs.cache)
        parser.add_argument("--late", type=int, default=ServerArgs.late)
        parser.add_argument("--quiet", action="store_true", help="No log.")
        parser.add_argument("--old", action=DeprecatedStoreTrueAction, new_flag="--quiet")
"""

NEW_FLAGS = """
class Spec(msgspec.Struct):
    steps: A[Optional[int], "Steps."] = None
    kind: A[Literal["a", "b"], Arg(help="Kind.")] = "a"
    path: A[Optional[str], Arg(help="Path.", aliases=["--file"], cli_name="--input-path")] = None
    names: A[Optional[List[str]], "Names."] = None
    several: A[Optional[Union[set[str], str]], Arg(help="Several.", nargs="*")] = None
    more: A[Optional[dict], Arg(action=Action, action_kwargs={"type": str, "nargs": "+"})] = None
    one: A[Optional[dict], Arg(action=Action, action_kwargs={"type": str, "nargs": "?"})] = None
    hidden: A[bool, Arg(no_cli=True)] = False
    plain: int = 3
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    models = tmp_path / "srt" / "models"
    models.mkdir(parents=True)
    (models / "base.py").write_text(BASE, encoding="utf-8")
    (models / "child.py").write_text(CHILD, encoding="utf-8")
    return tmp_path


def test_setters_are_found_through_imported_bases(package: Path) -> None:
    modules = read_models(package)
    assert set(architectures(modules)) == {"BaseForCausalLM", "ChildForCausalLM", "PlainForCausalLM"}
    setters = read_setters(modules)
    assert set(setters) == {"BaseForCausalLM", "ChildForCausalLM"}
    assert setters["ChildForCausalLM"].file == "srt/models/base.py"
    assert setters["ChildForCausalLM"].code == setters["BaseForCausalLM"].code


def test_a_setter_of_the_wheel_runs_alone(package: Path) -> None:
    fact = CaptureFact(
        "ChildForCausalLM",
        "plus_one",
        "third_points",
        "captured",
        "crash_at_start",
        True,
        True,
        True,
        "",
        "",
        "",
    )
    modules = read_models(package)
    assert run_in_wheel(modules, fact, 24, (1, 11, 20)) == "[2, 12, 21]"
    assert run_in_wheel(modules, fact, 24, None) == "[2, 12, 21]"
    assert run_in_wheel(modules, fact, 24, (1, 11, 23)) == "crash"


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "open('x')",
        "self.__class__",
        "self.model.__dict__['x'] = 1",
        "(lambda: 1)()",
        "setattr(self, '__class__', 1)",
        "while True:\n        pass",
    ],
)
def test_code_that_no_setter_needs_is_refused(body: str) -> None:
    tree = ast.parse(f"def set_eagle3_layers_to_capture(self, layer_ids=None):\n    {body}\n")
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    with pytest.raises(Refused):
        compile_setter(node)


def test_flags_are_read_from_add_argument_calls(tmp_path: Path) -> None:
    (tmp_path / "srt").mkdir()
    (tmp_path / "srt" / "server_args.py").write_text(OLD_FLAGS, encoding="utf-8")
    flags = read_flags(tmp_path)
    assert set(flags) == {"model_path", "tp_size", "backend", "cache", "late", "quiet", "old"}
    assert flags["tp_size"].aliases == ("tensor_parallel_size",)
    assert flags["tp_size"].default == 1
    assert flags["backend"].choices == ("auto", "fast")
    assert (flags["cache"].type, flags["quiet"].type) == ("int", "bool")
    assert flags["late"].default == UNREADABLE
    assert flags["old"].deprecated == "--quiet"
    assert flags["model_path"].source == "srt/server_args.py:14"


def test_flags_are_read_from_annotated_fields(tmp_path: Path) -> None:
    fields = tmp_path / "srt" / "arg_groups" / "fields"
    fields.mkdir(parents=True)
    (tmp_path / "srt" / "server_args.py").write_text("class ServerArgs:\n    pass\n", encoding="utf-8")
    (fields / "spec.py").write_text(NEW_FLAGS, encoding="utf-8")
    flags = read_flags(tmp_path)
    assert set(flags) == {"steps", "kind", "path", "names", "several", "more", "one"}
    assert flags["kind"].choices == ("a", "b")
    assert (flags["path"].option, flags["path"].aliases) == ("--input-path", ("input_path", "file"))
    assert [flags[name].type for name in ("names", "several", "more", "one")] == [
        "list",
        "list",
        "list",
        "json",
    ]
    assert [flags[name].items for name in ("names", "several", "more", "one", "steps")] == [
        "str+", "str*", "str+", "", "",
    ]  # fmt: skip
    assert flags["steps"].source == "srt/arg_groups/fields/spec.py:3"


SEVERAL_WORDS = """
class ServerArgs:
    sizes: A[Optional[List[int]], Arg(help="Sizes.")] = None
    shares: A[list[float] | None, Arg(help="Shares.", nargs="*")] = None

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--batches", type=int, nargs="+")
        parser.add_argument("--tags", nargs="*")
"""


def test_the_words_of_a_list_have_a_type_and_a_least_number(tmp_path: Path) -> None:
    (tmp_path / "srt").mkdir()
    (tmp_path / "srt" / "server_args.py").write_text(SEVERAL_WORDS, encoding="utf-8")
    found = {name: flag.items for name, flag in read_flags(tmp_path).items()}
    assert found == {"batches": "int+", "shares": "float*", "sizes": "int+", "tags": "str*"}


GROWN_CHOICES = """
KERNELS = {"plain", "fast"}
if envs.CANARY.get():
    KERNELS.add("oracle")


class ServerArgs:
    kernel: A[Optional[str], Arg(help="Kernel.", choices=KERNELS)] = None
    parser: Optional[str] = None

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--parser", type=str, default=_declared_default("parser"))
"""


def test_choices_in_a_set_count_with_what_a_condition_may_add(tmp_path: Path) -> None:
    (tmp_path / "srt").mkdir()
    (tmp_path / "srt" / "server_args.py").write_text(GROWN_CHOICES, encoding="utf-8")
    flags = read_flags(tmp_path)
    assert flags["kernel"].choices == ("fast", "oracle", "plain")
    assert flags["parser"].default is None
