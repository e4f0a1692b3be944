"""What the keys of a model's config.json hold, as far as every class reads them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from eaglecfg.checkpoint.config import GREATEST, SPELLINGS, ConfigValue, ModelConfig
from eaglecfg.record import record

Kind = Literal["length", "number", "object", "word", "token", "switch", "own switch"]
"""``own switch``: read by the draft's class for what Python takes for true, past any check of its type."""

DEEPEST = 10_000
"""Most layers: the deepest models have a few hundred."""

DTYPES = frozenset(
    {
        *("bfloat16", "double", "float", "float16", "float32", "float64", "half"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("int8", "uint8", "int16", "int32", "int64"),
    }
)
"""Names that torch has a dtype for: a config's dtype is looked up there."""

_NO_PARTS = ("quantization_config", "compression_config", "eagle_config", "generation_config")
"""Objects in a config.json that are no config of a model's part."""


@record
class Misfit:
    """A value that the key cannot hold. ``takes`` says what it can."""

    found: ConfigValue
    kind: Kind
    takes: str


@record
class _Key:
    name: str
    kind: Kind
    takes: str
    fits: Callable[[Any], bool]


def misfits(config: ModelConfig, *, draft: bool) -> Iterator[Misfit]:
    """Keys of ``config`` whose value no class can work with. ``draft``: it is that of an EAGLE-3 draft."""
    for key in _DRAFT if draft else _TARGET:
        found = _find(config, key.name)
        if found is not None and not key.fits(found.value):
            yield Misfit(found, key.kind, key.takes)
    yield from _dtypes(config)


def _dtypes(config: ModelConfig) -> Iterator[Misfit]:
    """Dtypes of the whole model and of its parts: each part's config looks its own up in torch."""
    for prefix, part in _parts("", config.raw, nested=config.text_key is not None):
        spelling = next((one for one in SPELLINGS["dtype"] if part.get(one) is not None), None)
        if spelling is not None and not fits_dtype(part[spelling]):
            yield Misfit(ConfigValue(prefix + spelling, part[spelling]), "word", "a dtype such as bfloat16")


def _parts(prefix: str, part: Mapping[str, Any], *, nested: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The configs in a config of several models. One of a single model builds nothing of what it nests."""
    yield prefix, part
    for key, inner in part.items() if nested else ():
        if key.endswith("_config") and key not in _NO_PARTS and isinstance(inner, dict):
            yield from _parts(f"{prefix}{key}.", inner, nested=True)


def _find(config: ModelConfig, name: str) -> ConfigValue | None:
    outer, _, inner = name.rpartition(".")
    if not outer:
        return config.find(name)
    holder = config.raw.get(outer)
    return ConfigValue(name, holder[inner]) if isinstance(holder, dict) and inner in holder else None


def _length(least: int, most: int, *, null: bool, lists: bool = False) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        if isinstance(value, list):  # one for every layer, where layers without it have 0 or null
            return lists and bool(value) and all(one in (None, 0) or fits(one) for one in value)
        if value is None:
            return null
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return fits


def _number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value > 0)


def _object(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _kind_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def fits_dtype(value: Any) -> bool:
    """Whether a config of ``dtype: value`` loads at all: transformers takes it for a name inside torch.

    So in every version that an engine pins (4.57.1 configuration_utils.py:274, 5.19.0 :325): the torch. of
    ``str(torch.bfloat16)`` is no part of such a name.
    """
    if isinstance(value, str):
        return value in DTYPES
    return value is None or (isinstance(value, dict) and bool(value))  # one for every part of the model


def _token(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _tokens(value: Any) -> bool:
    return all(map(_token, value)) if isinstance(value, list) else _token(value)


def _switch(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _own_switch(value: Any) -> bool:
    return _switch(value) or value in (0, 1)


_WHOLE = "a whole number above 0"


def _lengths(names: str, *, null: bool, lists: bool = False, most: int = GREATEST) -> tuple[_Key, ...]:
    fits = _length(1, most, null=null, lists=lists)
    takes = _WHOLE if most == GREATEST else f"{_WHOLE} and up to {most:,}"
    return tuple(_Key(name, "length", takes, fits) for name in names.split())


_BOTH = (
    *_lengths("hidden_size vocab_size", null=False),
    *_lengths("num_hidden_layers", null=False, most=DEEPEST),
    *_lengths("head_dim max_position_embeddings", null=True),
    _Key("model_type", "word", "text", _kind_name),
    _Key("rms_norm_eps", "number", "a number above 0", _number),
    _Key("rope_theta", "number", "a number above 0", _number),
    _Key("rope", "object", "an object", _object),
    _Key("quantization", "object", "an object", _object),
    _Key("bos_token_id", "token", "a token id", _tokens),
    _Key("eos_token_id", "token", "a token id or a list of them", _tokens),
    _Key("pad_token_id", "token", "a token id", _token),
    _Key("tie_word_embeddings", "switch", "true or false", _switch),
    _Key("attention_bias", "switch", "true or false", _switch),
    _Key("mlp_bias", "switch", "true or false", _switch),
)
_PER_LAYER = "num_attention_heads num_key_value_heads intermediate_size"
_TARGET = (
    *_BOTH,
    *_lengths(_PER_LAYER, null=True, lists=True),
    _Key("hidden_act", "word", "text", _text),
)
_OWN = "norm_before_residual norm_before_fc fc_norm use_aux_norm norm_output"
_INNER = "eagle_config.use_aux_hidden_state eagle_config.norm_before_fc"
_DRAFT = (
    *_BOTH,
    *_lengths("num_attention_heads", null=False),
    *_lengths("num_key_value_heads intermediate_size", null=True),
    *_lengths("draft_vocab_size target_hidden_size num_aux_hidden_states", null=True),
    *(_Key(name, "own switch", "true or false", _own_switch) for name in f"{_OWN} {_INNER}".split()),
)
