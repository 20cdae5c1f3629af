-- Plans, tasks, steps, their proofs and leases, and what was done to them.

CREATE TABLE work (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    number BIGINT NOT NULL,
    parent TEXT,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT,
    context TEXT,
    priority TEXT,
    domain TEXT,
    phase TEXT,
    component TEXT,
    assignee TEXT,
    reasoning_mode TEXT NOT NULL,
    tags TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    contract TEXT,
    contract_data TEXT,
    contract_versions BIGINT NOT NULL,
    checklist TEXT NOT NULL,
    checklist_current BIGINT NOT NULL,
    checklist_doc TEXT,
    parked_until_ts_ms BIGINT,
    stale_after_ms BIGINT,
    created_seq BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX work_number ON work (workspace, kind, number);
CREATE INDEX work_parent ON work (workspace, parent, status, number);

CREATE TABLE step (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    task TEXT NOT NULL,
    parent TEXT,
    ordinal BIGINT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    success_criteria TEXT NOT NULL,
    tests TEXT NOT NULL,
    blockers TEXT NOT NULL,
    next_action TEXT,
    stop_criteria TEXT,
    criteria_confirmed BIGINT NOT NULL,
    tests_confirmed BIGINT NOT NULL,
    security_confirmed BIGINT NOT NULL,
    perf_confirmed BIGINT NOT NULL,
    docs_confirmed BIGINT NOT NULL,
    proof_tests_mode TEXT NOT NULL,
    proof_security_mode TEXT NOT NULL,
    proof_perf_mode TEXT NOT NULL,
    proof_docs_mode TEXT NOT NULL,
    completed BIGINT NOT NULL,
    completed_at_ms BIGINT,
    blocked BIGINT NOT NULL,
    block_reason TEXT,
    created_seq BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX step_path ON step (workspace, task, path);
CREATE INDEX step_open ON step (workspace, task, completed, created_seq, id);

CREATE TABLE task_node (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    task TEXT NOT NULL,
    step TEXT NOT NULL,
    ordinal BIGINT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    status TEXT NOT NULL,
    status_manual BIGINT NOT NULL,
    priority TEXT,
    blocked BIGINT NOT NULL,
    description TEXT,
    context TEXT,
    blockers TEXT NOT NULL,
    dependencies TEXT NOT NULL,
    next_steps TEXT NOT NULL,
    problems TEXT NOT NULL,
    risks TEXT NOT NULL,
    success_criteria TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE UNIQUE INDEX task_node_path ON task_node (workspace, task, path);

-- One row for each thing that was captured; `owner` is the plan or task, `entity` the step or the owner itself.
CREATE TABLE evidence (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    number BIGINT NOT NULL,
    owner TEXT NOT NULL,
    entity TEXT NOT NULL,
    path TEXT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    body TEXT,
    proves BIGINT NOT NULL,
    command TEXT,
    exit_code BIGINT,
    output_digest TEXT,
    files TEXT,
    event TEXT NOT NULL,
    agent TEXT,
    seq BIGINT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX evidence_entity ON evidence (workspace, entity, number);
CREATE INDEX evidence_owner ON evidence (workspace, owner, number);

CREATE TABLE evidence_checkpoint (
    workspace TEXT NOT NULL,
    entity TEXT NOT NULL,
    checkpoint TEXT NOT NULL,
    evidence TEXT NOT NULL,
    proves BIGINT NOT NULL,
    PRIMARY KEY (workspace, entity, checkpoint, evidence)
);

CREATE TABLE step_lease (
    workspace TEXT NOT NULL,
    step TEXT NOT NULL,
    holder TEXT NOT NULL,
    acquired_seq BIGINT NOT NULL,
    expires_seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, step)
);

-- What was done, with the content before and after, newest last; the log that undo and redo walk.
CREATE TABLE task_operation (
    workspace TEXT NOT NULL,
    seq BIGINT NOT NULL,
    task TEXT NOT NULL,
    entity TEXT NOT NULL,
    path TEXT,
    intent TEXT NOT NULL,
    payload TEXT NOT NULL,
    before_content TEXT,
    after_content TEXT,
    undoable BIGINT NOT NULL,
    undone BIGINT NOT NULL,
    event TEXT NOT NULL,
    agent TEXT,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, seq)
);
CREATE INDEX task_operation_task ON task_operation (workspace, task, seq);
CREATE INDEX task_operation_entity ON task_operation (workspace, entity, seq);

-- Where a view stood when it was last shown, so that the next one can say what changed.
CREATE TABLE portal_cursor (
    workspace TEXT NOT NULL,
    tool TEXT NOT NULL,
    target TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, tool, target)
);
