"""Bounds on what is taken from a file, each with its reason."""

from __future__ import annotations

MAX_BYTES = 1024 * 1024
"""A config of 100 deployments has about 100 KiB. What is larger was most likely named by mistake."""

MAX_DEPTH = 64
"""The deepest key of the format has depth 6, free values of flags add a few. Keeps recursion bounded."""

MAX_VALUES = 100_000
"""Keys and values once aliases are followed. Nested aliases multiply; this ends them within a second."""

MAX_PROBLEMS = 100
"""Problems kept per file. One slip can repeat on every line of a large file; nobody reads more than this."""

MAX_DIGITS = 1_000
"""Python refuses to print integers of more than 4,300 digits, so a longer one could not even be shown."""

SHOWN_CHARACTERS = 60
"""Longest stretch of a user's text that a message quotes."""
