-- oldest writer: 29
-- Sessions of MCP over HTTP, so that every server over the store can go on with them: one that another server opened, and
-- one whose server has ended. They belong to the whole store, so `workspace` is empty. Only digests of ids are kept: who
-- has a copy of the store takes over no session.

CREATE TABLE mcp_session (
    workspace TEXT NOT NULL,
    -- SHA-256 of the id that the client sends
    digest TEXT NOT NULL,
    -- the id of the token that opened it; empty for the server's own token, or none
    owner TEXT NOT NULL,
    -- what the client said when it opened it: protocol version, capabilities, its name
    hello TEXT NOT NULL,
    -- what the connection is to go on as: its number, the workspace it has moved to
    kept TEXT NOT NULL,
    opened_at_ms BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, digest)
);
CREATE INDEX mcp_session_owner ON mcp_session (workspace, owner, seen_at_ms);
