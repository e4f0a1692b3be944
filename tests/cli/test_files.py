"""Files that a command may not write: who they belong to, and what helps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eaglecfg.cli.files import check_writable
from eaglecfg.errors import UsageError

NOBODY = 65_534


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as raised:
        check_writable(str(path))
    return str(raised.value)


def test_a_file_of_ones_own_is_made_writable(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("x", encoding="utf-8")
    for mode in (0o444, 0o400):
        path.chmod(mode)
        assert refusal(path) == (
            f"{path}: the file is read-only (mode {mode:04o}); name another file, or allow it with chmod u+w"
        )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of others")
@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (
            0o644,
            "the file belongs to root (mode 0644), and this user ({who}) may not write there; "
            "name another file",
        ),
        (
            0o600,
            "the file belongs to root (mode 0600), and this user ({who}) may not write there; "
            "name another file",
        ),
        (0o444, "the file is read-only (mode 0444) and belongs to root; name another file"),
    ],
)
def test_the_file_of_another_owner_is_his_and_no_mode_that_is_good_already_is_advised(
    mode: int, says: str, tmp_path: Path
) -> None:
    import pwd

    folder = (
        Path(os.path.realpath("/tmp")) / f"eaglecfg-{os.getpid()}-{mode}"
    )  # pytest's own is closed to others
    folder.mkdir()
    folder.chmod(0o777)
    path = folder / "f"
    try:
        path.write_text("x", encoding="utf-8")
        path.chmod(mode)
        os.setresuid(NOBODY, NOBODY, 0)
        try:
            found = refusal(path)
        finally:
            os.setresuid(0, 0, 0)
    finally:
        path.unlink()
        folder.rmdir()
    assert found == f"{path}: {says.format(who=pwd.getpwuid(NOBODY).pw_name)}"
    assert "chmod" not in found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_of_roots_is_told_as_such() -> None:
    found = refusal(Path("/etc/passwd"))
    assert "belongs to root" in found
    assert "chmod" not in found
