-- Receipts: what was run to prove work, and how far each can be believed. Rows are never changed or deleted, not even
-- with their task: each holds the digest of the one before it, so that a changed or missing row is found.

CREATE TABLE proof_receipt (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    number BIGINT NOT NULL,
    owner TEXT NOT NULL,
    entity TEXT NOT NULL,
    path TEXT,
    evidence TEXT,
    -- seen, claimed, failed; unproven and overridden are the reasons given for closing without
    grade TEXT NOT NULL,
    source TEXT NOT NULL,
    text TEXT NOT NULL,
    command TEXT,
    exit_code BIGINT,
    duration_ms BIGINT,
    output_digest TEXT,
    output_tail TEXT,
    git_commit TEXT,
    git_dirty BIGINT,
    files TEXT,
    -- size and times of the covered files, by which an unchanged file is known without reading it
    stats TEXT,
    again TEXT,
    agent TEXT,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    prev TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX proof_receipt_number ON proof_receipt (workspace, number);
CREATE INDEX proof_receipt_entity ON proof_receipt (workspace, entity, number);
CREATE INDEX proof_receipt_owner ON proof_receipt (workspace, owner, number);
CREATE INDEX proof_receipt_evidence ON proof_receipt (workspace, evidence);

-- Events are chained too; those from before have no digest, and the chain begins after them.
ALTER TABLE event ADD COLUMN digest TEXT;
ALTER TABLE workspace ADD COLUMN event_digest TEXT;
