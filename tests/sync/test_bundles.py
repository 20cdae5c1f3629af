"""A bundle is the same bytes wherever it is written, and whatever is changed in it is found."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.sync import bundle_format
from clew.sync.bundle_format import MAGIC, BundleError, content_digest, pack, sha256, unpack
from tests.conftest import TickingClock
from tests.sync.stores import stores


def change(seq: int, text: str | None, **more: Any) -> dict[str, Any]:
    line: dict[str, Any] = {
        "agent": "mira",
        "content": content_digest(text or ""),
        "erased": [],
        "file": "decisions/DECISIONS.md",
        "kind": "write",
        "parents": [],
        "record": f"D-{seq}@abc",
        "seq": seq,
        "ts_ms": seq,
        **more,
    }
    return line if text is None else {**line, "text": text}


BUNDLE = pack("abc", "", [change(seq, f"[D-{seq}]\nStatement: number {seq} — größer") for seq in range(1, 40)])


def test_export_import_and_export_again_give_the_same_bytes(
    database_flags: dict[str, Any], tmp_path: Path, clock: TickingClock
) -> None:
    first, second = tmp_path / "first.clew", tmp_path / "second.clew"
    with stores(2, database_flags, tmp_path / "stores", clock) as (one, other):
        for number in range(30):
            one.remember(f"Statement number {number}", kind="lesson")
        origin = one("export_bundle", path=str(first))["origin"]
        taken = other("import_bundle", path=str(first))
        assert taken["received"] == 30
        assert other("import_bundle", path=str(first))["received"] == 0
        other("export_bundle", path=str(second), origin=origin)
        assert first.read_bytes() == second.read_bytes()
        assert sorted(other.statements().values()) == sorted(one.statements().values())


@settings(max_examples=300)
@given(st.integers(0, len(BUNDLE) - 1), st.integers(1, 255))
def test_every_changed_byte_is_found(place: int, flipped: int) -> None:
    damaged = bytearray(BUNDLE)
    damaged[place] ^= flipped
    with pytest.raises(BundleError):
        unpack(bytes(damaged))


@settings(max_examples=100)
@given(st.integers(0, len(BUNDLE) - 1))
def test_a_bundle_that_is_cut_off_or_longer_is_refused(length: int) -> None:
    for data in (BUNDLE[:length], BUNDLE + BUNDLE[: length + 1]):
        with pytest.raises(BundleError):
            unpack(data)


def forged(edit: Any) -> bytes:
    """The bundle with its lines edited and the outer digest made anew, as somebody would who knows the format."""
    lines = [json.loads(line) for line in zlib.decompress(BUNDLE.partition(b"\n")[2]).splitlines()]
    edit(lines)
    packed = zlib.compress(b"".join(bundle_format.canonical(line) + b"\n" for line in lines), 9)
    return MAGIC + sha256(packed).encode() + b"\n" + packed


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda lines: lines[3].update(text="[D-3]\nStatement: other"), "text of change 3"),
        (lambda lines: lines[3].update(agent="eve"), "chain of digests"),
        (lambda lines: lines.pop(5), "where change 5 belongs"),
        (lambda lines: lines.insert(5, dict(lines[4])), "where change 5 belongs"),
        (lambda lines: lines[-1].update(count=3), "chain of digests"),
        (lambda lines: lines[0].update(origin="eve"), "chain of digests"),
        (lambda lines: lines[0].update(before="ab"), "begins at 1"),
        (lambda lines: lines[2].update(more=1), "other fields"),
    ],
)
def test_whoever_makes_the_outer_digest_anew_is_found_out_by_the_chain(edit: Any, problem: str) -> None:
    with pytest.raises(BundleError, match=problem):
        unpack(forged(edit))


def test_the_verifier_needs_nothing_but_python(tmp_path: Path) -> None:
    text, erased = change(1, "a secret"), change(1, None, content=content_digest("a secret"))
    named = change(2, None, kind="erase", content="", erased=[1])
    files = {
        "whole.clew": BUNDLE,
        "erased.clew": pack("b", "", [erased, named]),
        "withheld.clew": pack("c", "", [erased]),
        "first.clew": pack("d", "", [text]),
    }
    files["second.clew"] = pack("d", unpack(files["first.clew"]).head, [change(2, "more")])
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-I", "-S", bundle_format.__file__]

    def verify(*names: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *names], cwd=tmp_path, capture_output=True, text=True, check=False)

    intact = verify("whole.clew", "erased.clew", "first.clew", "second.clew")
    assert intact.returncode == 0, intact.stdout
    assert f"head {unpack(BUNDLE).head}" in intact.stdout
    assert "change 1 has no text" in verify("withheld.clew").stdout
    assert verify("second.clew", "first.clew").returncode == 1
