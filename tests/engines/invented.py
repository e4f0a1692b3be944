"""An invented ``sglang`` package of two files, with a ServerArgs of the same interface."""

from __future__ import annotations

from pathlib import Path

SERVER_ARGS = """
import argparse


class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", required=True)
        parser.add_argument("--speculative-algorithm")
        parser.add_argument("--speculative-draft-model-path")
        parser.add_argument("--speculative-num-steps", type=int)
        parser.add_argument("--speculative-eagle-topk", type=int)
        parser.add_argument("--speculative-num-draft-tokens", type=int)
        parser.add_argument("--tp-size", type=int, default=1)
        parser.add_argument("--page-size", type=int)
        parser.add_argument("--device")
        parser.add_argument("--api-key")
        parser.add_argument("--load-balance-method", default="auto")
        parser.add_argument("--schedule-conservativeness", type=float, default=1.0)
        parser.add_argument("--disable-radix-cache", action="store_true")

    def __init__(self, given):
        vars(self).update(vars(given))
        self.speculative_draft_model_revision = "main"
        self.max_running_requests = 48
        self.page_size = self.page_size or 1
        self.adapter = object()
        {does}

    def check_server_args(self):
        {checks}


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    print("this is the engine's log")
    return ServerArgs(parser.parse_args(argv))
"""


def write_engine(
    folder: Path, does: str = "pass", version: str = "0.5.14", first: str = "", checks: str = "pass"
) -> Path:
    """The package under ``folder``, whose ServerArgs ends with ``does`` and is checked by ``checks``; at its
    import ``first`` runs."""
    package = folder / "sglang" / "srt"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text(f"{first}\n__version__ = {version!r}\n", encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    text = SERVER_ARGS.replace("{does}", does).replace("{checks}", checks)
    (package / "server_args.py").write_text(text, encoding="utf-8")
    return folder
