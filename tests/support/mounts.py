"""File systems that refuse: a small one that fills up, and a directory that cannot be written, also for root."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def small_disk(directory: Path, size: str = "1M") -> Iterator[Path]:
    """A real file system of that size mounted on `directory`; skips where we may not mount one."""
    directory.mkdir(exist_ok=True)
    if not _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)):
        pytest.skip("a small file system can be mounted by root on Linux only")
    try:
        yield directory
    finally:
        _unmount(directory)


def can_mount(directory: Path) -> bool:
    """Whether a small file system can be mounted here."""
    directory.mkdir(exist_ok=True)
    if not _mount("-t", "tmpfs", "tmpfs", str(directory)):
        return False
    _unmount(directory)
    return True


@contextmanager
def read_only(directory: Path) -> Iterator[Path]:
    """The directory, which cannot be written meanwhile: by its permissions, or for root as a read-only mount."""
    if os.geteuid() != 0:
        with _without_permission(directory):
            yield directory
        return
    if not _mount("--bind", str(directory), str(directory)):
        pytest.skip("root ignores permissions, and may not mount here")
    try:
        assert _mount("-o", "remount,ro,bind", str(directory))
        yield directory
    finally:
        _unmount(directory)


@contextmanager
def _without_permission(directory: Path) -> Iterator[None]:
    modes = {path: path.stat().st_mode for path in (directory, *directory.iterdir())}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


def _unmount(directory: Path) -> None:
    subprocess.run(["umount", "--lazy", str(directory)], capture_output=True, check=False)
