"""Resources, prompts and completions check what they are given as calls do."""

from __future__ import annotations

import re

import pytest

from clew.app import Clew
from clew.errors import ClewError
from clew.registry.catalogue import catalogue
from clew.registry.connection import Connection

TEMPLATES = [entry.uri for entry in catalogue().resources if entry.template]


@pytest.mark.parametrize("value", ["%00", "\x00", "\ud800"])
def test_an_address_that_cannot_be_stored_is_refused_in_words(clew: Clew, value: str) -> None:
    for uri in TEMPLATES:
        with pytest.raises(ClewError) as refused:
            clew.dispatcher.read_resource(re.sub(r"\{\w+\}", lambda _: value, uri), Connection())
        assert refused.value.code == "INVALID_INPUT", uri
        refused.value.message.encode()


@pytest.mark.parametrize("value", ["\x00", "\ud800"])
def test_so_are_the_arguments_of_a_prompt_and_the_beginning_of_a_word(clew: Clew, value: str) -> None:
    for entry in catalogue().prompts:
        for argument in entry.arguments:
            with pytest.raises(ClewError) as refused:
                clew.dispatcher.get_prompt(entry.name, {argument["name"]: value}, Connection())
            assert refused.value.code == "INVALID_INPUT", entry.name
    for uri in TEMPLATES:
        for name in re.findall(r"\{(\w+)\}", uri):
            with pytest.raises(ClewError) as refused:
                clew.dispatcher.complete("resource", uri, name, value, Connection())
            assert refused.value.code == "INVALID_INPUT", uri


def test_nothing_completes_a_very_long_beginning(clew: Clew) -> None:
    for uri in TEMPLATES:
        for name in re.findall(r"\{(\w+)\}", uri):
            assert clew.dispatcher.complete("resource", uri, name, "a" * 100_000, Connection()) == []
