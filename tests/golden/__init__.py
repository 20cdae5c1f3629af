"""The example answer of every operation, as data, compared byte for byte on both engines.

`answers/NAME.json` is the answer on SQLite; `answers/postgres/NAME.json` exists where
PostgreSQL rightly answers otherwise.
They hold the contracts while the code below them moves. An answer that should change is recorded again with
`CLEW_GOLDEN=record python -m pytest tests/golden`, and the difference is reviewed like code.
"""
