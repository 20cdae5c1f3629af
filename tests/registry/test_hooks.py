"""Hooks: offered by decoration, found by key or all in order, and imported only when they are looked up."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from clew.hooks import HookPoint
from clew.registry.catalogue import catalogue


def test_a_function_is_found_under_each_of_its_keys() -> None:
    greeter: HookPoint[Callable[[str], str]] = HookPoint("test_greeter")

    @greeter("morning", "noon")
    def day(name: str) -> str:
        return f"good day {name}"

    assert greeter.find("morning") is greeter.find("noon") is day
    assert greeter.find("night") is None


def test_all_come_in_order_and_later_ones_are_seen() -> None:
    check: HookPoint[Callable[[], str]] = HookPoint("test_check")

    @check()
    def b() -> str:
        return "b"

    @check(order=1)
    def a() -> str:
        return "a"

    assert [function() for function in check.all()] == ["b", "a"]

    @check(order=-1)
    def c() -> str:
        return "c"

    assert [function() for function in check.all()] == ["c", "b", "a"]


def test_two_functions_under_one_key_are_refused() -> None:
    point: HookPoint[Callable[[], None]] = HookPoint("test_twice")

    @point("one")
    def first() -> None: ...

    with pytest.raises(ValueError, match="test_twice one"):

        @point("one")
        def second() -> None: ...


def test_every_hook_of_the_index_is_where_it_says() -> None:
    for hook in catalogue().hooks:
        function = HookPoint[Callable[..., object]](hook.point).find(hook.key)
        assert function is not None and function.__module__ == hook.module


def test_looking_one_up_imports_its_module_only_then() -> None:
    code = (
        "import sys; import clew.registry.dispatch; from clew.store.database import transferred;"
        "before = 'clew.index.items' in sys.modules; transferred.all();"
        "print(before, 'clew.index.items' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
