"""What one kind of record is: its name, where it lives, what its statuses mean, and what is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from clew.kinds.state import State
from clew.kinds.statuses import ACTIVE, MEANING, OPEN


class KindFamily(Enum):
    DURABLE = "standing"
    """Holds until it is replaced or withdrawn: a block of the governed memory."""
    OPEN = "open"
    """Waits for an answer: a card."""
    HAPPENED = "happened"
    """Was seen or done: a card, a proof, a note."""
    THINKING = "thinking"
    WORK = "work"
    ENTITY = "entity"
    """A person, tool, project or incident that blocks of a Mind-Mem workspace describe."""
    BOOKKEEPING = "bookkeeping"
    """Says how memory is kept, not what is known."""


class Owner(Enum):
    """Who may change or withdraw a record without asking a person."""

    USER = "user"
    AGENTS = "agents"


@dataclass(frozen=True)
class Kind:
    name: str
    family: KindFamily
    store: str
    """Which store keeps it, as the search index names its source: block, card, task, thought, evidence, ..."""
    synonyms: tuple[str, ...] = ()
    """Other words for it in `remember` and `recall`."""
    plural: str = ""
    form: str = ""
    """The pattern of its ids, if their form identifies the kind; ids of blocks follow from the prefix."""
    states: Mapping[str, State] = field(default_factory=dict)
    """The statuses that its store writes; any other word means what `statuses.MEANING` says."""
    as_card: Mapping[str, State] = field(default_factory=dict)
    """The same for records of this kind that are cards, where those of its own store are not."""
    section: str = ""
    """Under which heading `resume` shows it; empty: not at all."""
    label: str | None = None
    """The label before its text under that heading; by default its name."""
    binds: float = 0.0
    """How binding it is for the next action: search prefers what binds."""
    compared: bool = False
    """Whether records of this kind can contradict each other."""
    owner: Owner = Owner.AGENTS

    # Blocks only: their form in a Markdown file.
    prefix: str = ""
    file: str = ""
    heading: str = ""
    required: tuple[str, ...] = ()
    """Fields that a block of this kind must have."""
    fields: str = ""
    """The fields that the head of its file names; by default the required ones."""
    live: tuple[str, ...] = (ACTIVE,)
    """Statuses under which it counts in health figures."""
    searched: bool = True
    searched_as: tuple[str, ...] = ()
    """Statuses under which it can be found; empty: under any."""
    hidden_as: tuple[str, ...] = ()
    """Statuses under which it cannot."""
    example: str = ""
    """What its ids look like, where they are neither numbered nor dated."""

    @property
    def statuses(self) -> tuple[str, ...]:
        return tuple(self.states)

    @property
    def is_durable(self) -> bool:
        return self.family is KindFamily.DURABLE

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that means this kind."""
        plural = (self.plural,) if self.plural else ()
        return (self.name, f"{self.name}s", *plural, *self.synonyms)

    @property
    def is_remembered(self) -> bool:
        """Whether an agent keeps such records by `remember`."""
        own = self.family in (KindFamily.DURABLE, KindFamily.OPEN) or self.store == CARD
        return own or self.store == THOUGHT

    def state(self, status: str | None, store: str | None = None) -> State:
        """What a status means for a record of this kind; a store may be named where two keep such records."""
        word = (status or "").strip().lower()
        own = self.as_card if store == CARD and self.store != CARD else self.states
        return own.get(word) or MEANING.get(word) or self._default(own)

    def _default(self, own: Mapping[str, State]) -> State:
        """An unknown word or none leaves a record as it began."""
        return own.get(OPEN) or (State.OPEN if self.family is KindFamily.WORK else State.IN_FORCE)


CARD = "card"
BLOCK = "block"
THOUGHT = "thought"
