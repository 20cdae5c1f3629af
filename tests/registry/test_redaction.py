"""Secrets are kept as written and never shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.canonical import canonical
from clew.secrets import hide_everywhere, hide_secrets, redact, redact_text, screened
from tests.conftest import Caller

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text",
    [
        "token=abcdef123",
        "token=abcdef",
        "Bearer abcdefghijklmnop",
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


USUAL = {
    "variable": "DB_PASSWORD=Tr0ub4dor",
    "token of letters": "token=abcdef",
    "short token": "token=wert",
    "token of digits": "token=20485",
    "token of letters in a file": "token = abcdef",
    "secret of letters": "secret: abcdefgh",
    "bare bearer of letters": "it sent Bearer abcdefghijklmnop",
    "own token": "CLEW_TOKEN=abcdef123456",
    "after a colon": "password: hunter2",
    "letters only": "password: correcthorse",
    "json": '{"password": "x"}',
    "yaml": "api_key: 9f8e7d6c",
    "quoted": "secret = 'two words'",
    "address": "postgresql://ada:hunter2@db.example/x",
    "address with an at": "postgres://ada:hun@ter2@db.example/x",
    "basic": "Authorization: Basic YWRhOmh1bnRlcjI=",
    "bearer": "Authorization: Bearer abcdef.ghijkl",
    "bearer of letters": "Authorization: Bearer abcdef",
    "bearer in a command": "curl -H 'authorization:bearer abcdef'",
    "bearer in json": '{"Authorization": "Bearer abcdef"}',
    "bearer in json in json": '{\\"Authorization\\": \\"Bearer abcdef\\"}',
    "bearer in code": 'headers["Authorization"] = "Bearer abcdef"',
    "bare bearer with digits": "it sent Bearer abcdef7",
    "bare bearer at random": "it sent Bearer xkqwzjtvabcdef",
    "bare bearer in capitals": "it sent bearer aBcDeFabcdefGh",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "aws id": "AKIAIOSFODNN7EXAMPLE",
    "aws secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "gitlab": "glpat-" + "abcdefghij0123456789",
    "stripe": "sk_live_" + "abcdefghijklmnop0123",
    "stripe without a mode": "rk_" + "abcdefghijklmnop0123",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "npm": "npm_" + "a1B2" * 9,
    "github": "ghp_" + "a1B2" * 9,
    "fine github": "github_pat_" + "a1B2" * 9,
    "openai": "sk-" + "proj-a1B2" * 4,
    "query": "https://x.example/?token=abc123&y=1",
    "private key": KEY,
}


@pytest.mark.parametrize("form", USUAL)
def test_the_usual_forms_of_secrets_are_hidden_and_screened(form: str) -> None:
    text = f"before {USUAL[form]} after"
    for hidden in (redact_text(text), screened(text)[0]):
        assert "<redacted>" in hidden
        assert hidden.startswith("before ") and hidden.endswith(" after")
        assert not any(
            part in hidden
            for part in ("hunter2", "Tr0ub4dor", "abcdef", "correcthorse", "two words", "ter2", "wert", "20485")
        )
    assert redact_text(redact_text(text)) == redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "secret=santa",
        "token=true and token=none",
        "login(token=token, secret=usual)",
        "token: the word, token: stands for a word, one token = four letters",
        "a bearer bond, bearer instruments, bearer authentication, Bearer middleware",
        "max_tokens=1000, used_tokens: 12",
        "tokenizer: bert-base-uncased",
        "secretary: J. Doe",
        "token: expected string",
        '{\\"problem\\": \\"token: required\\"}',
        "password: is required",
        "Basic knowledge of TASK-001",
        "use bearer tokens.",
        "Bearer token-based authentication of the accessTokenProvider",
        "the bearer authorization: see below",
        "Bearer authentication/authorization",
        "Authorization: Bearer $CLEW_TOKEN or Authorization: Bearer <token>",
        "see https://example.com/a:b@c",
        "task-1234567890123456 and risk-12345678901234567",
    ],
)
def test_what_only_sounds_like_a_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_a_long_line_of_word_characters_costs_little() -> None:
    begun = time.process_time()
    redact_text("token " + "a_" * 200_000)
    assert time.process_time() - begun < 5


SIGNS = " \n\t\"',;&<:=@_-"
WORDS = [
    "token",
    "password",
    "api_key",
    "Bearer",
    "Basic",
    "https://",
    "hunter2",
    "is",
    "DB_",
    "none",
    "task-",
    "a:b@c",
]
ODD = ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "\N{NO-BREAK SPACE}", "ä", "\\n", "\\", "\x01", "x" * 45)
PIECES = st.sampled_from([*USUAL.values(), *SIGNS, *WORDS, *ODD])


@settings(max_examples=400)
@given(st.lists(PIECES, min_size=1, max_size=12).map("".join))
def test_looking_near_clues_hides_what_looking_everywhere_hides(text: str) -> None:
    assert hide_secrets(text) == hide_everywhere(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=12).map("".join), st.integers(0, 3))
def test_a_long_answer_hides_what_looking_everywhere_hides(text: str, shift: int) -> None:
    long = f"{'. ' * 26_000}{'.' * shift}{text}"
    for held in (long, canonical([long])):
        shown = redact({"text": held}, canonical({"text": held}))
        assert shown == {"text": held[: 52_000 + shift] + hide_everywhere(held[52_000 + shift :])[0]}


@pytest.mark.parametrize("room", [0, 60_000])
@pytest.mark.parametrize("gap", ["\n", "\t", "\x01", "\r\n"])
@pytest.mark.parametrize("form", USUAL)
def test_a_secret_at_the_beginning_of_a_line_is_hidden(form: str, gap: str, room: int) -> None:
    """Also in an answer that holds JSON as a text, where the new line before it is written as an escape."""
    text = f"{'. ' * room}before{gap}{USUAL[form]}"
    for held in (text, canonical({"text": text}), canonical({"thought": canonical({"text": text})})):
        shown = redact({"content": held}, canonical({"content": held}))["content"]
        assert "<redacted>" in shown
        assert not any(part in shown for part in ("hunter2", "Tr0ub4dor", "SyA123", "a1B2", "IOSFOD", "abcdefghij"))


@pytest.mark.parametrize("form", USUAL)
def test_a_long_answer_hides_every_form(form: str) -> None:
    for room in (10, 60_000, 60_001, 60_002, 60_003):
        text = f"{'. ' * room}{USUAL[form]} after"
        shown = redact({"text": text}, canonical({"text": text}))
        assert shown == {"text": redact_text(text)} and "<redacted>" in shown["text"]


def test_a_secret_far_down_a_long_text_is_hidden() -> None:
    prose = "The key of the map is passed on, see https://x.example:80/a; a token stands for a word. " * 3_000
    for gap in ("\n", " "):
        shown = redact_text(f"{prose}{gap}password: hunter2{gap}{prose}token={'a1' * 3_000} {prose}")
        assert "hunter2" not in shown and "a1a1" not in shown
        assert shown.count("<redacted>") == 2 and shown.startswith(prose) and shown.endswith(prose)
