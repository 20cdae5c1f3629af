"""Secrets are recognised by their formats: they are neither stored nor shown, and ordinary text stays."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.canonical import canonical
from clew.secrets import hide_everywhere, hide_secrets, masked, redact, redact_text, screened, shell_safe
from tests.conftest import ROOT, Caller
from tests.secret_samples import SAMPLES

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


@pytest.mark.parametrize("form", USUAL)
def test_a_secret_at_the_beginning_of_a_line_is_hidden(form: str) -> None:
    """Also in an answer that holds JSON as a text, where the new line before it is written as an escape."""
    for gap in ("\n", "\t", "\x01", "\r\n"):
        text = f"before{gap}{USUAL[form]}"
        for held in (text, canonical({"text": text}), canonical({"thought": canonical({"text": text})})):
            shown = redact({"content": held}, canonical({"content": held}))["content"]
            assert "<redacted>" in shown
            assert not any(part in shown for part in ("hunter2", "Tr0ub4dor", "SyA123", "a1B2", "IOSFOD", "abcdefghij"))


def test_a_secret_far_down_a_long_text_is_hidden() -> None:
    prose = "The key of the map is passed on, see https://x.example:80/a; a token stands for a word. " * 3_000
    for gap in ("\n", " "):
        shown = redact_text(f"{prose}{gap}password: hunter2{gap}{prose}token={'a1' * 3_000} {prose}")
        assert "hunter2" not in shown and "a1a1" not in shown
        assert shown.count("<redacted>") == 2 and shown.startswith(prose) and shown.endswith(prose)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_known_format_is_masked_and_hidden(name: str) -> None:
    form, secret = SAMPLES[name]
    text = f"before\n{form.format(secret)} after\nbehind"
    in_json = canonical({"a": text})
    told = [masked(text)[0], screened(text)[0], *redact([text], canonical([text])), masked(in_json)[0]]
    for shown in told:
        assert secret not in shown and "<redacted>" in shown
        assert shown.startswith(("before", '{"a":"before')) and shown.endswith(("behind", 'behind"}'))
    assert orjson.loads(told[-1]) == {"a": told[0]}
    assert hide_secrets(text) == hide_everywhere(text)
    assert masked(told[0]) == (told[0], 0)


def test_keys_and_deep_values_are_masked() -> None:
    secret = SAMPLES["github"][1]
    meta = {secret: 1, "list": [{"x": (secret, 5)}], "cookies": ["a=b"], "used_tokens": 12, "clientSecret": "s"}
    shown = {"<redacted>": 1, "list": [{"x": ["<redacted>", 5]}], "cookies": ["<redacted>"]}
    assert masked({"meta": meta}) == ({"meta": {**shown, "used_tokens": 12, "clientSecret": "<redacted>"}}, 4)


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD"]',
        "token = get_token(request)",
        "def login(token: str, password: Optional[str] = None) -> Token:",
        "self._token = settings.token",
        "TOKEN_HEADER = 'x-mindmem-token'",
        "if token == 'typed': return",
        "const token = await read(input.value);",
        "max_tokens: list[list[int]] = []",
        "password: ${DB_PASSWORD}, token: {{ token }}, api_key: <your key>, secret: xxxx, token=$TOKEN",
        r"deny `password=\S+` and `token=*`",
        "give --token TOKEN, or leave --password out; the --token option; --api-key $API_KEY",
        "docker run --user 1000:1000 x; curl -u $NAME:$PASSWORD https://x.example; curl -b cookies.txt",
        '{"token": "string", "token_type": "bearer", "password_file": "/run/secrets/db"}',
        "Cookie: see the section on cookies",
        "postgresql://user:password@host/db",
        "the machine logs in over ssh; mysql -u root -p",
        "sha512-AAAABBBBCCCCddddEEEEffff1234 and 9fceb02d0ae598e95dc970b74767f19372d61af8",
    ],
)
def test_code_and_placeholders_stay(text: str) -> None:
    assert masked(text) == (text, 0)


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("prove -- curl -u a:hunter22 x", "prove -- curl -u a:'<redacted>' x"),
        ("prove -- TOKEN=abc123 make", "prove -- TOKEN='<redacted>' make"),
        ('prove -- sh -c "TOKEN=abc123 make"', 'prove -- sh -c "TOKEN=<redacted> make"'),
        (r"prove -- x <redacted> \' <redacted>", r"prove -- x '<redacted>' \' '<redacted>'"),
        ("prove -- make", "prove -- make"),
    ],
)
def test_a_command_with_a_placeholder_redirects_nothing_when_it_is_pasted(line: str, safe: str) -> None:
    assert shell_safe(line) == safe


MOST_IN_A_MILLION = 1
"""Values wrongly taken for secrets, in a million characters."""


def test_ordinary_text_is_left_alone_in_docs_code_and_the_history() -> None:
    """The texts of this repository hold no secret outside of its tests, so each one that is found is wrong."""
    folders = ("docs", "src", "tools", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if name.endswith((".md", ".py", ".js", ".toml", ".sql"))]
    texts = {name: Path(ROOT, name).read_text(encoding="utf-8") for name in names}
    log = subprocess.run(["git", "log", "--format=%B"], cwd=ROOT, capture_output=True, text=True, check=True)
    texts["git log"] = log.stdout
    wrong = [(name, line) for name, text in texts.items() for line in text.splitlines() if hide_secrets(line)[1]]
    size = sum(map(len, texts.values()))
    print(f"{len(wrong)} in {size:,} characters of {len(texts)} texts: {wrong}")
    assert len(wrong) <= MOST_IN_A_MILLION * size / 1_000_000, wrong
