"""What a reader needs to know of a record: whether it holds. Every stored status means one of these states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    PROPOSED = "proposed"
    """Waits for a person."""
    IN_FORCE = "in force"
    OPEN = "open"
    """A question, hypothesis, task or step that waits for an answer or for work."""
    SETTLED = "settled"
    """Answered, confirmed or done."""
    REPLACED = "replaced"
    """A successor took its place."""
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"

    @property
    def is_over(self) -> bool:
        """Whether a record in this state no longer holds."""
        return self in OVER

    @property
    def is_live(self) -> bool:
        """Whether a record in this state holds or waits for an answer."""
        return self in LIVE


OVER = (State.REPLACED, State.WITHDRAWN, State.EXPIRED)
LIVE = (State.IN_FORCE, State.OPEN)
ENDED = (State.SETTLED, *OVER)
"""Nothing is to be done about it any more: it no longer holds, or it was settled."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a record that holds is in doubt: something that it rests on, directly or not, no longer holds."""

    premise: str
    how: str
    """The label of the premise."""
    path: tuple[str, ...] = ()
    """From the record to the premise."""

    @property
    def label(self) -> str:
        return f"suspect: rests on {self.premise} ({self.how})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one answer to whether a record holds, and what a reader has to know with it."""

    state: State
    replaced_by: str | None = None
    settled_by: str | None = None
    """The record that answers a question."""
    disputed_with: tuple[str, ...] = ()
    """Records in force that contradict it."""
    suspect: Suspicion | None = None
    review_due: str | None = None
    """The date by which it should have been reviewed, once that has passed."""
    stale_proof: bool = False

    @property
    def holds(self) -> bool:
        return self.state.is_live

    @property
    def labels(self) -> tuple[str, ...]:
        """What readers are shown, the same words everywhere: the state, then what speaks against it."""
        doubts = [f"disputed with {other}" for other in self.disputed_with[:MOST_NAMED]]
        doubts += [self.suspect.label] if self.suspect is not None else []
        doubts += [f"review due {self.review_due}"] if self.review_due is not None else []
        doubts += ["stale proof"] if self.stale_proof else []
        return (self._state_label(), *doubts)

    @property
    def label(self) -> str:
        return ", ".join(self.labels)

    @property
    def doubts(self) -> tuple[str, ...]:
        """The labels without the state."""
        return self.labels[1:]

    def _state_label(self) -> str:
        if self.state is State.REPLACED and self.replaced_by:
            return f"replaced by {self.replaced_by}"
        if self.state is State.SETTLED and self.settled_by:
            return f"answered by {self.settled_by}"
        return self.state.value


MOST_NAMED = 3
"""Records that a dispute names in a label."""
