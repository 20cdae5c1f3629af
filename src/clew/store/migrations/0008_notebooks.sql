-- Notebooks: cells in order, and every run with what it printed.

CREATE TABLE notebook (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    language TEXT NOT NULL,
    tsconfig TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX notebook_recent ON notebook (workspace, updated_at_ms, id);

CREATE TABLE notebook_cell (
    workspace TEXT NOT NULL,
    notebook TEXT NOT NULL,
    id TEXT NOT NULL,
    position BIGINT NOT NULL,
    type TEXT NOT NULL,
    filename TEXT,
    language TEXT,
    content TEXT NOT NULL,
    status TEXT NOT NULL,
    output TEXT,
    error TEXT,
    executed_at_ms BIGINT,
    PRIMARY KEY (workspace, notebook, id)
);
CREATE INDEX notebook_cell_order ON notebook_cell (workspace, notebook, position);

CREATE TABLE notebook_run (
    workspace TEXT NOT NULL,
    id BIGINT NOT NULL,
    notebook TEXT NOT NULL,
    cell TEXT NOT NULL,
    started_at_ms BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    status TEXT NOT NULL,
    exit_code BIGINT,
    stdout TEXT NOT NULL,
    stderr TEXT NOT NULL,
    truncated BIGINT NOT NULL,
    source_digest TEXT NOT NULL,
    output_digest TEXT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX notebook_run_cell ON notebook_run (workspace, notebook, cell, id);
