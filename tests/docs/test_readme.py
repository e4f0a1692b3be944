"""What the README shows is what the tool prints."""

from __future__ import annotations

import re

from docs.run import ROOT, compared, renewed, screens_of, workplace

README = (ROOT / "README.md").read_text(encoding="utf-8")
FAULTY = "```text\n$ eaglecfg validate examples/kimi-k2.5/after-upgrade.yaml\n"


def test_the_screens_of_the_readme_are_real() -> None:
    assert README.count(FAULTY) == 1
    text = README.replace(FAULTY, f"<!-- exit: 1 -->\n{FAULTY}")
    assert screens_of(text)
    with workplace(quick=True) as place:
        assert place.run("python examples/kimi-k2.5/make_files.py")[0] == 0
        now = renewed(text, place)
    assert compared(now) == compared(text)


def test_every_file_that_the_readme_names_exists() -> None:
    names = re.findall(r"\]\(([^)#:]+)\)", README)
    assert names
    for name in names:
        assert (ROOT / name).exists(), name
