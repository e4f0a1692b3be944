"""What is a secret, by its name or by its looks; kept out of what is shown and of what a trial leaves.

Names: of variables, flags and keys, in any case (``HF_TOKEN``, ``--api-key``, ``dbPassword``). An engine
speaks of tokens, keys and passes that are none, so the words around such a word count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

HIDDEN = "<redacted>"

# fmt: off
_ALWAYS = frozenset(
    (
        "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASSCODE", "CREDENTIAL",
        "CREDENTIALS", "CREDS", "APIKEY", "APIKEYS", "COOKIE", "COOKIES", "AUTHTOKEN", "ACCESSTOKEN",
        "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY", "AUTHORIZATION", "WEBHOOK", "SSHPASS", "JWT",
    )
)
"""Words that make a secret wherever they stand."""

_SQUASHED = ("PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "APIKEY", "AUTHTOKEN")
"""Ends of words that do: PGPASSWORD."""

_PAIRS = frozenset(
    (
        "API", "SECRET", "PRIVATE", "ACCESS", "AUTH", "ADMIN", "SIGNING", "ENCRYPTION", "MASTER",
        "ACCOUNT", "SHARED", "SSH", "LICENSE", "SERVICE",
    )
)
"""In front of KEY, KEYS and TOKENS these make a secret wherever they stand: OPENAI_API_KEY_2."""

_LAST = frozenset({"PASS", "PWD", "SAS", "KEY", "TOKEN"})
"""Words that make a secret at the end of a name; TOKEN elsewhere too, in names that are no engine's."""

_PLAIN_BEFORE = {
    "KEY": frozenset(
    (
        "CACHE", "PARTITION", "SORT", "PRIMARY", "FOREIGN", "ROUTING", "GRAPH", "PUBLIC", "PUB",
        "GROUP", "HASH", "SHARD", "PREFIX", "LOOKUP", "INDEX", "OBJECT", "BLOCK", "KV", "QUERY",
        "CONFIG", "METRIC", "LABEL", "DICT", "JSON", "TENSOR", "STATE", "SAMPLE", "DATA", "COLUMN",
        "JOB", "TASK", "EVENT", "IDEMPOTENCY", "TRACE", "QUEUE", "TOPIC", "MODEL", "WEIGHT", "SHM",
        "IPC", "ADAPTER", "LORA", "PARENT", "DEBUG", "HOT", "ATTN", "ATTENTION", "ENABLE", "DISABLE",
        "USE", "EACH", "ANY", "PER", "BY",
    )
),
    "TOKEN": frozenset(
    (
        "PER", "MAX", "MIN", "NEW", "NUM", "EOS", "BOS", "PAD", "UNK", "SEP", "CLS", "MASK", "DRAFT",
        "NEXT", "PREV", "LAST", "STOP", "IMAGE", "VIDEO", "AUDIO", "FIRST", "SPECIAL", "DUMMY", "NOISE",
        "START", "END", "BEGIN", "THINK", "THINKING", "ACC", "ACCEPTED", "TARGET", "INPUT", "OUTPUT",
        "PROMPT", "SINGLE", "LANGUAGE", "SPEECH", "VISION", "BONUS", "TO", "DELAY", "ONE", "TOP",
        "PARALLEL", "VERIFY", "BY", "EACH", "ENABLE", "DISABLE", "USE",
    )
),
    "PASS": frozenset(
    (
        "FORWARD", "BACKWARD", "FIRST", "SECOND", "LAST", "SINGLE", "ONE", "TWO", "MULTI", "LOW",
        "HIGH", "BY", "PER", "EXTEND", "PREFILL", "DECODE",
    )
),
}
"""Words in front of which a key is a place to look something up, a token a piece of text, a pass a run."""

_ABOUT = frozenset(
    (
        "FILE", "FILES", "PATH", "PATHS", "DIR", "FOLDER", "NAME", "NAMES", "TYPE", "MODE", "COUNT",
        "SIZE", "TTL", "TIMEOUT", "POLICY", "LENGTH", "LEN", "NUM", "PROVIDER", "HELPER", "ENABLED",
        "REQUIRED", "HEADER", "RATIO", "LIMIT", "MAP", "IDS", "USAGE", "BUDGET",
    )
)
"""Last words of a name that is about a secret, or about tokens, and holds none: HF_TOKEN_PATH."""

# fmt: on
_ENGINES = frozenset({"SGLANG", "SGL", "VLLM", "FLASHINFER", "TRTLLM"})
_QUERY = frozenset({"sig", "key", "signature", "code", "auth", "jwt", "pass", "pwd"})
_PUBLIC = frozenset({"none", "null", "true", "false", "", "~", "''", '""'})

_LOOKS = (
    r"\b(?:hf_[A-Za-z0-9]{12,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|AKIA[A-Z0-9]{16}|ASIA[A-Z0-9]{16}|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
    r"|glpat-[\w-]{16,}|nvapi-[\w-]{16,}|gsk_\w{20,}|npm_[A-Za-z0-9]{30,}|AIza[\w-]{30,}"
    r"|(?<![\w-])eyJ[\w-]{10,4000}\.[\w-]{10,4000}\.[\w-]+)"
)
_LOOKS_BEGIN = (
    *("hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "ASIA", "xox", "xapp-"),
    *("glpat-", "nvapi-", "gsk_", "npm_", "AIza", "eyJ"),
)
_URL = r"((?<!\w)\w+://[^/\s:@]*:)([^/\s]+)(?=@)"
_URL_USER = r"((?<!\w)\w+://)([^/\s:@]{20,})(?=@)"
_USER = r"((?<![\w/.@:-])[\w.-]{1,60}:)([^\s/:@]+)(?=@(?!sha\d+:)[A-Za-z0-9.-]+:\d{1,5}(?!\w))"
_PARAMETER = r"([?&;]([\w.~-]{1,60})=)([^&\s#'\"<>]+)"
_VALUE = r"(\"[^\"\n]*\"?|'[^'\n]*'?|\$\{\w+\}|"
_ASSIGNED = r"((?<![\w-])-{0,2}([A-Za-z_][\w-]{0,60})=)" + _VALUE + r"[^\s,;'\"()\[\]{}&]+)"
_WRITTEN = (
    r"((?<![\w-])-{0,2}([A-Za-z_][\w-]{0,60})['\"]?[ \t]*[=:][ \t]*)"
    + _VALUE
    + r"[^\s,'\"\[\]{}#](?:[^\s,\[\]{}]|[ \t]+(?![\s#]))*)"
)
_FOLLOWING = (
    r"((?<![\w-])--([A-Za-z][\w-]{0,60})['\"]?(?:,?[ \t]+|,))" + _VALUE + r"[^\s,'\"\[\]{}#-][^\s,\[\]{}]*)"
)
_BEARER = r"(\b(?:[Bb]earer|[Bb]asic) )([A-Za-z0-9._~+/=-]{8,})"
_REFERENCE = re.compile(r"\$\{[A-Za-z_]\w*\}|\$[A-Z_]+")
_HINTS = ("key", "token", "pass", "pwd", "secret", "cred", "cookie", "sas", "auth", "jwt", "webhook")


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a variable, a flag or a key of this name usually holds a secret (HF_TOKEN, --api-key, ...)."""
    if not any(hint in name.lower() for hint in _HINTS):
        return False
    words = _words(name.rpartition(".")[2])
    if not words or words[-1] in _ABOUT:
        return False
    if any(word in _ALWAYS or word.endswith(_SQUASHED) for word in words):
        return True
    for before, word in pairwise(words):
        if word in ("KEY", "KEYS", "TOKENS") and before in _PAIRS:
            return True
    return _by_place(name, words)


def _by_place(name: str, words: list[str]) -> bool:
    """Whether one of the words that mean many things means a secret where it stands."""
    last = len(words) - 1
    while last > 0 and words[last].isdigit():
        last -= 1
    before = words[last - 1] if last else ""
    word = words[last]
    if word in _LAST and before not in _PLAIN_BEFORE.get(word, ()):
        return bool(before) or word in ("TOKEN", "PASS") or (word != "PWD" and name.isupper())
    if word == "AUTH" and before in ("BASIC", "PROXY", "HTTP", "REGISTRY", "NPM", "DOCKER", "REDISCLI"):
        return True
    if "TOKEN" in words and name.isupper() and words[0] not in _ENGINES:
        at = words.index("TOKEN")
        return not at or words[at - 1] not in _PLAIN_BEFORE["TOKEN"]
    return False


def _words(name: str) -> list[str]:
    """``hfToken``, ``--hf-token`` and ``HF_TOKEN`` alike: HF, TOKEN."""
    if not (name.isupper() or name.islower()):
        name = "".join(
            f"_{c}" if c.isupper() and at and (name[at - 1].islower() or name[at - 1].isdigit()) else c
            for at, c in enumerate(name)
        )
    for mark in "-:/ ":
        name = name.replace(mark, "_")
    return [word for word in name.upper().split("_") if word]


def is_reference(text: str) -> bool:
    """Whether a text only says where a secret is to be read: ``${HF_TOKEN}``."""
    return _REFERENCE.fullmatch(text) is not None


def redact_text(text: str) -> str:
    """Text with everything that looks like a key, a token, or a password in a URL replaced."""
    return _replaced(text, lambda secret: HIDDEN, written=False)


def masked(text: str, mark: str = "*") -> str:
    """A line of a file with the characters of secrets replaced one by one, so that columns stay.

    Here ``api_key: value`` and ``--api-key value`` count too, also where the file as a whole is no YAML.
    """
    return _replaced(text, lambda secret: mark * len(secret), written=True)


def _replaced(text: str, put: Callable[[str], str], *, written: bool) -> str:
    """``text`` with secrets passed through ``put``. Patterns are compiled only for texts that need them."""

    def whole(found: re.Match[str]) -> str:
        return put(found[0])

    def behind(found: re.Match[str]) -> str:
        return found[1] + (found[2] if HIDDEN in found[2] else put(found[2]))

    def named(found: re.Match[str]) -> str:
        secret = is_secret_name(found[2]) or (found[1][0] in "?&;" and found[2].lower() in _QUERY)
        value = found[3].strip("'\"")
        if not secret or HIDDEN in value or value.lower() in _PUBLIC or is_reference(value):
            return found[0]
        quote = found[3][0] if found[3][0] in "'\"" else ""
        closing = quote if quote and len(found[3]) > 1 and found[3].endswith(quote) else ""
        return found[1] + quote + put(found[3][len(quote) : len(found[3]) - len(closing)]) + closing

    if any(begin in text for begin in _LOOKS_BEGIN):
        text = re.sub(_LOOKS, whole, text)
    if "@" in text and ":" in text:
        text = re.sub(_USER, behind, re.sub(_URL_USER, behind, re.sub(_URL, behind, text)))
    if "=" in text and ("?" in text or "&" in text):
        text = re.sub(_PARAMETER, named, text)
    lower = text.lower()
    if "bearer " in lower or "basic " in lower:
        text = re.sub(_BEARER, lambda found: found[0] if found[2].isalpha() else behind(found), text)
    if any(hint in lower for hint in _HINTS):
        if written:
            text = re.sub(_FOLLOWING, named, re.sub(_WRITTEN, named, text))
        elif "=" in text:
            text = re.sub(_ASSIGNED, named, text)
    return text


def redact_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with secrets replaced, sorted by name."""
    return {
        name: HIDDEN if is_secret_name(name) and value and not is_reference(value) else redact_text(value)
        for name, value in sorted(environment.items())
    }


def redact_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line with the values of secret flags, and of secret variables in front, replaced."""
    shown: list[str] = []
    hide_next = False
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if hide_next:
            shown.append(HIDDEN)
        elif equals and value and " " not in flag and is_secret_name(flag) and not is_reference(value):
            shown.append(f"{flag}={HIDDEN}")
        else:
            shown.append(redact_text(argument))
        hide_next = not hide_next and argument.startswith("--") and not equals and is_secret_name(argument)
    return shown


def redact_data(data: Any) -> Any:
    """Plain data (from JSON) with secrets replaced, at any depth: by the key that they stand under, by the
    flag in front of them in a list, or by their looks."""
    if isinstance(data, Mapping):
        return {
            key: _hidden(value) if is_secret_name(str(key)) else redact_data(value)
            for key, value in data.items()
        }
    if isinstance(data, (list, tuple)):
        shown = [redact_data(value) for value in data]
        for at, value in enumerate(data[:-1]):
            if names_secret(value):
                shown[at + 1] = _hidden(data[at + 1])
        return shown
    return redact_text(data) if isinstance(data, str) else data


def names_secret(word: Any) -> bool:
    """Whether a word of a command line is a flag whose secret is the next word."""
    return isinstance(word, str) and word.startswith("--") and "=" not in word and is_secret_name(word)


def _hidden(value: Any) -> Any:
    """What stands under a secret's name: no text and no number of it is shown."""
    if isinstance(value, Mapping):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hidden(item) for item in value]
    if isinstance(value, bool) or value is None or value == "":
        return value
    return value if isinstance(value, str) and is_reference(value) else HIDDEN
