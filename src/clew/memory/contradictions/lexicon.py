"""Words that the comparison of statements knows: what denies, what excludes what, what says where something holds."""

from __future__ import annotations

import re
from functools import lru_cache

DENYING = frozenset(
    """
    not never no avoid forbid forbidden prohibit prohibited ban banned disallow disallowed refuse reject rejected stop
    cease without drop dropped discontinue discontinued abandon abandoned cannot nobody none neither nor remove removed
    unsupported skip skips bypass bypasses rejects refuses refused turnsaway gaveup gives-up scrapped abolished
    abolish scrap nothing
    """.split()  # noqa: SIM905
)
"""A statement with an odd number of these denies what the rest says."""

SILENT = frozenset(
    """
    a an the this that these those it its we our us you your they their he she i my one ones
    is are was were be been being am do does did done doing has have had having will would shall should must may might
    can could need needs needed ought let lets get gets got want wants
    to of in on at by for from with into onto over under as and or but if then than so because since while when where
    who which what how why all any each every some both more most other such only own same very just also too always
    use uses used using choose chose chosen prefer prefers preferred adopt adopts adopted pick picked go keep kept stay
    make makes made set sets run runs running put take takes store stores stored write writes written live lives
    default defaults primary main single official standard currently now today again still yet already
    decision decided decide team everyone everything there here please allow allowed allows permit permitted permits
    enable enabled accept accepted accepts support supported supports require required requires mandatory necessary
    atleast atmost ormore orless enough sufficient entirely altogether
    per via about before after during until between within up down out off
    anybody anyone anything everybody somebody someone something
    """.split()  # noqa: SIM905
)
"""Words that carry no subject of their own."""

EXCLUSIVE: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in """
    postgresql postgres mysql mariadb sqlite mongodb mongo oracle dynamodb cassandra cockroachdb firestore mssql couchdb
    redis memcached hazelcast
    kafka rabbitmq sqs nats pulsar activemq
    python java kotlin rust golang ruby php typescript javascript scala elixir csharp swift perl
    react vue svelte angular ember solid
    aws gcp azure hetzner digitalocean heroku onpremise
    json yaml toml xml ini csv protobuf avro msgpack
    rest graphql grpc soap
    oauth saml ldap kerberos basicauth
    monday tuesday wednesday thursday friday saturday sunday
    january february march april june july august september october november december
    mit apache gpl bsd agpl mpl
    jenkins circleci travis buildkite teamcity githubactions gitlabci
    npm yarn pnpm bun
    pip poetry uv pipenv conda
    tabs spaces
    monolith microservices
    monorepo polyrepo multirepo
    merge rebase squash
    utc cet pst est gmt localtime
    euro euros dollar dollars pound pounds usd eur gbp
    metric imperial
    light dark
    red green blue yellow orange purple black white
    kubernetes nomad swarm ecs
    terraform pulumi cloudformation ansible
    slack teams discord mattermost zulip
    jira linear asana trello
    vim emacs vscode
    english german french spanish italian
    utf8 latin1 utf16 ascii
    sha256 md5 sha1 blake2 bcrypt argon2 scrypt
    ssh https ftp sftp
    nginx caddy traefik haproxy envoy
    linux windows macos
    pytest unittest nose
    datadog grafana newrelic prometheus splunk
    """.strip().splitlines()
)
"""Of each line, one place holds one value."""

OPPOSED: tuple[tuple[str, str], ...] = tuple(
    tuple(pair.split("/"))  # type: ignore[misc]
    for pair in """
    enable/disable on/off public/private open/closed opt-in/opt-out optional/mandatory optional/required
    synchronous/asynchronous
    sync/async manual/automatic manually/automatically automated/manual shared/separate shared/isolated include/exclude
    increase/decrease raise/lower allow/block whitelist/blacklist keep/delete retain/delete keep/purge first/last
    strict/lenient encrypted/plaintext encrypted/unencrypted signed/unsigned internal/external ascending/descending
    singular/plural camelcase/snakecase eager/lazy stateless/stateful hard/soft
    centralized/decentralized central/distributed
    client/server push/pull blocking/nonblocking mutable/immutable versioned/unversioned anonymous/authenticated
    immediately/batched realtime/batch local/remote inline/external visible/hidden free/paid before/after
    centrally/locally long-lived/short-lived permanent/temporary fail/continue online/offline approve/reject
    hosted/self-hosted always/never sequential/parallel sequentially/parallel optional/must optional/need
    leased/bought rented/bought rented/owned leased/owned invite-only/open invite-only/public mandatory/forbidden
    required/forbidden prepaid/postpaid gross/net fixed/variable full-time/part-time uppercase/lowercase formal/informal
    active/passive explicit/implicit static/dynamic relative/absolute flat/nested in-house/outsourced paid/unpaid
    refundable/nonrefundable horizontal/vertical onsite/remote forever/temporarily forever/purged kept/purged
    allowed/forbidden allowed/banned transparent/opaque single/double newest/oldest newer/older latest/earliest
    random/sequential include/exclude minimum/maximum offline/online full/incremental incrementally/scratch
    immediately/later earlier/later atstart/atend more/less lost/kept push/poll pushes/polls
    rises/falls rise/fall grows/shrinks free/charged named/anonymous voluntary/compulsory cash/card handwritten/typed
    enabled/disabled off/enabled on/disabled accepted/rejects accept/rejects accepted/rejected
    owned/shared kept/erased kept/deleted kept/dropped kept/discarded retained/erased
    """.split()  # noqa: SIM905
)
"""Pairs of which one excludes the other."""

PLACES: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in """
    production prod staging development dev test testing preview sandbox
    frontend backend mobile desktop web cli
    internal external
    eu us europe asia america
    ios android
    weekdays weekends
    admin admins guest guests customer customers employee employees
    read reads write writes
    small large
    unit integration
    start end
    primary secondary failover standby replica backup
    inbound outbound
    request response
    stored shown
    input output
    """.strip().splitlines()
)
"""Where something holds: two statements about different places do not meet."""

UNITS = {
    "ms": "time", "millisecond": "time", "second": "time", "sec": "time", "s": "time", "minute": "time", "min": "time",
    "hour": "time", "h": "time", "day": "time", "week": "time", "month": "time", "year": "time",
    "kb": "size", "mb": "size", "gb": "size", "tb": "size", "byte": "size", "character": "length", "char": "length",
    "line": "lines", "percent": "share", "%": "share", "user": "user", "retry": "retry",
    "time": "count",
    "attempt": "retry", "connect": "connection", "worker": "worker", "thread": "worker", "process": "worker",
    "replica": "replica", "node": "node", "item": "item", "row": "row", "euro": "money", "dollar": "money",
    "review": "review", "approv": "review", "reviewer": "review", "core": "core", "column": "column",
    "request": "request",
    "kg": "weight", "gram": "weight", "g": "weight", "ton": "weight", "tonn": "weight", "volt": "voltage",
    "m": "distance", "km": "distance", "pixel": "pixel", "px": "pixel", "nm": "torque", "bar": "pressure", "mg": "dose",
    "frame": "frame", "fps": "frame", "word": "word", "megabyt": "size", "gigabyt": "size", "kilobyt": "size",
    "cent": "money", "cm": "distance", "mm": "distance", "metr": "distance", "meter": "distance",
    "degre": "temperature", "watt": "power", "kw": "power", "litr": "volume", "liter": "volume", "page": "page",
    "copi": "copy",
    "port": "port", "version": "version", "point": "point", "person": "person", "people": "person",
}  # fmt: skip
"""Stem of a unit -> what it measures."""

SECONDS = {
    "ms": 0.001, "millisecond": 0.001, "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "hour": 3600, "h": 3600,
    "day": 86_400, "week": 604_800, "month": 2_592_000, "quarter": 7_884_000, "year": 31_536_000,
    "g": 0.001, "gram": 0.001, "kg": 1, "ton": 1000, "tonn": 1000,
    "mm": 0.001, "cm": 0.01, "metr": 1, "m": 1, "cent": 0.01, "megabyt": 1e6, "gigabyt": 1e9,
    "kilobyt": 1e3, "meter": 1, "km": 1000, "watt": 0.001, "kw": 1,
    "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "byte": 1,
}  # fmt: skip
"""What one of a unit is in the base unit of its measure."""

CONCEPTS: tuple[tuple[str, ...], ...] = tuple(
    tuple(line.split())
    for line in """
    update refresh
    kg kilo kilogram
    volt v
    parcel package
    staff employee personnel
    repo repository
    app application
    config configuration
    database db
    document doc
    customer client shopper
    photo picture image
    car vehicle
    truck lorry
    holiday vacation
    pupil student
    fridge refrigerator
    password passphrase
    salary wage
    colour color
    team squad crew
    error mistake fault
    laptop notebook
    ticket issue
    """.strip().splitlines()
)
"""Words that decisions use for one another; each counts as the first of its line."""

WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fourteen": 14, "fifteen": 15, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100,
    "once": 1, "twice": 2,
}  # fmt: skip

RANKING = frozenset({"over", "before", "above", "ahead"})
"""Words that put what stands before them first."""

PLACING = {
    "in": "in", "into": "in", "inside": "in", "within": "in", "on": "on", "onto": "on", "at": "at", "by": "by",
    "with": "with", "as": "as", "to": "to",
    "called": "called", "named": "called", "titled": "called", "from": "from", "under": "under", "via": "by",
    "through": "by",
}  # fmt: skip
"""Words after which a value may stand, and what they come to."""

ACCEPTING = frozenset({"accept", "accepts", "accepted", "supports", "supported"})
"""Verbs that say what is possible beside other things."""

TAKING = frozenset({"use", "choose", "prefer", "adopt", "pick"})
"""Verbs whose object is the value."""

FUNCTIONAL = frozenset({"own", "lead", "head", "chair"})
"""Verbs that one subject does to one object."""

RESPONSIBLE = frozenset(
    """
    approve sign decide own lead head chair announce handle maintain manage review release publish authorise authorize
    keep hold appoint hire assign retain possess choose select pay book order answer moderate administer supervise audit
    confirm grant grade schedule coordinate negotiate close triage win belong set draft prepare organise organize plan
    """.split()  # noqa: SIM905
)
"""Verbs by which somebody answers for something: one thing has one such doer."""

VERBS = RESPONSIBLE | frozenset(
    """
    use store write read send receive run start stop end open close live stay move copy return show hide take give make
    build test deploy ship merge push pull sync import export log record track count measure check scan validate verify
    encrypt decrypt hash compress expire rotate retain delete erase remove archive back restore cache index search sort
    filter group limit allow deny forbid require need want accept reject refuse support block skip retry fail pass
    succeed win lose match set reset change update upgrade rename replace add insert create draft edit format print
    render display load save fetch poll query call invoke trigger fire notify alert email mail post publish subscribe
    share lend rent lease buy sell charge cost pay refund bill invoice cancel renew last begin finish serve host listen
    connect log sign register enrol join leave work train meet vote elect report submit hand file hang stand sit carry
    hold bring eat feed water clean wash bake cook close exclude include contain have preserve guarantee appear happen
    occur exist speak say name call mean follow precede use prefer choose pick decide depend rely remain become rise
    fall grow shrink wait rest travel drive fly arrive depart land go come lie belong authenticate authorise install
    configure monitor document translate print scan repeat raise lower increase decrease convert parse contact
    """.split()  # noqa: SIM905
)
"""What decisions say of things; by these a sentence is cut into its subject and what is said of it."""

SOLE = frozenset(
    """
    primary main default official sole standard preferred owner lead maintainer region language name
    """.split()  # noqa: SIM905
)
"""Words that say there is one of it."""

LOOSE = frozenset(
    """
    depend work talk integrate send link refer apply sell connect subscribe notify share invite speak contain include
    consist know contribute collaborate import export react respond appear check scan look help cooperate meet come
    pass belong listen decide
    """.split()  # noqa: SIM905
)
"""Verbs that go with any number of objects."""

TELLING = frozenset({"main", "default", "primary", "single", "standard", "official"})
"""Words that say nothing of a subject, and tell one value from another: `the main branch`."""

PLAIN_VERBS = frozenset({"built", "kept", "held", "placed", "located", "saved", "hosted", "based", "done"})
"""Verbs that say no more than the word after them: `built on`, `hosted in`."""

MOMENTS = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december spring summer autumn winter night noon morning evening day week month quarter year
    weekend midnight
    """.split()  # noqa: SIM905
)
"""Words that say when."""

PERIODS = {
    "hourly": 3600, "daily": 86_400, "nightly": 86_400, "weekly": 604_800, "biweekly": 1_209_600,
    "fortnightly": 1_209_600, "monthly": 2_592_000, "quarterly": 7_884_000, "yearly": 31_536_000,
    "annually": 31_536_000,
}  # fmt: skip
"""How often something is done -> the seconds between."""

SHORT_FORMS = {
    "don't": "do not",
    "doesn't": "does not",
    "isn't": "is not",
    "aren't": "are not",
    "won't": "will not",
    "can't": "cannot",
    "shouldn't": "should not",
    "mustn't": "must not",
    "no longer": "not",
    "no one": "nobody",
    "nobody outside": "only",
    "nobody outside of": "only",
    "no one outside": "only",
    "no one outside of": "only",
    "no-one": "nobody",
    "rather than": "insteadof",
    "instead of": "insteadof",
    "but not": "insteadof",
    "and not": "insteadof",
    "in favour of": "for",
    "in favor of": "for",
    "at most": "atmost",
    "at least": "atleast",
    "as large as": "atmost",
    "as much as": "atmost",
    "as many as": "atmost",
    "as long as": "aslongas",
    "no more than": "atmost",
    "no higher than": "atmost",
    "no longer than": "atmost",
    "no larger than": "atmost",
    "no bigger than": "atmost",
    "not more than": "atmost",
    "not longer than": "atmost",
    "no fewer than": "atleast",
    "not less than": "atleast",
    "not fall below": "atleast",
    "never below": "atleast",
    "never above": "atmost",
    "title case": "titlecase",
    "sentence case": "sentencecase",
    "kebab-case": "kebabcase",
    "aes-256": "aes256",
    "overnight": "for 10 hours",
    "working day": "day",
    "business day": "day",
    "around the clock": "all day",
    "no less than": "atleast",
    "up to": "atmost",
    "fewer than": "atmost",
    "less than": "atmost",
    "more than": "atleast",
    "not exceed": "atmost",
    "minimum of": "atleast",
    "check in": "checkin",
    "check out": "checkout",
    "log in": "login",
    "log out": "logout",
    "sign in": "login",
    "sign out": "logout",
    "on paper": "by paper",
    "in writing": "by letter",
    "turns away": "turnsaway",
    "turn away": "turnsaway",
    "gave up": "gaveup",
    "given up": "gaveup",
    "gives up after": "timeout of",
    "give up after": "timeout of",
    "times out after": "timeout of",
    "time out after": "timeout of",
    "turned off": "disabled",
    "turned on": "enabled",
    "switched off": "disabled",
    "switched on": "enabled",
    "local time": "localtime",
    "or more": "ormore",
    "or above": "ormore",
    "or higher": "ormore",
    "or longer": "ormore",
    "or less": "orless",
    "or fewer": "orless",
    "or below": "orless",
    "no later than": "by",
    "in any form": "",
    "at all": "",
    "no limit": "unlimited",
    "without limit": "unlimited",
    "in advance": "before",
    "up front": "before",
    "upfront": "before",
    "beforehand": "before",
    "afterwards": "after",
    "at once": "immediately",
    "at the start of": "atstart",
    "at the beginning of": "atstart",
    "at the end of": "atend",
    "maximum of": "atmost",
    "node.js": "nodejs",
    "c#": "csharp",
    "go lang": "golang",
    "github actions": "githubactions",
    "gitlab ci": "gitlabci",
    "real-time": "realtime",
    "real time": "realtime",
    "on-premise": "onpremise",
    "on premise": "onpremise",
    "utf-8": "utf8",
    "latin-1": "latin1",
    "sha-256": "sha256",
    "camel case": "camelcase",
    "snake case": "snakecase",
    "snake_case": "snakecase",
    "opted in": "opt-in",
    "opted out": "opt-out",
    "end-to-end": "endtoend",
    "read-only": "readonly",
}
"""Spellings that are replaced before the text is cut into words."""

NOTHING: frozenset[str] = frozenset()
"""One empty set for all: each new one takes 216 bytes, and a kept statement has half a dozen."""
LETTERS = re.compile(r"[^a-z']+")
"""What stands between words of letters."""
CONTRAST = re.compile(r",\s+not\s+")
_SPELLED = re.compile(rf"(?<![a-z])(?:{'|'.join(map(re.escape, sorted(SHORT_FORMS, key=len, reverse=True)))})(?![a-z])")
_SPELLED_STARTS = frozenset(LETTERS.split(long)[0] for long in SHORT_FORMS)
"""First words of the spellings: a text without any of them needs no search for the long ones."""


@lru_cache(maxsize=16)
def usual_spellings(text: str) -> str:
    """The text with the usual form in the place of every other spelling.

    The rules and the sentence ask for the same text one after the other, so the last few are kept."""
    words = LETTERS.split(text)
    return text if _SPELLED_STARTS.isdisjoint(words) else _SPELLED.sub(lambda match: SHORT_FORMS[match.group()], text)
