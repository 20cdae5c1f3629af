-- What the pair model says of two statements, and which records it has yet to compare. A record is opened and resumed
-- from here, without the model.

CREATE TABLE verdict (
    workspace TEXT NOT NULL,
    -- Digests of the two statements, the smaller first: a statement that changes has another one.
    one TEXT NOT NULL,
    other TEXT NOT NULL,
    model TEXT NOT NULL,
    -- The logarithm of the odds that they contradict each other; null where the model cannot read them.
    odds DOUBLE PRECISION,
    PRIMARY KEY (workspace, one, other, model)
);
CREATE INDEX verdict_of_other ON verdict (workspace, other);

-- Records that changed and were not yet compared with all of their neighbours.
CREATE TABLE judgement_queue (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX judgement_queue_order ON judgement_queue (workspace, seq);
