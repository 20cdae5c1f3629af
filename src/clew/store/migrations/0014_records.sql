-- Records across the stores: links that no table of a domain can hold, and what was taken back.

CREATE TABLE record_link (
    workspace TEXT NOT NULL,
    from_id TEXT NOT NULL,
    -- rests_on, replaces, about or answers
    rel TEXT NOT NULL,
    to_id TEXT NOT NULL,
    why TEXT,
    agent TEXT,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, from_id, rel, to_id)
);
CREATE INDEX record_link_to ON record_link (workspace, to_id, seq);

-- One row for each time that a record was taken back. `proposal` is set where a person still has to agree.
CREATE TABLE retraction (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    why TEXT NOT NULL,
    replaced_by TEXT,
    proposal TEXT,
    agent TEXT,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id, seq)
);
