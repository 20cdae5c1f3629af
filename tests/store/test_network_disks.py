"""A store on a network file system is recognised, warned about once, and refused where it cannot work at all."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from clew.errors import ClewError
from clew.store import link as file_system
from clew.store.link import network_file_system, warn_of_network
from clew.store.sqlite import SqliteDatabase

NFS, EXT4 = 0x6969, 0xEF53


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    warn_of_network.cache_clear()
    yield
    warn_of_network.cache_clear()


def on(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """As if the kernel said so: nothing in a test can mount such a file system."""
    monkeypatch.setattr(file_system, "_number", lambda _: number)


def open_store(path: Path) -> None:
    database = SqliteDatabase(path)
    with database.write() as tx:
        tx.run("INSERT INTO meta (key, value) VALUES ('k', 'v')")
    database.close()


@pytest.mark.parametrize(
    ("number", "name"), [(NFS, "nfs"), (0xFF534D42, "cifs"), (0xFE534D42, "smb2"), (0x01021997, "9p"), (EXT4, None)]
)
def test_the_kernels_number_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int, name: str | None
) -> None:
    on(monkeypatch, number)
    assert network_file_system(tmp_path / "not" / "made" / "yet" / "clew.db") == name


def test_the_kernel_is_asked_truly() -> None:
    assert file_system._number(Path("/proc")) == 0x9FA0
    assert network_file_system(Path("/proc/self")) is None


def test_fuse_tells_what_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on(monkeypatch, file_system.FUSE)
    assert network_file_system(Path("/proc/self")) == "proc"  # what mountinfo says of the nearest mount


def test_a_store_on_a_network_is_warned_about_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    on(monkeypatch, NFS)
    with caplog.at_level(logging.WARNING, "clew.store"):
        open_store(tmp_path / "clew.db")
        SqliteDatabase(tmp_path / "clew.db").schema_version()
    (said,) = caplog.messages
    assert "network file system (nfs)" in said
    assert "CLEW_HOME" in said


def test_a_local_store_is_no_news(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "clew.store"):
        open_store(tmp_path / "clew.db")
    assert caplog.messages == []


def test_a_disk_without_shared_memory_is_refused_and_left_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on(monkeypatch, NFS)
    disk = apsw.VFS("without-shared-memory", "unix-dotfile", makedefault=True)
    try:
        with pytest.raises(ClewError) as refused:
            open_store(tmp_path / "clew.db")
    finally:
        disk.unregister()
    assert refused.value.code == "STORE_UNAVAILABLE"
    assert "nfs" in refused.value.message
    assert "CLEW_HOME" in (refused.value.recovery or "")
    assert (tmp_path / "clew.db").stat().st_size == 0
