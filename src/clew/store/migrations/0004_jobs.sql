-- Delegated work: jobs, what was said about them, and the runners that are alive.

-- The `*_seq` columns are the newest event of each kind that raises or settles a mark of attention, 0 for none,
-- so that an inbox of any size is one query.
CREATE TABLE job (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    number BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    priority TEXT NOT NULL,
    task TEXT,
    anchor TEXT,
    runner TEXT,
    claim_expires_at_ms BIGINT,
    summary TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    completed_at_ms BIGINT,
    last_seq BIGINT NOT NULL,
    noted_seq BIGINT NOT NULL,
    spoken_seq BIGINT NOT NULL,
    question_seq BIGINT NOT NULL,
    manager_seq BIGINT NOT NULL,
    proof_seq BIGINT NOT NULL,
    error_seq BIGINT NOT NULL,
    checkpoint_seq BIGINT NOT NULL,
    proof_gate_seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX job_queue ON job (workspace, status, priority, number);
CREATE INDEX job_recent ON job (workspace, updated_at_ms, number);
CREATE INDEX job_task ON job (workspace, task, number);
CREATE INDEX job_anchor ON job (workspace, anchor, number);

-- Apart from the row that every list reads, because prompts are long.
CREATE TABLE job_brief (
    workspace TEXT NOT NULL,
    job TEXT NOT NULL,
    prompt TEXT NOT NULL,
    meta TEXT NOT NULL,
    PRIMARY KEY (workspace, job)
);

CREATE TABLE job_event (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    job TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    percent BIGINT,
    refs TEXT NOT NULL,
    meta TEXT,
    runner TEXT,
    claim_revision BIGINT,
    PRIMARY KEY (workspace, seq)
);
CREATE INDEX job_event_thread ON job_event (workspace, job, seq);

CREATE TABLE runner_lease (
    workspace TEXT NOT NULL,
    runner TEXT NOT NULL,
    status TEXT NOT NULL,
    active_job TEXT,
    lease_expires_at_ms BIGINT NOT NULL,
    meta TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, runner)
);
CREATE INDEX runner_lease_expiry ON runner_lease (workspace, lease_expires_at_ms);
