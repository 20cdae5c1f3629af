-- Lines of code that blocks cite, kept while they still match their digest, so that a later change can be shown.
CREATE TABLE cited_code (
    workspace TEXT NOT NULL,
    path TEXT NOT NULL,
    first_line BIGINT NOT NULL,
    last_line BIGINT NOT NULL,
    digest TEXT NOT NULL,
    text TEXT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, path, first_line, last_line, digest)
);
