"""Secrets are kept as written and never shown."""

from __future__ import annotations

import pytest

from clew.registry.redaction import redact_text
from tests.conftest import Caller

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        "token=abcdef123",
        "password = hunter2",
        "Authorization: Bearer abcdef.ghijkl",
        "ghp_" + "a" * 36,
        "github_pat_" + "b" * 30,
        "sk-" + "c" * 24,
        KEY,
    ],
)
def test_a_secret_in_a_text_is_hidden_in_every_answer(call: Caller, text: str) -> None:
    answer = call.answer("notes_commit", content=f"before {text} after")
    assert text not in answer.text
    assert "<redacted>" in answer.text
    shown = call.answer("show", doc_kind="notes").text
    assert text not in shown
    assert "before" in shown


def test_a_key_that_names_a_secret_hides_its_text(call: Caller) -> None:
    entry = call("notes_commit", content="x", meta={"api_key": "s3cr3t", "tokens": 7, "deep": {"my_password": "p"}})[
        "entry"
    ]
    assert entry["meta"] == {"api_key": "<redacted>", "tokens": 7, "deep": {"my_password": "<redacted>"}}


@pytest.mark.parametrize("text", ["the token was lost", "sk-8 skis", "a secret garden", "bearer of news"])
def test_ordinary_words_stay(text: str) -> None:
    assert redact_text(text) == text
