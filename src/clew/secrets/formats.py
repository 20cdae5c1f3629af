"""The formats of well-known secrets, as data.

A secret is found in two steps. Every format has a *clue*: a short literal, compared in lower case,
that each such secret contains. Looking for plain literals costs a hundredth of trying the patterns,
which run only around a clue.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BEGINS = r"(?:\b|(?<=\\[bfnrt])|(?<=\\u00[01][0-9a-f]))"
"""A word begins, or an escape has ended: a text may hold JSON, where a new line is written as a backslash and `n`."""

_ALNUM, _WORD, _HEX, _CAPS = "A-Za-z0-9", r"\w-", "0-9a-f", "0-9A-Z"


@dataclass(frozen=True, slots=True)
class Clue:
    """What a text in lower case must contain where a secret of some format is."""

    text: str
    follows: re.Pattern[str]
    """What follows the clue. Of a long value only the beginning is checked."""
    letters_before: int | None = None
    """How many characters of the secret precede the clue; None where it may be anywhere in a word."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A token that is recognised by how it begins."""

    text: str
    characters: str
    least: int

    @property
    def pattern(self) -> str:
        return f"{re.escape(self.text)}[{self.characters}]{{{self.least},}}"

    @property
    def clue(self) -> Clue:
        most = min(self.least, 16)
        follows = re.compile(rf"[{self.characters.lower()}]{{{most}}}")
        return Clue(self.text.lower(), follows, 0)


PREFIXES = (
    *(Prefix(f"gh{kind}_", _ALNUM, 20) for kind in "pousr"),
    Prefix("github_pat_", r"\w", 20),
    *(
        Prefix(f"gl{kind}-", _WORD, 16)
        for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft", "imt", "agent", "oas", "soat")
    ),
    Prefix("npm_", _ALNUM, 30),
    Prefix("pypi-", _WORD, 30),
    Prefix("rubygems_", _HEX, 40),
    Prefix("oy2", "a-z0-9", 43),  # NuGet
    Prefix("dckr_pat_", _WORD, 20),
    Prefix("dckr_oat_", _WORD, 20),
    Prefix("AKCp", _ALNUM, 60),  # JFrog
    Prefix("xapp-", _WORD, 10),  # Slack
    Prefix("AIza", _WORD, 30),
    Prefix("ya29.", _WORD, 20),
    Prefix("GOCSPX-", _WORD, 20),
    Prefix("LTAI", _ALNUM, 16),  # Alibaba
    Prefix("hf_", _ALNUM, 30),
    Prefix("api_org_", _ALNUM, 30),
    Prefix("gsk_", _ALNUM, 40),  # Groq
    Prefix("r8_", _ALNUM, 30),  # Replicate
    Prefix("pplx-", _ALNUM, 40),
    Prefix("xai-", _ALNUM, 60),
    Prefix("nvapi-", _WORD, 50),
    Prefix("key-", _HEX, 32),  # Mailgun
    Prefix("xkeysib-", _WORD, 60),
    Prefix("xsmtpsib-", _WORD, 60),
    Prefix("re_", r"\w", 30),  # Resend
    *(Prefix(f"do{kind}_v1_", _HEX, 60) for kind in "opr"),
    *(Prefix(f"shp{kind}_", _ALNUM, 30) for kind in ("at", "ca", "pa", "ss")),
    Prefix("sq0atp-", _WORD, 20),
    Prefix("sq0csp-", _WORD, 20),
    Prefix("EAAA", _WORD, 56),  # Square
    Prefix("PMAK-", _WORD, 50),
    Prefix("lin_api_", _ALNUM, 30),
    Prefix("lin_oauth_", _ALNUM, 30),
    Prefix("secret_", _ALNUM, 43),  # Notion
    Prefix("ntn_", _ALNUM, 40),
    Prefix("ATATT3", r"\w=-", 60),
    Prefix("ATCTT3", r"\w=-", 60),
    Prefix("ATBB", _ALNUM, 28),
    Prefix("NRAK-", _CAPS, 20),
    Prefix("NRIQ-", _WORD, 20),
    Prefix("glsa_", r"\w", 30),
    Prefix("glc_", r"\w+/=", 32),
    *(Prefix(f"hv{kind}.", _WORD, 24) for kind in "sbr"),
    *(Prefix(f"dp.{kind}.", _ALNUM, 40) for kind in ("pt", "st", "ct", "sa", "scim", "audit")),
    Prefix("pul-", _HEX, 40),
    Prefix("dapi", _HEX, 32),
    *(Prefix(f"pscale_{kind}_", r"\w.=-", 32) for kind in ("tkn", "pw", "oauth")),
    Prefix("fo1_", _WORD, 40),
    Prefix("fm2_", r"\w+/=", 50),
    Prefix("HRKU-", _WORD, 30),
    Prefix("AGE-SECRET-KEY-1", _CAPS, 50),
    Prefix("ops_eyJ", r"\w+/=-", 60),
    Prefix("sbp_", _HEX, 40),
    Prefix("sb_secret_", _WORD, 20),
    Prefix("sntrys_", r"\w+/=", 40),
    Prefix("sntryu_", _HEX, 40),
    Prefix("figd_", _WORD, 36),
    Prefix("pat-na1-", _WORD, 30),
    Prefix("pat-eu1-", _WORD, 30),
    Prefix("tfp_", _WORD, 40),
    Prefix("pnu_", _ALNUM, 36),
    Prefix("sgp_", r"\w", 40),
    Prefix("bkua_", _ALNUM, 40),
    Prefix("CCIPAT_", r"\w", 40),
    Prefix("tskey-", _WORD, 16),
    Prefix("phx_", _ALNUM, 40),
    Prefix("sl.", _WORD, 130),  # Dropbox
    Prefix("LS0tLS1CRUdJTi", r"\w+/=", 20),  # base64 of the beginning of a PEM block
)

_AWS = ("AKIA", "ASIA", "ABIA", "ACCA")
_TOKENS = (
    rf"(?:{'|'.join(_AWS)})[0-9A-Z]{{16}}\b",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic
    r"(?:[rsp]k|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}",  # Stripe
    r"SG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    r"(?:SK|AC)[0-9a-f]{32}\b",  # Twilio
    r"[0-9a-f]{32}-us[0-9]{1,2}\b",  # Mailchimp
    r"[\w.~-]{3}[0-9]Q~[\w.~-]{31,}",  # Azure
    r"(?:bot)?[0-9]{8,10}:AA[\w-]{33}",  # Telegram
    r"[a-z0-9]{14}\.atlasv1\.[\w=-]{60,}",  # Terraform
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # a signed token (JWT)
)
PRIVATE_KEY_CLUES = ("private key-----", "private key block-----")
_PRIVATE_KEY = r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"
TOKENS = re.compile(
    rf"{_PRIVATE_KEY}|{BEGINS}(?:{'|'.join((*_TOKENS, *(item.pattern for item in PREFIXES)))})", re.DOTALL
)

# Without a literal of their own. Long answers are not searched for these: what is stored holds none.
WITHOUT_CLUE = re.compile(
    r"[MNOpc](?:(?<![\w.-].)|(?<=\\[bfnrt].))(?:"
    r"(?<=[MNO])[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"  # Discord
    r"|(?<=p)at[A-Za-z0-9]{14}\.[0-9a-f]{64}"  # Airtable
    r"|(?<=c)io[A-Za-z0-9]{32}"  # crates.io
    r")(?![\w.-])"
)

# Addresses whose last part is the secret.
WEBHOOKS = re.compile(
    rf"(?P<name>{BEGINS}(?:hooks\.slack\.com/(?:services|workflows|triggers)/"
    r"|(?:discord|discordapp)\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{5,}/"
    r"|[\w.-]*webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/))(?P<value>[\w@/+.-]{8,})"
    r"|(?P<query>[?&](?:sig|x-amz-signature|x-goog-signature|x-amz-security-token)=)(?P<signature>[\w%/+=-]{16,})",
    re.IGNORECASE,
)
_SESSION_CLUES = ("phpsessid=", "jsessionid=", "_sessionid=", "connect.sid=")
_WEBHOOK_CLUES = ("hooks.slack.com/", "/webhooks/", "/hooks/catch/", "webhook.office.com/")
_SESSIONS = r"(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid)="
COOKIES = re.compile(
    rf"(?P<name>{BEGINS}(?:set-)?cookie2?(?:\\{{0,3}}[\"'])?\s{{0,8}}[:=]\s{{0,8}}(?:\\{{0,3}}[\"'])?)"
    r"(?P<value>[\w.-]{1,80}=[^\s\"'\\;]{4,}(?:;[^\"'\\\n]{0,2000})?)"
    rf"|(?P<query>{BEGINS}(?-i:{_SESSIONS}))(?P<signature>[\w%.+/=-]{{12,}})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Command:
    """A program that takes a password as the value of a short option."""

    clue: str
    program: str
    option: str

    @property
    def pattern(self) -> str:
        return rf"{self.program}\b[^\n]{{0,400}}?\s{self.option}"

    @property
    def follows(self) -> str:
        return rf"[^\n]{{0,400}}?\s{self.option}\S"


_USER = r"(?:-u|-U|--user|--proxy-user)(?:\s+|=)?[\"']?[^\s:\"'@/$<]{1,80}:"
COMMANDS = (
    Command("curl", "curl", _USER),
    Command("curl", "curl", r"(?:-b|--cookie)(?:\s+|=)?[\"']?(?=[\w.-]+=)"),
    Command("sshpass", "sshpass", r"-p\s*[\"']?"),
    Command("mysql", r"mysql\w*", r"-p[\"']?(?=[^\s\"'])"),
    Command("mariadb", r"mariadb[\w-]*", r"-p[\"']?(?=[^\s\"'])"),
    Command("docker login", r"docker\s+login", r"-p\s+[\"']?"),
    Command("podman login", r"podman\s+login", r"-p\s+[\"']?"),
    Command("az login", r"az\s+login", r"-p\s+[\"']?"),
    Command("redis-cli", "redis-cli", r"-a\s+[\"']?"),
    Command("ldap", r"ldap\w+", r"-w\s+[\"']?"),
    Command("mongo", r"mongo\w*", r"-p\s+[\"']?"),
    Command("machine ", r"machine\s+\S+\s+login", r"\S+\s+password\s+"),  # .netrc
)
IN_COMMANDS = re.compile(
    rf"(?P<name>{BEGINS}(?:{'|'.join(command.pattern for command in COMMANDS)}))(?P<value>[^\s\"'|;&<>][^\s\"'|;&<>]*)"
)

NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|(?<=_)pass|secret|token|credential|(?:(?<![a-z])|(?<=\\[bfnrt]))_auth"
    r"|(?:api|access|private|secret|account|signing|encryption|master)[_-]?key"
)
"""Names whose value is a secret."""
_OPTIONS = (
    r"pass(?:word|wd|phrase|code)?|pwd|token|secret|credential|bearer|(?:api|access|private|secret|account|auth)-?key"
)
OPTIONS = re.compile(
    rf"(?P<name>(?<![\w-])--?(?:[\w-]{{0,30}}-)?(?P<word>{_OPTIONS})s?[ \t]+(?P<quote>[\"'])?(?:pass:)?)"
    r"(?P<value>(?(quote)[^\"'\n]{1,200}(?=[\"'])|[^\s\"'`|;&<>-][^\s\"'`|;&<>]*))",
    re.IGNORECASE,
)
"""`--password X`: an option of a command and its value."""
# The name may be a part of a longer one (DB_PASSWORD, "api_key"), of at most 40 characters on each side so that a long
# line of word characters is not tried from each of its places; but not the beginning of a word such as tokenizer.
_NAME = rf"(?<![A-Za-z0-9])[\w-]{{0,40}}?(?P<word>{NAMES})s?(?![A-Za-z])(?P<rest>[\w-]{{0,40}})"
_ENDS = r"(?=\n|\Z)"
"""A quoted value that was cut off has no closing quote."""
# Quotes have a backslash before them where the text holds JSON, three where that is part of another JSON.
NAMED = re.compile(
    rf"(?P<name>{_NAME}(?:\\{{0,3}}[\"'])?\s*(?::=|=(?!=)|:(?![:=]))\s*)"
    rf"(?:(?P<quote>[\"'])(?P<inner>(?:\\.|(?!(?P=quote))[^\\\n]){{1,1000}})(?:(?P=quote)|{_ENDS})"
    rf"|(?P<escaped>\\{{1,3}}[\"'])(?P<deep>(?:(?!(?<!\\)(?P=escaped))[^\n]){{1,1000}})(?:(?P=escaped)|{_ENDS})"
    # `&` parts arguments of an address and commands of a line; elsewhere it is a sign of a password.
    r"|(?P<value>[^\s\"',;&<`](?:[^\s\"',;&`]|&(?!&|amp;|[\w.%-]{1,40}=|\s|\Z))*))",
    re.IGNORECASE,
)
ELEMENT = re.compile(rf"(?P<name><{_NAME}>\s*)(?P<value>[^\s<][^<\n]*)(?=</)", re.IGNORECASE)
SQL = re.compile(rf"(?P<name>{BEGINS}(?:password|identified\s+by)\s+')(?P<value>[^'\n]{{1,200}})(?=')", re.IGNORECASE)
ADDRESS = re.compile(rf"(?P<name>{BEGINS}[a-z][a-z0-9+.-]{{0,30}}://[^\s:/@]*:)(?P<value>[^\s/<]+)(?=@)", re.IGNORECASE)
BEARER = re.compile(rf"(?P<name>{BEGINS}Bearer\s+)(?P<value>[A-Za-z0-9._~+/=-]+)", re.IGNORECASE)
BASIC = re.compile(rf"(?P<name>{BEGINS}Basic\s+)(?P<value>[A-Za-z0-9+/]{{8,}}={{0,2}})", re.IGNORECASE)
_SCHEMES = "bearer|basic|token|apikey|api-key|key|bot|negotiate|ntlm|ssws|splunk|hmac"
_AFTER_HEADER = r"(?:\\{0,15}[\"']\]?)?\s{0,8}[:=]\s{0,8}(?:\\{0,15}[\"'])?"
_HEADER = rf"authorization{_AFTER_HEADER}"
HEADER = re.compile(
    rf"(?P<name>{_HEADER}(?:{_SCHEMES})\s+)(?P<value>[^\s\"'\\,;<>`&)\]}}]+)"
    rf"|(?P<query>{_HEADER}(?:digest|oauth|aws4-hmac-sha256)\s+)(?P<signature>[\w-]+=[^\"'\\\n]{{8,}})",
    re.IGNORECASE,
)
"""A header of a request: there whatever follows is a secret; elsewhere it may be a word (`a bearer token`)."""

AFTER_NAME = re.compile(
    r"[\w-]{0,60}(?:(?:\\{0,3}[\"'])?\s*:?[:=]\s*"
    r"(?:\"(?:\\.|[^\"\\\n]){1,1000}|'(?:\\.|[^'\\\n]){1,1000}|\\{1,3}(?:\"[^\"\n]{1,1000}|'[^'\n]{1,1000})|\S)"
    r"|>\s*[^\s<][^<\n]*|\s+'[^'\n]{1,200})"
)
_AFTER_OPTION = re.compile(r"[a-z-]{0,12}[ \t]+(?:[\"'][^\"'\n]{1,200}|[^-\s])")
_NAME_CLUES = ("token", "key", "secret", "passw", "passphrase", "passcode", "pwd", "credential", "_pass", "_auth")
_OPTION_CLUES = ("-pass", "-pwd", "-token", "-secret", "-credential", "-bearer", "-key", "-api", "-access", "-private")

CLUES = (
    *(item.clue for item in PREFIXES),
    *(Clue(text, AFTER_NAME) for text in _NAME_CLUES),
    *(Clue(text, _AFTER_OPTION) for text in _OPTION_CLUES),
    *(Clue(text.lower(), re.compile(r"[\w-]{16}"), 0) for text in _AWS),
    Clue("sk-", re.compile(r"[\w-]{16}"), 0),
    Clue("k_", re.compile(r"[\w-]{16}"), 1),
    Clue("whsec_", re.compile(r"[\w-]{10}"), 0),
    Clue("xox", re.compile(r"[abeoprs]-"), 0),
    Clue("sg.", re.compile(r"[\w-]{16,}\.[\w-]{16}"), 0),
    Clue("sk", re.compile(r"[0-9a-f]{32}"), 0),
    Clue("ac", re.compile(r"[0-9a-f]{32}"), 0),
    Clue("-us", re.compile(r"[0-9]")),
    *(Clue(f"{digit}q~", re.compile(r"[\w.~-]{31}")) for digit in range(10)),
    Clue(":aa", re.compile(r"[\w-]{33}")),
    Clue(".atlasv1.", re.compile(r"[\w=-]{16}")),
    Clue("eyj", re.compile(r"[\w-]{8}"), 0),
    *(Clue(text, re.compile("")) for text in PRIVATE_KEY_CLUES),
    Clue("identified by", re.compile(r"\s+'[^'\n]{1,200}")),
    Clue("bearer", re.compile(r"\s+[\w.~+/=-]")),
    Clue("basic", re.compile(r"\s+[\w+/]{8}")),
    Clue("authorization", re.compile(rf"{_AFTER_HEADER}[\w-]{{2,20}}\s+\S[^\"'\\\n]*")),
    Clue("://", re.compile(r"[^\s:/@]*:[^\s/<]+@")),
    Clue("cookie", re.compile(r"2?(?:\\{0,3}[\"'])?\s{0,8}[:=][^\n]{0,2100}")),
    *(Clue(text, re.compile(r"[\w%.+/=-]{12}")) for text in _SESSION_CLUES),
    *(Clue(text, re.compile(r"[\w%/+=-]{16}")) for text in ("sig=", "-signature=", "-security-token=")),
    *(Clue(text, re.compile(r"[\w@/+.-]{8}")) for text in _WEBHOOK_CLUES),
    *(
        Clue(text, re.compile("|".join(item.follows for item in COMMANDS if item.clue == text), re.I), 0)
        for text in dict.fromkeys(item.clue for item in COMMANDS)
    ),
)
"""One entry for each literal; a format that is added here needs its clue here too."""
