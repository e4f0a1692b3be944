"""An explicit quantization flag that reaches the draft too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eaglecfg.checkpoint.quantization import declared
from eaglecfg.rules.causes import UNLOADABLE
from eaglecfg.rules.context import Context
from eaglecfg.rules.evidence import config_line
from eaglecfg.rules.model import Finding, Item, Need, NotApplicable, NotChecked, Rule, Severity, Today
from eaglecfg.rules.remedies import give

FLAG, OWN = "quantization", "speculative_draft_model_quantization"
FILES = frozenset({None, "auto", "safetensors", "pt"})
"""Load formats that the loader of ModelOpt takes over; others have loaders of their own."""

PASSIVE = frozenset({"unquant", "petit_nvfp4"})
"""Values that do nothing to a checkpoint without quantised weights."""

OWN_FILE = frozenset(
    {"awq", "awq_marlin", "gptq", "gptq_marlin", "marlin", "moe_wna16", "auto-round", "compressed-tensors"}
)
"""Methods that cannot be built without the checkpoint's own settings (sglang 0.5.9 and 0.5.23
srt/model_loader/weight_utils.py, get_quant_config); others quantise plain weights while they load."""


def check(ctx: Context) -> Iterator[Item]:
    """A draft in plain weights under ``quantization`` needs an opt-out of its own."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    assert ctx.draft.config is not None
    config, method = ctx.draft.config, ctx.argument(FLAG)
    if not isinstance(method, str) or method in (*PASSIVE, "None") or not ctx.speculates:
        yield NotApplicable()
        return
    if (
        ctx.argument(OWN) is not None
        or config.find("quantization") is not None
        or declared(ctx.draft) is not None
    ):
        return
    plain = config.architecture == "LlamaForCausalLMEagle3" and _names_no_method(ctx.draft.quantization)
    if plain and method.startswith("modelopt"):
        return  # this class, and no other, is then built of plain layers
    does = _on_plain(ctx, method)
    if does == "nothing":
        return
    if does == "stops" and ctx.load_format("draft") not in FILES:
        yield NotChecked(f"what {method} does to plain weights under the load format given is not known")
        return
    known, stops = OWN in ctx.engine.flags, method in OWN_FILE or does == "stops"
    yield Finding(
        f"quantization {method} is meant for the target, but the draft, which states none, inherits it",
        path=ctx.argument_path(FLAG),
        severity=Severity.ERROR if stops else None,
        today=Today.CRASH_AT_START if stops else None,
        why=_why(method, does, known=known),
        help=f"add {OWN}: unquant to the server block"
        if known
        else "leave out quantization (a quantised target says so in its config.json), or run a version "
        f"that has {OWN}",
        evidence=(
            config_line(config, "quantization", "the draft states none"),
            config_line(config, "dtype", "the draft's plain weights"),
        ),
        fix=give(ctx, ("server", OWN), "unquant") if known else None,
        values={FLAG: method, OWN: None},
    )


def _why(method: str, does: str, *, known: bool) -> str:
    if does == "stops":
        return (
            "the engine hands the draft to ModelOpt to be quantised, which builds it as an ordinary model of "
            "transformers: the server stops, after it has loaded the target, either because the package "
            "modelopt is not installed or because that model is no draft"
        )
    if method in OWN_FILE:
        return (
            f"the engine looks for {method} settings beside the draft's plain weights, finds none and stops, "
            "after it has loaded the target"
        )
    if known:
        return f"the draft's plain weights are quantised to {method} while they load, and nothing says so"
    return f"this version has no flag to keep {method} from the draft"


def _on_plain(ctx: Context, method: str) -> str:
    """What ``method`` as a flag does to a draft without hf_quant_config.json: ``stops``, ``nothing``, or what
    the sets above say (empty)."""
    assert ctx.engine is not None
    assert ctx.draft is not None
    if not method.startswith("modelopt") or ctx.draft.quantization is not None:
        return ""
    from eaglecfg.engines.table import rows_of  # few deployments give the flag

    row = rows_of(ctx.engine.name, ctx.engine.facts_of, "quantized.json").get("flag_on_plain", {}).get(method)
    return row["does"] if row is not None else ""


def _names_no_method(side: Mapping[str, Any] | None) -> bool:
    """Whether hf_quant_config.json is there and says that nothing is quantised, as exporters write it."""
    inner = side.get("quantization") if side is not None else None
    return isinstance(inner, dict) and inner.get("quant_algo") is None


RULE = Rule(
    id="EC259",
    slug="quantization-inherited",
    severity=Severity.WARNING,
    today=Today.SILENT,
    check=check,
    needs=(Need.ENGINE, Need.DRAFT_CONFIG),
    follows=UNLOADABLE,
    research=("QNT-01", "QNT-05"),
)
