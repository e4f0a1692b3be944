"""The runner of the pages: what a screen is, what is compared, what is told when a page is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs.run import ROOT, Failed, compared, renewed, screens_of, unheld, workplace

SERVER = "<!-- ports: 30000 -->\n<!-- until: http://127.0.0.1:30000/ -->\n"
PAGE = """\
# Page

<!-- setup
printf 'one\\ntwo\\n' > file
-->
```console
$ cat file
old
$ cat >> file <<'END'
> three
> END
$ cd examples && cat ../file
```

<!-- exit: 3 -->
```text
$ (exit 3)
```

```yaml
key: |
  $ not a command
```

<!-- recorded: it needs a machine -->
```console
$ never-there --option
as it was
```

<!-- from: echo '| made |' -->
<!-- end -->
"""


def test_a_page_is_written_anew_and_then_stays() -> None:
    with workplace() as place:
        now = renewed(PAGE, place)
        assert place.here.name == "examples"
    assert [len(screen.steps) for screen in screens_of(now)] == [3, 1, 1]
    assert "$ cat file\none\ntwo\n$ cat >> file <<'END'\n> three\n> END\n$ cd examples" in now
    assert "cat ../file\none\ntwo\nthree\n```" in now
    assert "as it was" in now
    assert "-->\n| made |\n<!-- end -->" in now
    assert compared(now) != compared(PAGE)
    with workplace() as place:
        assert renewed(now, place) == now


def test_an_exit_code_that_is_not_said_fails_with_the_line_and_the_output() -> None:
    text = "```console\n$ echo why; exit 4\n```\n"
    with workplace() as place, pytest.raises(Failed, match=r"line 1: .* ended with 4, not 0:\nwhy"):
        renewed(text, place)


def test_what_varies_is_held_by_patterns_in_both_the_page_and_the_run() -> None:
    marks = "<!-- varies: a clock is read -->\n<!-- holds: ^took \\d+ -->\n"
    text = f"{marks}```console\n$ echo took 5\ntook 7\n```\n"
    with workplace() as place:
        now = renewed(text, place)
    assert now != text
    assert compared(now) == compared(text)
    assert unheld(text) == []
    assert unheld(text.replace("took 7", "took long")) != []
    with workplace() as place, pytest.raises(Failed, match="is not in"):
        renewed(text.replace("echo took 5", "echo nothing"), place)


def test_output_with_fences_gets_a_longer_fence() -> None:
    text = "```console\n$ printf '```diff\\n+ a\\n```\\n'\n```\n"
    with workplace() as place:
        now = renewed(text, place)
        assert now.startswith("````console\n")
        assert renewed(now, place) == now


def test_quick_commands_stand_in_without_a_trace_in_the_page() -> None:
    marks = "<!-- varies: it is slow -->\n<!-- holds: done -->\n<!-- tests: echo done -->\n"
    text = f"{marks}```console\n$ sleep 999\ndone\n```\n"
    with workplace(quick=True) as place:
        assert renewed(text, place) == text


def test_paths_of_this_machine_and_ports_are_not_shown() -> None:
    text = "<!-- ports: 30000 -->\n```console\n$ pwd; echo at 30000\n```\n"
    with workplace() as place:
        now = renewed(text, place)
        assert place.ports["30000"] != "30000"
    assert "\n/home/you/eaglecfg\nat 30000\n" in now


def test_servers_are_ended_with_their_page() -> None:
    server = "import http.server as h; h.HTTPServer(('', 30000), h.SimpleHTTPRequestHandler).serve_forever()"
    text = f'{SERVER}```console\n$ python -c "{server}" &\n```\n'
    with workplace() as place:
        renewed(text, place)
        (process,) = place.left
        assert process.poll() is None
    assert process.poll() is not None


def test_a_server_that_ends_by_itself_is_told_with_what_it_printed() -> None:
    text = f"{SERVER}```console\n$ echo no GPU; exit 1 &\n```\n"
    with (
        workplace() as place,
        pytest.raises(Failed, match=r"nothing answers at \S+:30000/:\nno GPU"),
    ):
        renewed(text, place)


def test_the_command_compares_and_says_what_to_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ eaglecfg schema\nold\n```\n", encoding="utf-8")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "docs" / "run.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    old = call("--check", "page.md")
    assert old.returncode == 1
    assert "\n-old\n+eaglecfg.schema.json\n" in old.stderr
    assert old.stderr.endswith("page.md: old; run: python docs/run.py --write --quick page.md\n")
    assert call("--write", str(tmp_path)).returncode == 0
    assert "study.schema.json\n" in page.read_text(encoding="utf-8")
    assert call("--check", str(tmp_path)).returncode == 0
    gone = call("gone.md")
    assert (gone.returncode, len(gone.stderr.splitlines())) == (1, 1)
