-- The graph (versions with their span), its conflicts, references of the notes' version control; then anchors.
--
-- Most indexes of the graph begin alike, and a planner without statistics finds them equally good for everything. So
-- each shows itself only to the statements it is made for: to those that compare its column, or, where it gives the
-- order, to those that say so (`seq + 0 > 0`, BY_SEQ in reasoning/graph/view.py). The columns are checked instead of
-- NOT NULL, for a planner that knows a column to be never null takes such a condition for always true.

CREATE TABLE node (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    until BIGINT,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    id TEXT CHECK (id IS NOT NULL),
    type TEXT CHECK (type IS NOT NULL),
    status TEXT,
    deleted BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    tags TEXT NOT NULL,
    title TEXT,
    text TEXT,
    meta TEXT,
    folded TEXT NOT NULL,
    PRIMARY KEY (workspace, seq)
);
CREATE UNIQUE INDEX node_key ON node (workspace, branch, doc, id, seq) WHERE id IS NOT NULL;
CREATE INDEX node_order ON node (workspace, branch, doc, seq) WHERE seq + 0 > 0;
CREATE INDEX node_type ON node (workspace, branch, doc, type, seq) WHERE type IS NOT NULL;
CREATE INDEX node_status ON node (workspace, branch, doc, status, seq) WHERE status IS NOT NULL;
CREATE INDEX node_type_status ON node (workspace, branch, doc, type, status, seq)
    WHERE type IS NOT NULL AND status IS NOT NULL;
CREATE INDEX node_anywhere ON node (workspace, id, seq) WHERE seq + 0 > 0;

-- One row for each tag of each version; the version is the one with the same seq.
CREATE TABLE node_tag (
    workspace TEXT NOT NULL,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    tag TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, branch, doc, tag, seq)
);

-- sqlite:
-- Every three characters of a version's folded text; see index/substrings.py.
CREATE VIRTUAL TABLE node_grams USING fts5 (
    folded, content = '', detail = none, tokenize = 'trigram case_sensitive 1'
);
-- postgres:
-- Every three characters of a version's folded text as numbers; see index/substrings.py. New rows wait in a short list
-- and enter the index together, which makes a write four times cheaper.
CREATE TABLE node_grams (
    number BIGINT PRIMARY KEY,
    grams INTEGER[] NOT NULL
);
ALTER TABLE node_grams ALTER COLUMN grams SET STORAGE EXTERNAL;
CREATE INDEX node_grams_held ON node_grams USING gin (grams) WITH (fastupdate = on, gin_pending_list_limit = 64);
-- both:

CREATE TABLE edge (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    until BIGINT,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    from_id TEXT CHECK (from_id IS NOT NULL),
    rel TEXT NOT NULL,
    to_id TEXT CHECK (to_id IS NOT NULL),
    deleted BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    meta TEXT,
    PRIMARY KEY (workspace, seq)
);
CREATE UNIQUE INDEX edge_key ON edge (workspace, branch, doc, from_id, rel, to_id, seq) WHERE from_id IS NOT NULL;
CREATE INDEX edge_back ON edge (workspace, branch, doc, to_id, rel, from_id, seq) WHERE to_id IS NOT NULL;
CREATE INDEX edge_order ON edge (workspace, branch, doc, seq) WHERE seq + 0 > 0;

-- Which version of a branch's key its destination has last seen: merged, found equal, or decided in a conflict.
CREATE TABLE graph_merged (
    workspace TEXT NOT NULL,
    from_branch BIGINT NOT NULL,
    into_branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, from_branch, into_branch, doc, kind, key)
);

-- base, theirs and ours are snapshots (JSON); seq is the conflict's own number and place in the list.
CREATE TABLE graph_conflict (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    from_branch BIGINT NOT NULL,
    into_branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    status TEXT NOT NULL,
    resolution TEXT,
    base TEXT,
    theirs TEXT NOT NULL,
    ours TEXT,
    theirs_seq BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    resolved_at_ms BIGINT,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX graph_conflict_list ON graph_conflict (workspace, into_branch, doc, seq);
CREATE INDEX graph_conflict_key ON graph_conflict (workspace, from_branch, into_branch, doc, kind, key, status);

-- Version control over notes: stretches of the log that a reset hid, the movements of heads, and tags.
CREATE TABLE log_cut (
    workspace TEXT NOT NULL,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    PRIMARY KEY (workspace, branch, doc, high)
);

CREATE TABLE reflog (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    old_seq BIGINT,
    new_seq BIGINT NOT NULL,
    message TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, seq)
);
CREATE INDEX reflog_branch ON reflog (workspace, branch, doc, seq);

CREATE TABLE note_tag (
    workspace TEXT NOT NULL,
    name TEXT NOT NULL,
    branch BIGINT NOT NULL,
    doc TEXT NOT NULL,
    seq BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, name)
);

-- Anchors. A card hangs on an anchor by its tag; the partial index finds such tags over all branches and documents.
CREATE INDEX node_tag_anchor ON node_tag (workspace, tag, seq) WHERE substr(tag, 1, 2) = 'a:';

CREATE TABLE anchor (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    description TEXT,
    refs TEXT NOT NULL,
    parent_id TEXT,
    depends_on TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);

CREATE TABLE anchor_alias (
    workspace TEXT NOT NULL,
    alias TEXT NOT NULL,
    anchor TEXT NOT NULL,
    PRIMARY KEY (workspace, alias)
);
CREATE INDEX anchor_alias_anchor ON anchor_alias (workspace, anchor, alias);
