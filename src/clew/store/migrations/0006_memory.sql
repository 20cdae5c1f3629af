-- Governed memory: blocks with every version, where each stands in its file, receipts and tombstones.

CREATE TABLE block (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    until BIGINT,
    gone BIGINT NOT NULL,
    file TEXT NOT NULL,
    prefix TEXT NOT NULL,
    status TEXT,
    mark TEXT,
    review_by TEXT,
    text TEXT NOT NULL,
    fields TEXT NOT NULL,
    problems TEXT,
    origin TEXT NOT NULL,
    cause TEXT,
    agent TEXT,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id, seq)
);
CREATE INDEX block_live ON block (workspace, prefix, status, id) WHERE until IS NULL AND gone = 0;
CREATE INDEX block_in_file ON block (workspace, file, id) WHERE until IS NULL AND gone = 0;
CREATE INDEX block_mark ON block (workspace, mark, prefix) WHERE until IS NULL AND gone = 0;
CREATE INDEX block_review ON block (workspace, review_by) WHERE until IS NULL AND gone = 0 AND review_by IS NOT NULL;
CREATE INDEX block_flawed ON block (workspace, id) WHERE until IS NULL AND gone = 0 AND problems IS NOT NULL;

-- A Markdown file of blocks: what stands before the first one, how long it is, when it last changed.
CREATE TABLE block_file (
    workspace TEXT NOT NULL,
    path TEXT NOT NULL,
    preamble TEXT NOT NULL,
    problems TEXT,
    bytes BIGINT NOT NULL,
    lines BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, path)
);

-- Where a current block stands. Byte and line are exact after adding the shifts of smaller ordinals, so that a change
-- in the middle of a long file moves one row and not all that follow.
CREATE TABLE place (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    file TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    at_byte BIGINT NOT NULL,
    at_line BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    lines BIGINT NOT NULL,
    gap TEXT NOT NULL,
    problems TEXT,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX place_order ON place (workspace, file, ordinal);
CREATE INDEX place_flawed ON place (workspace, id) WHERE problems IS NOT NULL;

CREATE TABLE shift (
    workspace TEXT NOT NULL,
    file TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    lines BIGINT NOT NULL,
    PRIMARY KEY (workspace, file, ordinal)
);

-- The newest edits of a file, from which a directory that is a little behind brings itself up to date.
CREATE TABLE splice (
    workspace TEXT NOT NULL,
    file TEXT NOT NULL,
    number BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at_byte BIGINT NOT NULL,
    removed BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (workspace, file, number)
);

-- Files of the workspace that hold no blocks: kernels, settings, state.
CREATE TABLE plain_file (
    workspace TEXT NOT NULL,
    path TEXT NOT NULL,
    seq BIGINT NOT NULL,
    until BIGINT,
    text TEXT NOT NULL,
    origin TEXT NOT NULL,
    agent TEXT,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, path, seq)
);

CREATE TABLE receipt (
    workspace TEXT NOT NULL,
    ts TEXT NOT NULL,
    proposal TEXT NOT NULL,
    seq BIGINT NOT NULL,
    changes TEXT NOT NULL,
    automatic BIGINT NOT NULL,
    agent TEXT,
    created_at_ms BIGINT NOT NULL,
    rolled_back_at_ms BIGINT,
    PRIMARY KEY (workspace, ts)
);
CREATE INDEX receipt_proposal ON receipt (workspace, proposal, ts);

-- A rejected value stays rejected, whatever happens to the proposal that carried it.
CREATE TABLE tombstone (
    workspace TEXT NOT NULL,
    mark TEXT NOT NULL,
    proposal TEXT NOT NULL,
    statement TEXT NOT NULL,
    reason TEXT NOT NULL,
    agent TEXT,
    seq BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, mark)
);
