-- What each transaction wrote and whose it was, so that its author can undo it.
-- Its seqs and events are the numbers from one to the other.
CREATE TABLE write_log (
    workspace TEXT NOT NULL,
    -- the number of its last event
    event BIGINT NOT NULL,
    first_event BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    operation TEXT NOT NULL,
    agent TEXT,
    session TEXT NOT NULL,
    family TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    -- the event at which it was taken back
    undone_event BIGINT,
    PRIMARY KEY (workspace, event)
);
CREATE INDEX write_log_family ON write_log (workspace, family, event);
