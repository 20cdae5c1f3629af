-- What is kept of a caller between its calls. Focus, checkout and what it has seen belong to an agent and its
-- connection, never to the workspace, so that two agents do not move each other.

CREATE TABLE caller_state (
    workspace TEXT NOT NULL,
    agent TEXT NOT NULL,
    -- empty where a caller has no connection of its own: each request stands alone
    connection TEXT NOT NULL,
    -- the agent without the number of its session: a new connection of the same client comes back as it
    family TEXT NOT NULL,
    focus TEXT,
    checkout BIGINT,
    -- where the log of events ended when the family was here before this connection, and after this one's last write
    since_seq BIGINT NOT NULL,
    last_seen_seq BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, agent, connection)
);
CREATE INDEX caller_family ON caller_state (workspace, family, last_seen_seq);
