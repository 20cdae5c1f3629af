-- What lets a process notice that the store went back to an earlier state. A restore writes another value.
-- sqlite:
INSERT INTO meta (key, value) VALUES ('epoch', lower(hex(randomblob(16))));
-- postgres:
INSERT INTO meta (key, value) VALUES ('epoch', md5(random()::text || clock_timestamp()::text));
-- both:

-- Vectors are numbered for the processes that read them. `last_number` never goes back, also when the vector that had the
-- highest number is removed; `epoch` differs when the numbers of a model begin again.
ALTER TABLE vector_progress ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
ALTER TABLE vector_progress ADD COLUMN last_number BIGINT NOT NULL DEFAULT 0;
UPDATE vector_progress SET last_number = (
    SELECT coalesce(max(number), 0) FROM item_vector
    WHERE item_vector.workspace = vector_progress.workspace AND item_vector.model = vector_progress.model
);

-- The answers of write calls that carried a request id: a repeated call gets the first answer and does nothing.
CREATE TABLE request (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    operation TEXT NOT NULL,
    digest TEXT NOT NULL,
    answer TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX request_age ON request (workspace, ts_ms);
