"""Saved files are whole: no failure in the middle takes what was there before."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kernels
import numpy as np
import pytest

import cyclotron as cy
from cyclotron.support import files

SCHEDULE = cy.Schedule().space("i", "j")


def _program() -> cy.Program:
    return kernels.matmul.compile(cy.spec((3, 3)), cy.spec((3, 3)), schedule=SCHEDULE)


def _result() -> Any:
    return cy.run(_program(), np.ones((3, 3)), np.ones((3, 3)), backend="sim")


SAVES: dict[str, Callable[[Path], Any]] = {
    "program": lambda path: _program().save(path),
    "machine": lambda path: cy.machines.wormhole().save(path),
    "schedule": lambda path: SCHEDULE.space("i", "j").save(path),
    "trace": lambda path: _result().save_trace(path),
    "sweep": lambda path: cy.sweep(_program(), depth=[1, 2]).to_csv(path),
    "picture": lambda path: _result().plot.utilization(path=path),
}


@contextmanager
def _full_disk(left: int) -> Iterator[None]:
    """No file grows beyond so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("kind", SAVES)
def test_a_full_disk_loses_nothing(kind: str, tmp_path: Path) -> None:
    save, path = SAVES[kind], tmp_path / "saved.png"
    path.write_text("before")
    with _full_disk(8), pytest.raises(OSError, match="saved"):
        save(path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["saved.png"]
    save(path)
    assert path.read_bytes() != b"before"
    assert os.listdir(tmp_path) == ["saved.png"]


def test_an_interrupt_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "saved"
    path.write_text("before")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_file(path, "after")
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["saved"]


def test_links_permissions_and_devices_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "saved", tmp_path / "link"
    files.write_file(path, "first")
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    path.chmod(0o640)
    link.symlink_to(path)
    files.write_file(link, b"second")
    assert link.is_symlink()
    assert path.read_text() == "second"
    assert path.stat().st_mode & 0o777 == 0o640
    files.write_file("/dev/null", "nothing")
    assert not Path("/dev/null").is_file()


def test_a_failure_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "saved"
    with pytest.raises(FileNotFoundError) as caught:
        _program().save(path)
    assert caught.value.filename == str(path)
