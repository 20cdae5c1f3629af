-- Workspaces, branches, documents, events, and the search index.

CREATE TABLE workspace (
    id TEXT PRIMARY KEY,
    number BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    event_seq BIGINT NOT NULL,
    checkout BIGINT,
    focus TEXT,
    project_guard TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX workspace_number ON workspace (number);

CREATE TABLE counter (
    workspace TEXT NOT NULL,
    name TEXT NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (workspace, name)
);

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE branch (
    workspace TEXT NOT NULL,
    id BIGINT NOT NULL,
    name TEXT NOT NULL,
    base_id BIGINT,
    base_seq BIGINT,
    created_seq BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX branch_name ON branch (workspace, name) WHERE deleted_at_ms IS NULL;
CREATE INDEX branch_base ON branch (workspace, base_id);

CREATE TABLE document (
    workspace TEXT NOT NULL,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, branch, doc)
);

CREATE TABLE entry (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    kind TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    title TEXT,
    format TEXT,
    meta TEXT,
    content TEXT,
    source TEXT,
    event_type TEXT,
    subject TEXT,
    path TEXT,
    agent TEXT,
    PRIMARY KEY (workspace, seq)
);
CREATE INDEX entry_document ON entry (workspace, branch, doc, seq);
CREATE UNIQUE INDEX entry_source ON entry (workspace, branch, doc, source) WHERE source IS NOT NULL;

CREATE TABLE reasoning_ref (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    branch BIGINT NOT NULL,
    notes_doc TEXT NOT NULL,
    graph_doc TEXT NOT NULL,
    trace_doc TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX reasoning_ref_branch ON reasoning_ref (workspace, branch);

CREATE TABLE event (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    topic TEXT NOT NULL,
    type TEXT NOT NULL,
    subject TEXT,
    path TEXT,
    agent TEXT,
    at_seq BIGINT NOT NULL,
    payload TEXT NOT NULL,
    PRIMARY KEY (workspace, seq)
);
CREATE INDEX event_topic ON event (workspace, topic, seq);
CREATE INDEX event_subject ON event (workspace, subject, seq);
CREATE INDEX event_type ON event (workspace, type, seq);

CREATE TABLE item (
    id BIGINT PRIMARY KEY,
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
    digest TEXT NOT NULL
);
CREATE UNIQUE INDEX item_ref ON item (workspace, ref);
CREATE INDEX item_place ON item (workspace, branch, doc, seq);
CREATE INDEX item_source ON item (workspace, source, seq);

-- The words of an item as our own terms. `change` numbers the writes of a workspace in commit order, so that a process
-- reads only what is new since it last looked; a row without terms says that its item is gone.
CREATE TABLE item_terms (
    id BIGINT PRIMARY KEY,
    workspace TEXT NOT NULL,
    change BIGINT NOT NULL,
    stale BIGINT NOT NULL,
    terms TEXT
);
CREATE UNIQUE INDEX item_terms_change ON item_terms (workspace, change);
CREATE INDEX item_terms_stale ON item_terms (workspace) WHERE stale = 1;

-- What an item said before it was changed or removed, for searches as of a past moment.
CREATE TABLE item_past (
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
    terms TEXT NOT NULL,
    until_seq BIGINT NOT NULL,
    until_ms BIGINT NOT NULL
);
CREATE INDEX item_past_until ON item_past (workspace, until_seq);

-- Which item points to which thing, by what relation.
CREATE TABLE item_link (
    id BIGINT NOT NULL,
    workspace TEXT NOT NULL,
    relation TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (id, relation, target)
);
CREATE INDEX item_link_target ON item_link (workspace, target);

-- postgres:
CREATE SEQUENCE item_id;
-- both:
