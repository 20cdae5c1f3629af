-- Vectors of items, stamped with the model that made them, and how far each model has come. A vector is one signed byte
-- for each number, times the scale. Where PostgreSQL has pgvector a column is added (see index/pgvector.py), which is why
-- the table must not be called as pgvector's type is.

CREATE TABLE item_vector (
    workspace TEXT NOT NULL,
    model TEXT NOT NULL,
    id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    digest TEXT NOT NULL,
    scale REAL NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (id, model)
);
CREATE UNIQUE INDEX item_vector_number ON item_vector (workspace, model, number);
CREATE INDEX item_vector_digest ON item_vector (digest, model);

-- Every change of the index up to this one is embedded or needs no vector.
CREATE TABLE vector_progress (
    workspace TEXT NOT NULL,
    model TEXT NOT NULL,
    change BIGINT NOT NULL,
    PRIMARY KEY (workspace, model)
);

-- How often an item was shown, and with which others: what find_similar and evolution read.
CREATE TABLE item_use (
    workspace TEXT NOT NULL,
    ref TEXT NOT NULL,
    uses BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, ref)
);
CREATE TABLE item_pair (
    workspace TEXT NOT NULL,
    ref TEXT NOT NULL,
    other TEXT NOT NULL,
    uses BIGINT NOT NULL,
    PRIMARY KEY (workspace, ref, other)
);

-- The index once more as arrays, for processes that start (see index/segments.py). A pack holds the changes after `low` up to
-- `high`; its pieces count once its label stands in index_pack. All of it can be made anew from item_terms.
CREATE TABLE index_pack (
    workspace TEXT NOT NULL,
    number BIGINT NOT NULL,
    form BIGINT NOT NULL,
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    items BIGINT NOT NULL,
    sizes TEXT NOT NULL,
    PRIMARY KEY (workspace, number)
);
CREATE TABLE index_piece (
    workspace TEXT NOT NULL,
    number BIGINT NOT NULL,
    name TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    crc BIGINT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (workspace, number, name, ordinal)
);
