"""Refusals as sentences: what the key takes, what it was given, what to write instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from eaglecfg.schema.accept import Refusal
from eaglecfg.schema.base import StrictModel
from eaglecfg.schema.fields import field_at, fields_of
from eaglecfg.schema.loaded import Remedy, SchemaProblem
from eaglecfg.source.document import Document
from eaglecfg.source.span import KeyPath, Place, show_path

_TAKES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
    "too_short": "a list of at least one",
}
_TRUTH = {"yes": "true", "on": "true", "y": "true", "1": "true", "true": "true"}
_FALSEHOOD = {"no": "false", "off": "false", "n": "false", "0": "false", "false": "false"}
_SHOWN = 40
_WRITTEN = 0.75
"""The least likeness of a key that may be written in place of another, as a guess."""
"""Longest value that a message repeats."""

SYNONYMS = {
    "tp": "tp_size",
    "dp": "dp_size",
    "pp": "pp_size",
    "ep": "ep_size",
    "steps": "num_steps",
    "topk": "eagle_topk",
    "draft_tokens": "num_draft_tokens",
    "path": "checkpoint",
    "model": "checkpoint",
    "model_path": "checkpoint",
    "layers": "layer_ids",
    "num_layers": "num_hidden_layers",
    "fc_width": "fc_input_width",
    "boundaries": "trained_boundaries",
}
"""What people write for a key whose spelling is too far away for a comparison of letters."""


def problem_of(
    model: type[StrictModel], refusal: Refusal, document: Document, locate: Callable[[KeyPath], KeyPath]
) -> SchemaProblem:
    """The problem behind a refusal by ``model``. ``locate`` gives the document path of a path in its data."""
    if refusal.reason == "missing":
        where = show_path(refusal.path[:-1]) or "the file"
        name = str(refusal.path[-1])
        at = (*locate(refusal.path[:-1]), name)
        return SchemaProblem("missing-key", at, f"{where} needs the key {name}", f"add {name}:", True)
    at = locate(refusal.path)
    if refusal.reason == "extra_forbidden":
        message, help, remedy = _unknown_key(model, refusal.path, str(at[-1]))
        if remedy is not None and remedy.kind == "move":
            value = _source(document, at)
            to = (*at[: len(at) - len(refusal.path)], *remedy.to)
            remedy = Remedy("move", value, to=to) if value else None
        return SchemaProblem("unknown-key", at, message, help, True, remedy=remedy)
    takes = _takes(refusal)
    got = shown_value(refusal.value, document.places.get(at))
    message = f"{show_path(refusal.path) or 'the file'} takes {takes}, not {got}"
    remedy = _value_remedy(refusal, takes, document.places.get(at))
    return SchemaProblem("wrong-type", at, message, _wrong_type_help(model, refusal, takes), remedy=remedy)


def sentence_of(refusal: Refusal, whole: str) -> str:
    """One refusal as a sentence, for data that has no places in a file of ours. ``whole`` names the data."""
    if refusal.reason == "missing":
        return f"{show_path(refusal.path[:-1]) or whole} needs the key {refusal.path[-1]}"
    return (
        f"{show_path(refusal.path) or whole} takes {_takes(refusal)}, not {shown_value(refusal.value, None)}"
    )


def _takes(refusal: Refusal) -> str:
    if refusal.reason == "literal_error":
        # The context lists the choices in quotes.
        choices = str(refusal.context.get("expected", "")).replace("'", "")
        return f"{choices} or a mapping" if refusal.path[-1:] == ("speculative",) else choices
    for bound, word in (("gt", "above"), ("ge", "of at least"), ("lt", "below"), ("le", "of at most")):
        if bound in refusal.context:
            return f"a number {word} {_number(refusal.context[bound])}"
    return _TAKES.get(refusal.reason, "another kind of value")


def _number(bound: Any) -> str:
    return str(int(bound)) if isinstance(bound, float) and bound.is_integer() else str(bound)


def shown_value(value: Any, place: Place | None) -> str:
    """``value`` as a message names it, in the source's spelling where that is known."""
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping"
    text = place.text if place is not None and place.text is not None else str(value)
    if isinstance(value, bool) and place is None:
        text = text.lower()
    text = f"{text[:_SHOWN]}..." if len(text) > _SHOWN else text
    if isinstance(value, str):
        return f'the text "{text}"'
    return text


def _wrong_type_help(model: type[StrictModel], refusal: Refusal, takes: str) -> str:
    value, name = refusal.value, str(refusal.path[-1]) if refusal.path else ""
    if value is None:
        return "write a value, or remove the key" if takes != "text" else 'write text, or "" for empty text'
    if name == "speculative":
        return "write speculative: off, or the shape: {num_steps: 3, eagle_topk: 1, num_draft_tokens: 4}"
    if takes == "text":
        return f'put it in quotes: "{value}"' if not isinstance(value, list | dict) else "write text"
    if takes == "true or false":
        word = str(value).lower()
        return f"write {_TRUTH.get(word) or _FALSEHOOD.get(word) or 'true or false'}"
    if "number" in takes:
        return _number_help(value, takes)
    if takes == "a list":
        return f"write a list: [{value}]" if not isinstance(value, dict) else "write a list: [a, b]"
    if takes == "a mapping":
        found = field_at(model, refusal.path) if refusal.path else None
        inner = found.model if found is not None else None if refusal.path else model
        keys = f" with keys such as {', '.join(list(fields_of(inner))[:4])}" if inner is not None else ""
        return f"write a mapping{keys}"
    return f"write {takes}"


def _number_help(value: Any, takes: str) -> str:
    if isinstance(value, bool):
        return "write a number; true and false are none"
    if isinstance(value, str):
        plain = value.strip().replace("_", "").replace(",", "")
        if plain.lstrip("+-").isdecimal():
            return f"write {plain} without quotes" if plain == value.strip() else f"write {plain}"
        return f"write {takes}"
    if isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    return f"write {takes}"


def _value_remedy(refusal: Refusal, takes: str, place: Place | None) -> Remedy | None:
    """The value that was meant, where the one that was written says so in another form."""
    value = refusal.value
    if place is None or place.text is None or value is None:
        return None
    if takes == "true or false":
        word = place.text.strip().lower()
        meant = _TRUTH.get(word) or _FALSEHOOD.get(word)
        return Remedy("set", meant) if meant else None
    if takes == "text" and not isinstance(value, str):
        return Remedy("set", json.dumps(place.text, ensure_ascii=False))
    if takes in ("a whole number", "a number") and not isinstance(value, bool):
        plain = place.text.strip()
        if isinstance(value, str) and plain.lstrip("-").isascii() and plain.lstrip("-").isdecimal():
            return Remedy("set", str(int(plain))) if len(plain) < 20 else None
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            return Remedy("set", str(int(value)))
    return None


def _source(document: Document, at: KeyPath) -> str:
    """A scalar as it can be written elsewhere; empty where there is none."""
    place = document.places.get(at)
    if place is None or place.text is None or place.shared:
        return ""
    return json.dumps(place.text, ensure_ascii=False) if place.quoted else place.text


def _unknown_key(model: type[StrictModel], path: KeyPath, spelled: str) -> tuple[str, str, Remedy | None]:
    """Message, help and remedy for the key at ``path`` that nothing knows. A move is to a path inside the
    model's data."""
    block = path[:-1]
    found = field_at(model, block) if block else None
    inner = found.model if found is not None else model
    known = list(fields_of(inner)) if inner is not None else []
    message = f'{show_path(block) or "the file"} has no key "{spelled[:_SHOWN]}"'
    foreign = _foreign_letter(spelled, known)
    if foreign is not None:
        return message, foreign[0], Remedy("rename", foreign[1])
    name = spelled.lstrip("-").replace("-", "_").lower()
    if name in known:
        return message, f"the nearest key is {name}", Remedy("rename", name)
    # A key of a neighbouring block, or of a block inside this one.
    for owner, kind in fields_of(model).items():
        if kind.model is not None and not kind.named and owner not in block and name in fields_of(kind.model):
            return message, f"{name} belongs under {owner}:", Remedy("move", "", to=(owner, name))
    flags = block[:1] in (("parallel",), ("speculative",))
    # Beside these keys the engine has many flags of similar names, so a guess must be close.
    guess = nearest(name, known, 0.8 if flags else 0.6)
    if guess:
        meant = Remedy("rename", guess) if _close(name, guess) else None
        return message, f"the nearest key is {guess}", meant
    if flags:
        prefix = "speculative_" if block[0] == "speculative" else ""
        help = f"flags of the engine that have no key here go under server:, as {prefix}{name}"
        return message, help, None
    return message, f"known keys are {', '.join(known)}", None


def _close(name: str, guess: str) -> bool:
    """Whether ``guess`` is near enough to be written for ``name``, and not only to be spoken of.

    ``host`` shares most of its letters with ``offset``, and nobody ever meant that.
    """
    from difflib import SequenceMatcher

    if SYNONYMS.get(name) == guess or f"_{name}_" in f"_{guess}_":
        return True
    return SequenceMatcher(None, name, guess).ratio() >= _WRITTEN


def _foreign_letter(spelled: str, known: Iterable[str]) -> tuple[str, str] | None:
    """What to do about a letter that only looks like one of ours, or cannot be seen at all, and the key that
    is meant; None where there is none."""
    strange = next((letter for letter in spelled if not letter.isascii()), None)
    if strange is None:
        return None
    import unicodedata  # only on the way to a finding

    plain = "".join(letter for letter in spelled if letter.isascii())
    meant = nearest(plain, known, 0.8)
    if meant is None:
        return None
    seen = (
        f'"{strange}"' if strange.isprintable() and not strange.isspace() else "a letter that cannot be seen"
    )
    name = unicodedata.name(strange, "no letter of ours")
    return f"{seen} in it is U+{ord(strange):04X} {name}; type {meant} anew", meant


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The key of ``known`` that ``name`` was most likely meant to be, or None.

    ``likeness`` is the least share of letters in common, 0 to 1, that makes a guess.
    """
    known = list(known)
    if SYNONYMS.get(name) in known:
        return SYNONYMS[name]
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1, cutoff=likeness)
    return found[0] if found else None
