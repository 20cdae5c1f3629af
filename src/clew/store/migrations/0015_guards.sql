-- Checks that a person has approved, and what came of them.

-- The approved check itself is kept, not only its digest: what an agent or an edit writes into the block afterwards
-- neither fires nor disarms it until a person approves that too.
CREATE TABLE guard (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    -- the fields of the check as JSON, and their digest
    fields TEXT NOT NULL,
    digest TEXT NOT NULL,
    approved_by TEXT NOT NULL,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);

-- One row for each time that a guard spoke up and was passed: by a person beforehand, or by one whom the client asked.
CREATE TABLE guard_override (
    workspace TEXT NOT NULL,
    number BIGINT NOT NULL,
    id TEXT NOT NULL,
    why TEXT NOT NULL,
    -- what was let through, once that is known
    action TEXT,
    by_whom TEXT NOT NULL,
    until_ms BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, number)
);
CREATE INDEX guard_override_id ON guard_override (workspace, id, until_ms);
