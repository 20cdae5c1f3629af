-- The keys of the search index begin with the workspace, as all others do, so that PostgreSQL can divide the tables by
-- it (hash partitions, Citus). Older programs look items up by their id alone, so they must not go on beside this.

-- sqlite:
CREATE TABLE item_by_workspace (
    id BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    ref TEXT NOT NULL,
    source TEXT NOT NULL,
    kind TEXT,
    branch BIGINT,
    doc TEXT,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    event_ts_ms BIGINT,
    title TEXT,
    body TEXT,
    tags TEXT,
    status TEXT,
    speaker TEXT,
    review_by TEXT,
    digest TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
);
INSERT INTO item_by_workspace SELECT * FROM item;
DROP TABLE item;
ALTER TABLE item_by_workspace RENAME TO item;
CREATE UNIQUE INDEX item_ref ON item (workspace, ref);
CREATE INDEX item_place ON item (workspace, branch, doc, seq);
CREATE INDEX item_source ON item (workspace, source, seq);
CREATE INDEX item_recent ON item (workspace, seq, source, kind, status);
CREATE INDEX item_shelf ON item (workspace, source, kind, status, seq);

CREATE TABLE item_terms_by_workspace (
    id BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    change BIGINT NOT NULL,
    stale BIGINT NOT NULL,
    terms TEXT,
    PRIMARY KEY (workspace, id)
);
INSERT INTO item_terms_by_workspace SELECT * FROM item_terms;
DROP TABLE item_terms;
ALTER TABLE item_terms_by_workspace RENAME TO item_terms;
CREATE UNIQUE INDEX item_terms_change ON item_terms (workspace, change);
CREATE INDEX item_terms_stale ON item_terms (workspace) WHERE stale = 1;
-- Ids are given out for the whole store.
CREATE INDEX item_terms_id ON item_terms (id);

CREATE TABLE item_link_by_workspace (
    id BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (workspace, id, relation, target)
);
INSERT INTO item_link_by_workspace SELECT * FROM item_link;
DROP TABLE item_link;
ALTER TABLE item_link_by_workspace RENAME TO item_link;
CREATE INDEX item_link_target ON item_link (workspace, target);

CREATE TABLE item_vector_by_workspace (
    workspace TEXT NOT NULL,
    model TEXT NOT NULL,
    id BIGINT NOT NULL,
    number BIGINT NOT NULL,
    digest TEXT NOT NULL,
    scale REAL NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (workspace, model, id)
);
INSERT INTO item_vector_by_workspace SELECT * FROM item_vector;
DROP TABLE item_vector;
ALTER TABLE item_vector_by_workspace RENAME TO item_vector;
CREATE UNIQUE INDEX item_vector_number ON item_vector (workspace, model, number);
CREATE INDEX item_vector_digest ON item_vector (digest, model);
-- postgres:
ALTER TABLE item DROP CONSTRAINT item_pkey, ADD PRIMARY KEY (workspace, id);
ALTER TABLE item_terms DROP CONSTRAINT item_terms_pkey, ADD PRIMARY KEY (workspace, id);
ALTER TABLE item_link DROP CONSTRAINT item_link_pkey, ADD PRIMARY KEY (workspace, id, relation, target);
ALTER TABLE item_vector DROP CONSTRAINT item_vector_pkey, ADD PRIMARY KEY (workspace, model, id);

ALTER TABLE history_words ADD COLUMN workspace TEXT;
UPDATE history_words SET workspace = (SELECT id FROM workspace WHERE workspace.number = history_words.number >> 40);
DELETE FROM history_words WHERE workspace IS NULL;
ALTER TABLE history_words ALTER COLUMN workspace SET NOT NULL, DROP CONSTRAINT history_words_pkey,
    ADD PRIMARY KEY (workspace, number);
-- both:
