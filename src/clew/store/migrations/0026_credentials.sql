-- What proves who somebody is: access tokens, one-time codes for signing in, and logins at the page. They belong to the
-- whole store, so `workspace` is empty. Only digests of secrets are kept: a copy of the store signs nobody in.

CREATE TABLE credential (
    workspace TEXT NOT NULL,
    -- SHA-256 of the secret; of a login, that of its cookie
    digest TEXT NOT NULL,
    -- token, code or login
    kind TEXT NOT NULL,
    -- the name under which people speak of it
    id TEXT NOT NULL,
    -- a person (@ines) or an agent; empty for an agent that names itself
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    -- empty: all
    workspaces TEXT NOT NULL,
    -- of a login: SHA-256 of the key that the page sends beside the cookie
    key_digest TEXT,
    -- of a login: the token it was made with, which ends it too
    parent TEXT,
    made_by TEXT,
    made_at_ms BIGINT NOT NULL,
    -- never, if empty
    until_ms BIGINT,
    PRIMARY KEY (workspace, digest)
);
CREATE INDEX credential_kind ON credential (workspace, kind, made_at_ms);
