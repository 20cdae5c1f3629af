"""Fixtures of the tests of the store."""

from collections.abc import Iterator

import pytest

from tests.store.proxy import Proxy


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    found = Proxy(postgres_url)
    yield found
    found.close()
