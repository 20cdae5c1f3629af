-- The logs of changes: this store's own and those of the stores that it exchanges records with.

CREATE TABLE sync_state (
    workspace TEXT NOT NULL,
    -- The name under which this store's changes travel.
    origin TEXT NOT NULL,
    -- The version of a block, and the event, up to which the log is written.
    captured_seq BIGINT NOT NULL,
    captured_event BIGINT NOT NULL,
    PRIMARY KEY (workspace)
);

CREATE TABLE sync_change (
    workspace TEXT NOT NULL,
    origin TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    -- The record as every store calls it: the id that its first store gave it, `@`, and the origin of that store.
    record TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    agent TEXT,
    file TEXT NOT NULL,
    parents TEXT NOT NULL,
    erased TEXT NOT NULL,
    content TEXT NOT NULL,
    body TEXT,
    digest TEXT NOT NULL,
    PRIMARY KEY (workspace, origin, seq)
);
CREATE INDEX sync_change_record ON sync_change (workspace, record);

CREATE TABLE sync_record (
    workspace TEXT NOT NULL,
    record TEXT NOT NULL,
    -- What the record is called here.
    id TEXT NOT NULL,
    PRIMARY KEY (workspace, record)
);
CREATE UNIQUE INDEX sync_record_id ON sync_record (workspace, id);

-- Records that two origins changed differently, with the proposal that shows the other side to a person.
CREATE TABLE sync_conflict (
    workspace TEXT NOT NULL,
    record TEXT NOT NULL,
    heads TEXT NOT NULL,
    proposal TEXT NOT NULL,
    PRIMARY KEY (workspace, record)
);
