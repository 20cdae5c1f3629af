"""Files and store, brought to agree: hand edits in, governed writes out.

`sync` comes before every read of memory, `publish` after every write. Both hold the directory's lock and do the same:
read back what people changed since the last rendering, then render what the store has that the files have not.
"""

from __future__ import annotations

from dataclasses import dataclass

from clew.errors import ClewError
from clew.memory import edits, places, plain, watchers
from clew.memory.directory import DERIVED, Content, Directory, Known, State, directory_of, known, store_name
from clew.memory.places import WHOLE, size
from clew.registry.context import Context
from clew.store.database import Row

ROUNDS = 4


@dataclass(frozen=True)
class Edit:
    """A file that is not as it was rendered; `base` is the text it was edited from, when that is known."""

    path: str
    text: str
    base: str | None
    number: int
    late: bool = False
    """Saved by a person in the very moment in which the file was rendered over it."""


@dataclass(frozen=True)
class Output:
    path: str
    content: Content
    number: int
    seq: int
    tracked: bool


def sync(ctx: Context) -> None:
    """Read back hand edits. Costs a few stats when there are none."""
    directory = directory_of(ctx)
    if directory is not None and directory.root.is_dir() and _stirred(ctx, directory):
        _agree(ctx, directory)


def publish(ctx: Context) -> None:
    """Render what was committed. A directory that cannot be written does not undo the commit: the caller is warned."""
    directory = directory_of(ctx)
    if directory is None:
        return
    try:
        _agree(ctx, directory)
    except ClewError as problem:
        recovery = problem.recovery or "Mend the directory."
        ctx.warn("FILES_BEHIND", f"The change is stored, its file is not: {problem.message}", recovery)


def _stirred(ctx: Context, directory: Directory) -> bool:
    """Whether a file changed since it was rendered, or the store since then."""
    state = directory.state()
    for path in [*directory.block_files(), *directory.plain_files()]:
        stamp, entry = directory.stamp(path), state.files.get(path)
        if stamp is None or entry is None or not entry.trusts(stamp):
            return True
    with ctx.reading() as bound:
        return any(_behind(state, row["path"], row["seq"], directory) for row in _heads(bound))


def _behind(state: State, path: str, seq: int, directory: Directory) -> bool:
    if not _tracked(path):
        return bool(seq > state.write_only_seq)
    entry = state.files.get(path)
    return entry is None or entry.seq < seq or directory.stamp(path) is None


def _tracked(path: str) -> bool:
    return not path.startswith(("intelligence/applied/", f"{DERIVED}/"))


def _heads(ctx: Context) -> list[Row]:
    """Every file that the store can render, with the seq of its last change."""
    return ctx.tx.all(
        "SELECT path, seq, bytes, 1 AS blocks FROM block_file WHERE workspace = ? AND bytes > 0"
        " UNION ALL SELECT path, seq, 1 AS bytes, 0 AS blocks FROM plain_file WHERE workspace = ? AND until IS NULL"
        " ORDER BY path",
        ctx.workspace,
        ctx.workspace,
    )


def _agree(ctx: Context, directory: Directory) -> None:
    with directory.locked():
        state = _state(ctx, directory)
        late: list[Edit] = []
        written = False
        for _ in range(ROUNDS):
            found, frozen = _look(directory, state)
            _take_in(ctx, directory, state, [*found, *late])
            late, rendered = _bring_out(ctx, directory, state, frozen)
            written = written or rendered
            if not late:
                break
        directory.save(state, durable=written)


def _state(ctx: Context, directory: Directory) -> State:
    with ctx.reading() as bound:
        name = store_name({"id": bound.ws.id, "created_at_ms": bound.ws.created_at_ms})
        newest = bound.ws.seq
    state = directory.state()
    if state.store != name or any(entry.seq > newest for entry in state.files.values()):
        return State(store=name)  # rendered from another store, or from a later state of this one
    return state


def _look(directory: Directory, state: State) -> tuple[list[Edit], dict[str, str]]:
    """The hand edits, and the files that cannot be read as text."""
    found: list[Edit] = []
    frozen: dict[str, str] = {}
    for path in [*directory.block_files(), *directory.plain_files()]:
        stamp, entry = directory.stamp(path), state.files.get(path)
        if stamp is None or (entry is not None and entry.trusts(stamp)):
            continue
        data = directory.read(path)
        base = directory.base(path) if entry is not None else None
        if not data:
            state.files.pop(path, None)  # an emptied file is an accident, not an edit: it is rendered again
            continue
        if entry is not None and data == base:
            state.files[path] = known(stamp, entry.number, entry.seq)
            continue
        try:
            text = _decoded(data)
        except ValueError as problem:
            frozen[path] = str(problem)
            continue
        number = entry.number if entry is not None else WHOLE
        found.append(Edit(path, text, base.decode() if base is not None else None, number))
        state.files[path] = known(stamp, WHOLE, WHOLE)
    return found, frozen


def _decoded(data: bytes) -> str:
    text = data.decode("utf-8")
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise ValueError(f"line {line} holds a NUL character")
    return text


def _take_in(ctx: Context, directory: Directory, state: State, found: list[Edit]) -> None:
    if not found:
        return
    for edit in found:
        if _long(edit):
            _import(ctx, edit)
    with ctx.writing() as bound:
        taken = {edit.path for edit in found if not edit.path.endswith(".md") and _take_in_plain(bound, edit)}
        same, changed = _take_in_blocks(bound, [edit for edit in found if edit.path.endswith(".md")])
        heads = {row["path"]: row["seq"] for row in _heads(bound)}
        reached = {path: (_number(bound, path), heads.get(path, 0)) for path in taken | same}
        watchers.changed(bound, changed)  # what they write is newer than the files and is rendered next
    for edit in found:
        if edit.late:
            continue
        directory.keep_base(edit.path, Content(edit.text.encode()))
        if edit.path in reached and edit.path in state.files:
            entry = state.files[edit.path]
            entry.number, entry.seq = reached[edit.path]


def _take_in_plain(ctx: Context, edit: Edit) -> bool:
    plain.take_in(ctx, edit.path, edit.base, edit.text)
    return plain.text(ctx, edit.path) == edit.text


def _take_in_blocks(ctx: Context, found: list[Edit]) -> tuple[set[str], list[str]]:
    """Returns the files that the store now has exactly as they are, and the blocks that changed."""
    plans, same = [], set()
    for edit in found:
        stored = _stored(ctx, edit)
        if stored == edit.text and not edit.late:
            same.add(edit.path)
            continue
        result = edits.merged(ctx, edit.path, edit.base, stored, edit.text)
        if result != stored:
            plans.append(edits.plan(ctx, edit.path, stored, result))
        if result == edit.text and not edit.late:
            same.add(edit.path)
    return same, edits.take_in(ctx, plans)


def _long(edit: Edit) -> bool:
    return edit.base is None and edit.text.count("\n[") > edits.PORTION


def _import(ctx: Context, edit: Edit) -> None:
    """A long file that is new to the store, in portions: each is a state of its own, and any process can go on."""
    ends = edits.portions(edit.text)
    for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
        with ctx.writing() as bound:
            if places.file_row(bound, edit.path)["bytes"] != size(edit.text[:start]):
                return  # not new, or changed meanwhile; the ordinary way merges it
            changed = edits.take_in(bound, [edits.plan(bound, edit.path, edit.text[:start], edit.text[:end])])
            watchers.changed(bound, changed)
        ctx.progress(number, len(ends), edit.path)


def _stored(ctx: Context, edit: Edit) -> str:
    """The file as the store has it: the base itself while nothing was written since."""
    fresh = edit.base is not None and edit.number == _number(ctx, edit.path)
    if fresh and edit.base is not None and size(edit.base) == places.file_row(ctx, edit.path)["bytes"]:
        return edit.base
    return edits.rendered(ctx, edit.path)


def _number(ctx: Context, path: str) -> int:
    sql = "SELECT max(number) FROM splice WHERE workspace = ? AND file = ?"
    return int(ctx.tx.value(sql, ctx.workspace, path) or 0)


def _bring_out(ctx: Context, directory: Directory, state: State, frozen: dict[str, str]) -> tuple[list[Edit], bool]:
    """Render what is newer in the store. Returns what people saved in that very moment, and whether any was newer."""
    for path, problem in frozen.items():
        ctx.warn("FILE_UNREADABLE", f"{path} is left alone: {problem}", "Save the file as UTF-8 text.")
    with ctx.reading() as bound:
        outputs = [
            _output(bound, directory, state.files.get(row["path"]), row)
            for row in _heads(bound)
            if row["path"] not in frozen and _behind(state, row["path"], row["seq"], directory)
        ]
        removed = plain.removed(bound, DERIVED, state.write_only_seq)
    for path, seq in removed.items():
        directory.remove(path)
        state.write_only_seq = max(state.write_only_seq, seq)
    late = []
    for output in outputs:
        entry = state.files.get(output.path)
        saved = directory.write(output.path, output.content, entry.stamp if entry else None, output.tracked)
        stamp = directory.stamp(output.path)
        if not output.tracked:
            state.write_only_seq = max(state.write_only_seq, output.seq)
        elif stamp is not None:
            state.files[output.path] = known(stamp, output.number, output.seq)
        if saved:
            base = saved.base.decode() if saved.base is not None else None
            late.append(Edit(output.path, saved.data.decode("utf-8", "replace"), base, WHOLE, True))
    return late, bool(outputs)


def _output(ctx: Context, directory: Directory, entry: Known | None, row: Row) -> Output:
    path = row["path"]
    tracked = _tracked(path)
    if not row["blocks"]:
        return Output(path, Content(plain.text(ctx, path).encode()), 0, row["seq"], tracked)
    content = _replayed(ctx, directory, entry, row) if tracked else None
    if content is None:
        content = Content(edits.rendered(ctx, path).encode())
    return Output(path, content, _number(ctx, path), row["seq"], tracked)


def _replayed(ctx: Context, directory: Directory, entry: Known | None, row: Row) -> Content | None:
    """The file as it was rendered, with the edits since then; None when they are not all there."""
    if entry is None or entry.number < 0:
        return None
    sql = "SELECT * FROM splice WHERE workspace = ? AND file = ? AND number > ? ORDER BY number"
    splices = ctx.tx.all(sql, ctx.workspace, row["path"], entry.number)
    if not splices or splices[0]["number"] != entry.number + 1 or any(one["removed"] == WHOLE for one in splices):
        return None
    kept = min(splice["at_byte"] for splice in splices)
    base = directory.base(row["path"], kept)
    if base is None:
        return None
    rest = bytearray(base)
    for splice in splices:
        start = splice["at_byte"] - kept
        rest[start : start + splice["removed"]] = splice["text"].encode()
    return Content(rest, kept) if kept + len(rest) == row["bytes"] else None
