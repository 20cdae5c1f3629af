"""What holds, in fifty lines: the reference that random histories are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Entry:
    """A record: whether it was kept, withdrawn, what it took the place of and what it rests on."""

    kept: bool = True
    withdrawn: bool = False
    replaces: frozenset[str] = frozenset()
    rests_on: frozenset[str] = frozenset()
    changed: int = 0
    """The write that changed it last, so that a change there and back is a change."""


Seen = dict[str, tuple[Entry, bool]]
"""Every record with whether it holds."""


@dataclass
class Model:
    entries: dict[str, Entry] = field(default_factory=dict)
    writes: list[tuple[str, Seen, Seen]] = field(default_factory=list)
    """Author, and the records before and after each write that is not undone."""
    count: int = 0

    def holds(self, id: str) -> bool:
        entry = self.entries[id]
        return entry.kept and not entry.withdrawn and not any(self.alive(new) for new in self.successors(id))

    def alive(self, id: str) -> bool:
        """Whether it, or something in its place, holds."""
        return self.holds(id) or any(self.alive(new) for new in self.successors(id))

    def successors(self, id: str) -> list[str]:
        return [new for new, entry in self.entries.items() if id in entry.replaces and entry.kept]

    def in_force(self) -> set[str]:
        return {id for id in self.entries if self.holds(id)}

    def suspect(self, id: str) -> bool:
        known = [premise for premise in self.entries[id].rests_on if premise in self.entries]
        return any(self.fallen(premise) or self.suspect(premise) for premise in known)

    def fallen(self, id: str) -> bool:
        return self.entries[id].withdrawn or (self.entries[id].kept and not self.holds(id))

    def write(self, author: str, changes: dict[str, Entry]) -> None:
        before = self.seen()
        self.entries = {**self.entries, **changes}
        self.count += 1
        for id, seen in self.seen().items():
            if before.get(id) != seen:
                self.entries[id] = replace(seen[0], changed=self.count)
        self.writes.append((author, before, self.seen()))

    def seen(self) -> Seen:
        return {id: (entry, self.holds(id)) for id, entry in self.entries.items()}

    def withdraw(self, author: str, ids: list[str]) -> None:
        self.write(author, {id: replace(self.entries[id], withdrawn=True) for id in ids})

    def restore(self, author: str, id: str) -> None:
        """It holds again; whatever held in its place is withdrawn, one after the other."""
        trial = Model({**self.entries, id: replace(self.entries[id], withdrawn=False)})
        while not trial.holds(id):
            heir = next(new for new in trial.line(id) if trial.holds(new))
            trial.entries[heir] = replace(trial.entries[heir], withdrawn=True)
        self.write(author, trial.entries)

    def line(self, id: str) -> list[str]:
        nearest = self.successors(id)
        return [*nearest, *(later for new in nearest for later in self.line(new))]

    def undo(self, author: str) -> bool | None:
        """Back to before the author's last write; false where somebody changed the same since, None without one."""
        at = next((at for at in reversed(range(len(self.writes))) if self.writes[at][0] == author), None)
        if at is None:
            return None
        _, before, after = self.writes[at]
        changed = [id for id in {*before, *after} if before.get(id) != after.get(id)]
        now = self.seen()
        if any(now.get(id) != after.get(id) for id in changed):
            return False
        del self.writes[at]
        back = {id: before[id][0] for id in changed if id in before}
        self.entries = {id: entry for id, entry in self.entries.items() if id not in changed} | back
        return True
