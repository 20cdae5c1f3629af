"""Logs: one JSON object to a line, on stderr, without secrets and without the content of memory."""

from __future__ import annotations

import json
import logging
import sys

from clew.settings import Settings

_HIDDEN = "<redacted>"


class JsonLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__()
        self._secrets: tuple[str, ...] = ()

    def hide(self, settings: Settings) -> None:
        """Never write the secrets of these settings, neither as they are nor as JSON writes them."""
        found = tuple(filter(None, (settings.token, settings.database_url)))
        found += tuple(escaped for secret in found if (escaped := json.dumps(secret)[1:-1]) != secret)
        self._secrets = tuple(dict.fromkeys((*self._secrets, *found)))

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._hide(record.getMessage()),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self._hide(self.formatException(record.exc_info))
        # Hidden once more in what is written, for secrets that were in the text as JSON already.
        return self._hide(json.dumps(line, ensure_ascii=False))

    def _hide(self, text: str) -> str:
        from clew.secrets import redact_text  # its patterns take a while to compile, and most starts log nothing

        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return redact_text(text)


class NoFlood(logging.Filter):
    """Lets the same message through so often in so many seconds, then says that there were more.

    Without it a server that runs out of open files logs thousands of lines a second, and fills the disk.
    """

    MOST, SECONDS = 20, 10.0

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if hasattr(record, "fields"):
            return True  # an account of one call, never the same twice
        key = (record.name, str(record.msg)[:80])
        since, count = self._counts.get(key, (record.created, 0))
        if record.created - since >= self.SECONDS:
            since, count = record.created, 0
        if len(self._counts) > 1_000:
            self._counts.clear()
        self._counts[key] = (since, count + 1)
        if count == self.MOST:
            record.msg, record.args, record.exc_info = f"{record.getMessage()} (and more of the same)", (), None
        return count <= self.MOST


def configure_logs(settings: Settings) -> None:
    """Makes the root logger write to stderr at the chosen level; stdout belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(NoFlood())
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    # Libraries write whole messages at the level debug: requests, answers and frames with the content of memory.
    logging.basicConfig(handlers=[handler], level=max(level, logging.INFO), force=True)
    logging.getLogger("clew").setLevel(level)
    logging.getLogger("clew.calls").setLevel(logging.INFO if settings.call_log else logging.CRITICAL)
    hide_in_logs(settings)


def hide_in_logs(settings: Settings) -> None:
    """Keep the secrets of one more client out of what is logged."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonLines):
            handler.formatter.hide(settings)
