"""Run the commands that pages of the documentation show, and compare or renew the output below them.

    python docs/run.py docs/tutorial.md              run a page and watch
    python docs/run.py --check docs                  compare every page with what its commands print now
    python docs/run.py --write docs/tutorial.md      write what they print now into the page
    python docs/run.py --write --quick docs          the same without what varies, in less than a minute

A screen is a fenced block that begins with ``$ ``. Its commands run in order, in a copy of the repository's
examples, as ``bash`` would run them; ``> `` goes on with a command, other lines are its output.
Comments on the lines above a screen:

    <!-- exit: 1 -->                 the exit code of its last command, 0 where nothing is said
    <!-- recorded: why -->           not run: it stands as it was recorded
    <!-- varies: why -->             run, but the output is not compared ...
    <!-- holds: pattern -->          ... except that old and new output match this pattern
    <!-- until: address -->          runs in the background; the page goes on when the address answers
    <!-- tests: command -->          what stands for its last command with --quick, as in the tests

Anywhere in a page: ``<!-- setup`` and commands up to ``-->`` run unseen, with this folder's parent in
``$REPOSITORY``; ``<!-- start -->`` above a block of ``sh`` has its servers, one a command, run on in the
background from when ``/health`` on their ``--port`` answers; ``<!-- ports: 30000 30001 -->`` names ports that
stand for free ones; what stands between ``<!-- from: command -->`` and ``<!-- end -->`` is the command's
output as it is.
"""

from __future__ import annotations

import argparse
import difflib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("eaglecfg.yaml", "examples", "studies", "schemas", "docs/tables.py")
HOME = "/home/you"
"""What stands in a page for the folder that its commands run in."""

LIMIT_S = 600.0
START_S = 120.0

ENVIRONMENT = {
    "COLUMNS": "110",
    "NO_COLOR": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "You",
    "GIT_AUTHOR_EMAIL": "you@example.org",
    "GIT_COMMITTER_NAME": "You",
    "GIT_COMMITTER_EMAIL": "you@example.org",
}

PART = re.compile(
    r"(?P<comments>(?:^<!-- (?:exit|recorded|varies|holds|until|tests): (?:(?!-->)[\s\S])*-->\n)*)"
    r"^(?P<fence>`{3,})(?P<language>\w*)\n(?P<body>\$ [\s\S]*?)^(?P=fence)$"
    r"|^<!-- setup\n(?P<setup>[\s\S]*?)^-->$"
    r"|^<!-- start -->\n```sh\n(?P<start>[\s\S]*?)^```$"
    r"|^<!-- from: (?P<source>.*?) -->\n(?P<made>[\s\S]*?)^<!-- end -->$"
    r"|^(?P<other>`{3,})[\s\S]*?^(?P=other)$",
    re.MULTILINE,
)
"""What runs, and other fenced blocks, in which nothing counts as a mark."""

COMMENT = re.compile(r"<!-- (\w+): ((?:(?!-->)[\s\S])*?)\s*-->")
PORTS = re.compile(r"^<!-- ports: ([\d ]+) -->$", re.MULTILINE)
IN_SHELL = re.compile(r"[|&;<>$`*?~\\\n]|^\S+=")


@dataclass
class Step:
    """A command, and the output that stands below it."""

    command: str
    output: str = ""


@dataclass
class Screen:
    """A block of commands with what the comments above it say. ``where`` is its line in the page."""

    where: int
    steps: list[Step]
    exit: int = 0
    recorded: str = ""
    varies: str = ""
    holds: list[str] = field(default_factory=list)
    until: str = ""
    tests: str = ""


def screen_of(found: re.Match[str]) -> Screen:
    """The screen that ``PART`` found."""
    steps: list[Step] = []
    for row in found["body"].splitlines(keepends=True):
        if row.startswith("$ "):
            steps.append(Step(row[2:].rstrip("\n")))
        elif row.startswith("> ") and not steps[-1].output:
            steps[-1].command += "\n" + row[2:].rstrip("\n")
        else:
            steps[-1].output += row
    out = Screen(found.string.count("\n", 0, found.start("fence")) + 1, steps)
    for name, value in COMMENT.findall(found["comments"]):
        if name == "holds":
            out.holds.append(value)
        else:
            setattr(out, name, int(value) if name == "exit" else " ".join(value.split()))
    return out


def screens_of(text: str) -> list[Screen]:
    """The screens of a page."""
    return [screen_of(found) for found in PART.finditer(text) if found["body"]]


def steady(text: str) -> str:
    """``text`` without what differs from run to run: times taken, and counts that grow with every rule."""
    return re.sub(r"\d+ (rules|checks|passed|not applicable)", r"N \1", timeless(text))


def timeless(text: str) -> str:
    """``text`` without times taken."""
    return re.sub(r"\d+\.\d\d s\b", "T s", text)


class Failed(Exception):
    """A command that did not end as its page says."""


class Workplace:
    """A copy of the repository's examples to run commands in; ends what they left running."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder.resolve()
        self.here = self.folder / "eaglecfg"
        self.quick = quick
        self.left: list[subprocess.Popen[bytes]] = []
        self.ports: dict[str, str] = {}
        _copy(self.here)
        programs = self.folder / ".programs"
        programs.mkdir()
        for name, words in {"eaglecfg": "-m eaglecfg", "python": "", "python3": ""}.items():
            program = programs / name
            program.write_text(
                f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n', encoding="utf-8"
            )
            program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTEST_"))}
        for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "CI"):
            kept.pop(name, None)
        paths = {
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
            "PYTHONPATH": str(ROOT),
            "REPOSITORY": str(ROOT),
        }
        self.environment = {**kept, **ENVIRONMENT, **paths}

    def run(self, command: str) -> tuple[int, str]:
        """Exit code and output, both streams as on a terminal."""
        command = self._meant(command)
        words = shlex.split(command, comments=True) if "\n" not in command else []
        simple = words[:1] == ["eaglecfg"] and not IN_SHELL.search(command.split(" #")[0])
        if simple and (words[1:2] != ["tune"] or {"--dry-run", "report", "status"} & set(words)):
            return self._run_here(words[1:])
        place = self.folder / ".place"
        script = f"{command}\ncode=$?\npwd > {shlex.quote(str(place))}\nexit $code\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.here,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
        )
        if place.exists():
            self.here = Path(place.read_text(encoding="utf-8").rstrip("\n"))
        return done.returncode, self._shown(done.stdout.decode("utf-8", "replace"))

    def start(self, command: str) -> Path:
        """Run ``command`` in the background; the file that it prints to."""
        log = self.folder / f".background-{len(self.left)}"
        with log.open("wb") as out:
            self.left.append(
                subprocess.Popen(
                    ["bash", "-c", self._meant(command.rstrip().removesuffix("&"))],
                    cwd=self.here,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )
        return log

    def wait(self, address: str, log: Path) -> str:
        """Wait until ``address`` answers; what was printed up to then. Raises Failed."""
        end = time.monotonic() + START_S
        while time.monotonic() < end and all(process.poll() is None for process in self.left):
            try:
                with urllib.request.urlopen(self._meant(address), timeout=START_S):
                    return self._shown(log.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                time.sleep(0.1)
        raise Failed(f"nothing answers at {address}:\n{log.read_text(encoding='utf-8', errors='replace')}")

    def close(self) -> None:
        """End what runs in the background."""
        for process in self.left:
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(10)

    def _run_here(self, words: list[str]) -> tuple[int, str]:
        """The same within this process: Python would otherwise start anew for every screen."""
        from eaglecfg.cli.main import run

        written = io.BytesIO()
        screen = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
        old = dict(os.environ)
        try:
            os.environ.clear()
            os.environ.update(self.environment)
            with chdir(self.here), redirect_stdout(screen), redirect_stderr(screen):
                code = run(words)
        finally:
            os.environ.clear()
            os.environ.update(old)
        return code, self._shown(written.getvalue().decode("utf-8", "replace"))

    def _meant(self, command: str) -> str:
        command = command.replace(HOME, str(self.folder))
        for shown, port in self.ports.items():
            command = command.replace(shown, port)
        return command

    def _shown(self, text: str) -> str:
        text = text.replace(str(self.folder), HOME)
        for shown, port in self.ports.items():
            text = re.sub(rf"(?<!\d){port}(?!\d)", shown, text)
        return "".join(row.rstrip() + "\n" for row in text.splitlines())


@contextmanager
def workplace(quick: bool = False) -> Iterator[Workplace]:
    """A place for one page, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="eaglecfg-docs-") as folder:
        place = Workplace(Path(folder), quick)
        try:
            yield place
        finally:
            place.close()


def _copy(folder: Path) -> None:
    """What git keeps of the files that pages use, or all of them where there is no git."""
    names = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *COPIED]
    listed = subprocess.run(names, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        files = [Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
    else:
        found = (
            path
            for name in COPIED
            for path in ((ROOT / name).rglob("*") if "." not in name else [ROOT / name])
        )
        files = [path.relative_to(ROOT) for path in found if path.is_file()]
    for file in files:
        if (ROOT / file).is_file():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)


def renewed(text: str, place: Workplace, watch: bool = False) -> str:
    """The page ``text`` with the output of its commands as it is now. Raises Failed."""
    from eaglecfg.machine.ports import free_port

    shown = PORTS.search(text)
    place.ports = {port: str(free_port()) for port in shown[1].split()} if shown else {}

    seen = 0

    def part(found: re.Match[str]) -> str:
        nonlocal seen
        if watch:
            headings = re.findall(r"^#+ .*", text[seen : found.start()], re.MULTILINE)
            sys.stdout.write("".join(f"\n{heading}\n\n" for heading in headings))
            seen = found.end()
        if found["setup"]:
            code, output = place.run(f"set -e\n{found['setup']}")
            if code:
                raise Failed(f"the setup {found['setup']!r} ended with {code}:\n{output}")
            return found[0]
        if found["start"]:
            commands = found["start"].replace("\\\n", "").splitlines()
            for command, log in [(command, place.start(command)) for command in commands]:
                port = re.search(r"--port (\d+)", command)
                assert port, f"{command!r} names no --port"
                place.wait(f"http://127.0.0.1:{port[1]}/health", log)
            return found[0]
        if found["source"]:
            code, output = place.run(found["source"])
            if code:
                raise Failed(f"{found['source']!r} ended with {code}:\n{output}")
            return f"<!-- from: {found['source']} -->\n{output}<!-- end -->"
        return _screen(found, place, watch) if found["body"] else found[0]

    return PART.sub(part, text)


def _screen(found: re.Match[str], place: Workplace, watch: bool) -> str:
    screen = screen_of(found)
    if screen.recorded:
        return found[0]
    body = ""
    for step in screen.steps:
        last = step is screen.steps[-1]
        command = screen.tests if last and screen.tests and place.quick else step.command
        if watch:
            sys.stdout.write(f"$ {command}\n")
            sys.stdout.flush()
        if last and screen.until:
            code, output = 0, place.wait(screen.until, place.start(command))
        else:
            code, output = place.run(command)
        if watch:
            sys.stdout.write(output)
        wanted = screen.exit if last else 0
        if code != wanted:
            raise Failed(f"line {screen.where}: {command!r} ended with {code}, not {wanted}:\n{output}")
        for pattern in screen.holds if last else ():
            if not re.search(pattern, output):
                raise Failed(f"line {screen.where}: {pattern!r} is not in\n{output}")
        kept = step.output if place.quick and (screen.varies or screen.until) else output
        body += "$ " + step.command.replace("\n", "\n> ") + "\n" + kept
    inner = max(map(len, re.findall(r"^`{3,}", body, re.MULTILINE)), default=0)
    fence = "`" * max(inner + 1, 3) if inner else found["fence"]
    return f"{found['comments']}{fence}{found['language']}\n{body}{fence}"


def compared(text: str) -> str:
    """``text`` without what is not compared."""

    def part(found: re.Match[str]) -> str:
        if not found["body"]:
            return found[0]
        screen = screen_of(found)
        return found["comments"] if screen.varies or screen.until else found[0]

    return steady(PART.sub(part, text))


def changes(old: str, now: str) -> str:
    """What differs of what is compared, as a unified diff; empty where nothing does."""
    lines = (compared(old).splitlines(), compared(now).splitlines())
    return "\n".join(difflib.unified_diff(*lines, "the page", "now", lineterm="", n=1))


def unheld(text: str) -> list[str]:
    """Patterns that the output in the page does not match, though it says that they hold."""
    return [
        f"line {screen.where}: {pattern}"
        for screen in screens_of(text)
        for pattern in screen.holds
        if not re.search(pattern, screen.steps[-1].output)
    ]


def pages(names: list[str]) -> list[Path]:
    """The pages that ``names`` stand for: files, and folders of them."""
    paths = [Path(name) for name in names]
    return [page for path in paths for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])]


def main(arguments: list[str] | None = None) -> int:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [OPTION] PAGE...",
    )
    parser.add_argument("page", nargs="+")
    parser.add_argument("--check", action="store_true", help="compare, print nothing of the run")
    parser.add_argument("--write", action="store_true", help="write the output into the pages")
    parser.add_argument("--quick", action="store_true", help="run the quick commands that the tests use")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))
    bad = 0
    for page in pages(options.page):
        try:
            text = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            sys.stderr.write(f"{page}: {error}\n")
            bad = 1
            continue
        if not PART.search(text):
            continue
        try:
            with workplace(options.quick) as place:
                now = renewed(text, place, watch=not options.check and not options.write)
        except (Failed, subprocess.TimeoutExpired) as error:
            sys.stderr.write(f"{page}: {error}\n")
            bad = 1
            continue
        if not options.check and not options.write:
            sys.stdout.write(f"\n{page}: every command ended as the page says\n")
        if options.write and timeless(now) != timeless(text):
            page.write_text(now, encoding="utf-8")
            sys.stderr.write(f"{page}: written\n")
        differs = "\n".join([changes(text, now), *unheld(text)]).strip("\n")
        if options.check and differs:
            sys.stderr.write(f"{differs}\n{page}: old; run: python docs/run.py --write --quick {page}\n")
            bad = 1
    return bad


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(130) from None
