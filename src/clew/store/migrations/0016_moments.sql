-- What the hooks of an agent's client told about its sessions.

CREATE TABLE agent_session (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    client TEXT NOT NULL,
    -- the task that the session's own calls of Clew named
    focus TEXT,
    prompts BIGINT NOT NULL,
    -- what is to be said as soon as the client lets us
    pending TEXT,
    -- what was done since the last checkpoint, in words
    checkpoint TEXT,
    started_ms BIGINT NOT NULL,
    seen_ms BIGINT NOT NULL,
    ended_ms BIGINT,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX agent_session_seen ON agent_session (workspace, seen_ms);

-- What a session has been told, so that nothing is told twice.
CREATE TABLE agent_told (
    workspace TEXT NOT NULL,
    session TEXT NOT NULL,
    told TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, session, told)
);

-- One row for each command that was run and each file that was edited. Old ones are dropped; dead ends stay.
CREATE TABLE agent_deed (
    workspace TEXT NOT NULL,
    number BIGINT NOT NULL,
    session TEXT NOT NULL,
    -- run or edit
    kind TEXT NOT NULL,
    -- the command, or the path of the file
    subject TEXT NOT NULL,
    exit_code BIGINT,
    -- of a failure: its telling line as it was printed and in its normal form, and where it happened
    error TEXT,
    error_key TEXT,
    place TEXT,
    -- names that occur in the output of a failure or in an edit, as JSON
    names TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, number)
);
CREATE INDEX agent_deed_subject ON agent_deed (workspace, subject, number);
CREATE INDEX agent_deed_session ON agent_deed (workspace, session, number);

-- A failure and what ended it.
CREATE TABLE dead_end (
    workspace TEXT NOT NULL,
    -- the number of the failure among the deeds
    number BIGINT NOT NULL,
    session TEXT NOT NULL,
    command TEXT NOT NULL,
    error TEXT NOT NULL,
    error_key TEXT NOT NULL,
    place TEXT,
    names TEXT NOT NULL,
    -- edit, command, revert, commit, rerun (nothing was changed) or unclear
    remedy TEXT NOT NULL,
    -- the files or the command, as JSON
    by_what TEXT NOT NULL,
    -- the subject of the commit that followed
    committed TEXT,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, number)
);
CREATE INDEX dead_end_key ON dead_end (workspace, error_key, number);
