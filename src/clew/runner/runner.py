"""The runner: its slots, what wakes them, and how they stop."""

from __future__ import annotations

import logging
import os
import socket
import threading

from clew.app import Clew
from clew.runner.board import Board
from clew.runner.configuration import Configuration
from clew.runner.executors import Executors
from clew.runner.slot import News, Slot

log = logging.getLogger("clew.runner")
QUIET_S = 0.25
"""Many commits in a row are one piece of news, or idle runners would keep a busy store from its work."""


def run(
    clew: Clew, configuration: Configuration, stop: threading.Event, *, once: bool = False, dry_run: bool = False
) -> int:
    """Work until `stop` is set, or once through; how many jobs were taken."""
    executors = Executors(configuration, dry_run)
    executors.check()
    for name, problem in executors.unusable.items():
        log.warning("executor %s is not used: %s", name, problem)
    news = News()
    slots = [
        Slot(Board(clew.dispatcher, name, configuration.lease_ms), executors, configuration, news, stop, once)
        for name in slot_names(configuration)
    ]
    threads = [threading.Thread(target=slot.run, name=f"slot-{number}") for number, slot in enumerate(slots)]
    if not once:
        threading.Thread(target=_follow, args=(clew, news, configuration.poll_s, stop), daemon=True).start()
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.5)  # not for ever in one go, so that signals are handled
    return sum(slot.worked for slot in slots)


def slot_names(configuration: Configuration) -> list[str]:
    """One name for each slot, so that each has its own lease and its own claims."""
    name = configuration.runner_id or f"{socket.gethostname()}:{os.getpid()}"
    if configuration.slots == 1:
        return [name]
    return [f"{name}:{number}" for number in range(1, configuration.slots + 1)]


def _follow(clew: Clew, news: News, wait: float, stop: threading.Event) -> None:
    """Tell the slots about commits: PostgreSQL notifies, SQLite's file is looked at."""
    while not stop.is_set():
        try:
            for _ in clew.database.changes(wait):
                news.tell()
                if stop.wait(QUIET_S):
                    return
        except Exception as problem:
            log.warning("cannot follow the store, looking every %s s instead: %s", wait, problem)
            stop.wait(wait)
