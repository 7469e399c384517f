"""The durable steps of a file store, one method each, so that a test can cut them or count them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.disk.files import sync_directory, sync_file

if TYPE_CHECKING:
    from pathlib import Path


class Disk:
    """The real disk. Nothing is durable before it is synced: a file's bytes by `sync`, its name by `sync_directory`."""

    def write(self, path: Path, data: bytes) -> None:
        """Write a new file."""
        with path.open("xb") as file:
            file.write(data)

    def sync(self, path: Path) -> None:
        """Make a file's bytes durable."""
        sync_file(path)

    def publish(self, source: Path, target: Path) -> None:
        """Give a file a second name; `FileExistsError` when the name is taken, for a name is never replaced."""
        target.hardlink_to(source)

    def sync_directory(self, path: Path) -> None:
        """Make the names in a directory durable."""
        sync_directory(path)

    def make_directory(self, path: Path) -> None:
        """Create a directory below an existing one."""
        path.mkdir()

    def remove(self, path: Path) -> None:
        """Remove a name."""
        path.unlink()
