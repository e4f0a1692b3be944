"""Checks. One rule per file; its documentation and examples stand beside it as data."""
