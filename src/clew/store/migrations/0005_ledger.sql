-- The thought ledger: sessions, their chains, thoughts and the links between them; patterns and scratchpad notes.

CREATE TABLE ledger_session (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    branch BIGINT NOT NULL,
    title TEXT NOT NULL,
    description TEXT,
    tags TEXT NOT NULL,
    words TEXT NOT NULL,
    status TEXT NOT NULL,
    thought_count BIGINT NOT NULL,
    branch_count BIGINT NOT NULL,
    revision_count BIGINT NOT NULL,
    critique_count BIGINT NOT NULL,
    place TEXT,
    extra TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    accessed_at_ms BIGINT NOT NULL,
    completed_at_ms BIGINT,
    deleted_at_ms BIGINT,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX ledger_session_updated ON ledger_session (workspace, updated_at_ms, id);

CREATE TABLE ledger_tag (
    workspace TEXT NOT NULL,
    tag TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (workspace, tag, session)
);
CREATE INDEX ledger_tag_session ON ledger_tag (workspace, session);

-- The main chain is the one with the empty name. `highest` and `newest` make a number a matter of one row.
CREATE TABLE ledger_chain (
    workspace TEXT NOT NULL,
    session TEXT NOT NULL,
    chain TEXT NOT NULL,
    label TEXT,
    origin_chain TEXT,
    origin_number BIGINT,
    lowest BIGINT NOT NULL,
    highest BIGINT NOT NULL,
    newest BIGINT NOT NULL,
    length BIGINT NOT NULL,
    total BIGINT NOT NULL,
    created_seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, session, chain)
);

CREATE TABLE thought (
    workspace TEXT NOT NULL,
    session TEXT NOT NULL,
    chain TEXT NOT NULL,
    number BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    total BIGINT NOT NULL,
    next_needed BIGINT NOT NULL,
    kind TEXT,
    prev_chain TEXT,
    prev_number BIGINT,
    from_chain TEXT,
    from_number BIGINT,
    is_revision BIGINT NOT NULL,
    revises_chain TEXT,
    revises_number BIGINT,
    agent TEXT,
    critique TEXT,
    extra TEXT,
    PRIMARY KEY (workspace, session, chain, number)
);
CREATE UNIQUE INDEX thought_seq ON thought (workspace, seq);
CREATE INDEX thought_order ON thought (workspace, session, seq);
CREATE INDEX thought_kind ON thought (workspace, session, kind, seq) WHERE kind IS NOT NULL;
CREATE INDEX thought_revision ON thought (workspace, session, seq) WHERE is_revision = 1;

CREATE TABLE thought_link (
    workspace TEXT NOT NULL,
    from_seq BIGINT NOT NULL,
    relation TEXT NOT NULL,
    to_seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, from_seq, relation, to_seq)
);
CREATE INDEX thought_link_to ON thought_link (workspace, to_seq, relation, from_seq);

CREATE TABLE pattern (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    content TEXT NOT NULL,
    tags TEXT NOT NULL,
    sessions TEXT NOT NULL,
    created_by TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);

-- What stood in a pattern or scratchpad note before each change.
CREATE TABLE garden_version (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace, seq)
);
CREATE INDEX garden_version_id ON garden_version (workspace, kind, id, seq);

CREATE TABLE scratchpad (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
