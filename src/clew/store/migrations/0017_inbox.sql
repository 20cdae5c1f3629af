-- What somebody put off in the Inbox: a matter that comes back on a day.

CREATE TABLE inbox_later (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    -- the kind of matter: a step may wait as blocked and as unproven
    kind TEXT NOT NULL,
    until_ms BIGINT NOT NULL,
    why TEXT,
    agent TEXT,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id, kind)
);
