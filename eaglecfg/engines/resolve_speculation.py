"""The shape of speculation and what the engine changes because of it."""

from __future__ import annotations

from eaglecfg.checkpoint.config import ModelConfig
from eaglecfg.engines.resolve import Draftsheet

EAGLE_FAMILY = ("EAGLE", "EAGLE3", "STANDALONE")
STEPS, TOPK, TOKENS = "speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens"


def resolve_speculation(sheet: Draftsheet, target: ModelConfig | None) -> None:
    """Settle the algorithm, the shape, and the settings that speculation defaults or rewrites."""
    algorithm = _algorithm(sheet)
    if algorithm is None:
        _without_speculation(sheet)
        return
    if sheet.asked("max_running_requests") is None:
        most = sheet.facts.values["max_running_requests"]
        sheet.put(
            "max_running_requests", most, "default",
            f"not given, and speculation sets it to {most}", "max_running_requests",
        )  # fmt: skip
    if algorithm not in EAGLE_FAMILY:
        return
    if sheet.asked("enable_mixed_chunk") and not sheet.facts.values["mixed_chunk_with_eagle"]:
        sheet.put(
            "enable_mixed_chunk", False, "rewritten",
            "switched off with a warning because of EAGLE speculative decoding", "mixed_chunk_with_eagle",
        )  # fmt: skip
    if algorithm == "EAGLE3" and sheet.asked("speculative_token_map") is not None:
        sheet.put("speculative_token_map", None, "ignored", "EAGLE3 takes its token map from the draft's d2t")
    _draft_path(sheet, target)
    _shape(sheet, target, algorithm)


def _algorithm(sheet: Draftsheet) -> str | None:
    """The algorithm that runs, None where there is none or the engine refuses the name."""
    setting = sheet.setting("speculative_algorithm")
    if setting.origin != "asked":
        return None
    asked = str(setting.asked)
    name = asked.upper() if sheet.facts.values["algorithm_upper_cased"] else asked
    known = sheet.facts.values["algorithms"]
    if name not in known:
        sheet.refuse(
            "speculative_algorithm",
            f"{asked} is no algorithm of this version ({', '.join(known)})",
            "algorithms",
        )
        return None
    if _only_captures(sheet, name):
        return None
    runs = "EAGLE" if name == "NEXTN" else name
    if runs != asked:
        sheet.put(
            "speculative_algorithm", runs, "rewritten", f"{asked} is another spelling of {runs}", "algorithms"
        )
    return runs


def _only_captures(sheet: Draftsheet, name: str) -> bool:
    """Whether the algorithm is but the name of what is captured: a flag returns the states, and nothing is
    drafted. With a draft beside it the engine stops, which a rule of its own says."""
    rule = sheet.facts.values.get("captures_without_draft")
    if rule is None or sheet.runs(rule["flag"]) is not True or name not in rule["algorithms"]:
        return False
    if sheet.asked("speculative_draft_model_path") is not None:
        return False
    why = f"{rule['flag']} makes it the name of what is captured; nothing is drafted"
    sheet.put("speculative_algorithm", None, "rewritten", why, "captures_without_draft")
    return True


def _without_speculation(sheet: Draftsheet) -> None:
    if sheet.setting("speculative_algorithm").origin == "refused":
        return
    for name, setting in list(sheet.settings.items()):
        if name.startswith("speculative_") and setting.origin == "asked":
            sheet.put(name, None, "ignored", "speculation is off: there is no speculative_algorithm")


def _draft_path(sheet: Draftsheet, target: ModelConfig | None) -> None:
    path = "speculative_draft_model_path"
    if sheet.asked(path) is None:
        if target is not None and target.architecture in sheet.facts.values["draft_from_target"]:
            sheet.put(
                path, sheet.runs("model_path"), "default",
                f"not given: {target.architecture} drafts with its own checkpoint", "draft_from_target",
            )  # fmt: skip
        return
    revision = sheet.facts.values["draft_revision"]
    if sheet.asked("speculative_draft_model_revision") is None and revision is not None:
        sheet.put(
            "speculative_draft_model_revision", revision, "default",
            f"not given: the tip of {revision} is loaded", "draft_revision",
        )  # fmt: skip


def _shape(sheet: Draftsheet, target: ModelConfig | None, algorithm: str) -> None:
    if any(sheet.setting(name).origin == "refused" for name in (STEPS, TOPK, TOKENS)):
        return
    adaptive = _adaptive(sheet)
    if sheet.runs(STEPS) is None and not adaptive:
        given = [name for name in (TOPK, TOKENS) if sheet.asked(name) is not None]
        if given:
            sheet.refuse(
                STEPS, f"{given[0]} is given without {STEPS}: set all three or none (AssertionError)"
            )
            return
        _auto_shape(sheet, target, algorithm)
    steps, topk = sheet.runs(STEPS), sheet.runs(TOPK)
    if steps is None:
        return
    if topk is None:
        sheet.refuse(TOPK, f"{STEPS} is given without {TOPK}: set all three or none (TypeError)")
        return
    if topk != 1 and sheet.runs("speculative_adaptive"):
        # Versions that let adaptive steps choose the shape have settled on a chain before they come here.
        sheet.put(
            "speculative_adaptive", False, "rewritten",
            f"switched off with a warning: adaptive steps need {TOPK} 1, and it is {topk}",
            "adaptive_sets_shape",
        )  # fmt: skip
    tokens = sheet.runs(TOKENS)
    if topk == 1 and tokens != steps + 1:
        asked = sheet.asked(TOKENS)
        sheet.put(
            TOKENS, steps + 1, "default" if asked is None else "rewritten",
            f"a chain ({TOPK} 1) verifies {STEPS} + 1 = {steps + 1} tokens"
            + ("" if asked is None else f", so {asked} is replaced with a warning"),
        )  # fmt: skip


def _adaptive(sheet: Draftsheet) -> bool:
    """Whether adaptive steps settle the shape. Their default candidates are facts; no config is read."""
    if not sheet.asked("speculative_adaptive"):
        return False
    if sheet.asked(TOPK) not in (None, 1) or sheet.runs("enable_dp_attention"):
        sheet.put(
            "speculative_adaptive", False, "rewritten",
            "switched off with a warning: adaptive steps need speculative_eagle_topk 1 and no DP attention",
        )  # fmt: skip
        return False
    if not sheet.facts.values["adaptive_sets_shape"]:
        return False
    if sheet.asked(TOPK) is None:
        sheet.put(TOPK, 1, "default", "adaptive steps draft a chain", "adaptive_sets_shape")
    if sheet.asked("speculative_adaptive_config") is not None:
        return True
    candidates = sheet.facts.values["adaptive_steps"]
    if sheet.asked(STEPS) is None:
        middle = candidates[len(candidates) // 2]
        sheet.put(
            STEPS,
            middle,
            "default",
            f"the middle one of the adaptive candidates {candidates}",
            "adaptive_steps",
        )
    elif sheet.asked(STEPS) not in candidates:
        sheet.refuse(
            STEPS,
            f"{sheet.asked(STEPS)} is not one of the adaptive candidates {candidates}",
            "adaptive_steps",
        )
    return True


def _auto_shape(sheet: Draftsheet, target: ModelConfig | None, algorithm: str) -> None:
    if algorithm == "STANDALONE":
        shape, of = [3, 1, 4], "STANDALONE"
    elif target is None or target.architecture is None:
        for name in (STEPS, TOPK, TOKENS):
            sheet.put(name, None, "default", "chosen by the target's class, which is not known", "auto_shape")
        return
    else:
        table = sheet.facts.values["auto_shape"]
        of = target.architecture
        shape = table["by_architecture"].get(of, table["otherwise"])
    for name, value in zip((STEPS, TOPK, TOKENS), shape, strict=True):
        sheet.put(
            name, value, "default", f"not given: the engine picks {tuple(shape)} for {of}", "auto_shape"
        )
