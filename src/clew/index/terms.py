"""Converts text to search terms: the same function for stored texts and for queries.

A word is converted to its stem; a code word (`users.email`, `pgDump`, `BM4_HYPOTHESIS`) to itself, its parts and their
stems, so that every spelling finds it. Scripts without spaces are split into overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain

import Stemmer

_WORD = re.compile(r"[^\W_]+(?:[._:/@#'’-]+[^\W_]+)*|\w+", re.UNICODE)
_PART = re.compile(r"[^\W_]+", re.UNICODE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_APOSTROPHE = re.compile(r"['’]")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)

MAX_TERM = 64
_stem = Stemmer.Stemmer("english")


def terms(text: str) -> list[str]:
    """The terms of a text, in order, with repeats."""
    return list(chain.from_iterable(map(_chunk_terms, unicodedata.normalize("NFKC", text).split())))


@lru_cache(maxsize=20_000)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """The terms of a chunk between spaces. No word contains a space, and most chunks are already in the cache."""
    return tuple(chain.from_iterable(map(_word_terms, _WORD.findall(chunk))))


def _word_terms(word: str) -> tuple[str, ...]:
    if word.isascii() and word.isalnum() and (word.islower() or word.isdigit()):
        return (stem(word),)  # most words have no parts
    word = _POSSESSIVE.sub("", word)
    plain = _APOSTROPHE.sub("", fold(word))
    if _UNSPACED.search(plain):
        return tuple(_unspaced_terms(plain))
    parts = [fold(part) for chunk in _PART.findall(word) for part in _CAMEL.split(chunk) if part]
    if len(parts) <= 1 or (plain.isalpha() and _APOSTROPHE.search(word)):
        return (stem(plain),)
    return (plain[:MAX_TERM], *(stem(part) for part in parts))


def _unspaced_terms(text: str) -> list[str]:
    found = []
    for run in _UNSPACED.findall(text):
        found += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
    found += [stem(part) for part in _PART.findall(_UNSPACED.sub(" ", text))]
    return found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    word = PLAIN_FORMS.get(word, word)
    return str(_stem.stemWord(word))[:MAX_TERM]


def fold(word: str) -> str:
    """Normalize: lower case without accents, so that café and cafe are one word."""
    lowered = word.casefold()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFD", lowered)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


def is_code(word: str) -> bool:
    """Whether a word looks like an identifier: `users.email`, `pg_dump`, `camelCase`, `BM4`."""
    word = word.strip(".,;:!?()[]{}\"'`’")
    if len(word) < 3 or not word.isascii():
        return False
    inner = any(mark in word[1:-1] for mark in "._/:@#")
    mixed = any(c.isdigit() for c in word) and any(c.isalpha() for c in word)
    return inner or mixed or bool(_CAMEL.search(word))


_FORMS = """
arise arose arisen; be was were been am is are; bear bore borne; beat beaten; become became; begin began begun;
bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; bring brought; build
built; burn burnt; buy bought; catch caught; choose chose chosen; come came; creep crept; deal dealt; dig dug;
do did done does; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell
fallen; feed fed; feel felt; fight fought; find found; fly flew flown; forbid forbade forbidden; forget forgot
forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone goes;
grow grew grown; hang hung; have had has; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know
knew known; lay laid; lead led; learn learnt; leave left; lend lent; lie lain; light lit; lose lost; make made;
mean meant; meet met; pay paid; prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran; say
said; see saw seen; seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot;
show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke
spoken; speed sped; spend spent; spin spun; stand stood; steal stole stolen; stick stuck; strike struck; swear
swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told;
think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; win
won; withdraw withdrew withdrawn; write wrote written; child children; man men; woman women; person people; foot
feet; tooth teeth; mouse mice; goose geese; life lives; wife wives; knife knives; half halves; leaf leaves;
index indices; matrix matrices; vertex vertices; datum data; good better best; bad worse worst
"""

PLAIN_FORMS: dict[str, str] = {
    form: words[0] for words in (group.split() for group in _FORMS.split(";")) for form in words[1:]
}
"""English words whose forms no stemmer reduces to one stem: went and go, children and child."""
