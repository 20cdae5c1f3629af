"""Logs: one JSON object to a line, on stderr, without secrets."""

from __future__ import annotations

import json
import logging
import sys

from clew.settings import Settings

_HIDDEN = "<redacted>"


class JsonLines(logging.Formatter):
    def __init__(self, secrets: tuple[str, ...]) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._hide(json.dumps(line, ensure_ascii=False))

    def _hide(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def configure_logs(settings: Settings) -> None:
    """Makes the root logger write to stderr at the chosen level; stdout belongs to the protocol."""
    secrets = tuple(filter(None, (settings.token, settings.database_url)))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    logging.basicConfig(handlers=[handler], level=settings.log_level.upper(), force=True)
