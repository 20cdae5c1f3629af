"""Results as plain mappings: the SDK checks them against the negotiated version, so once is enough."""

from __future__ import annotations

from typing import Any


def complete(**fields: Any) -> dict[str, Any]:
    """A final result; the stateless era wants it said, the handshake era has the word left out for it."""
    return {"resultType": "complete", **fields}
