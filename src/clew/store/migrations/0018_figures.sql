-- What memory was asked and what it told, as figures of a day; and the questions that nothing answered.

CREATE TABLE figure (
    workspace TEXT NOT NULL,
    day TEXT NOT NULL,
    -- asked, silent (recall), told:resume, told:hooks
    name TEXT NOT NULL,
    times BIGINT NOT NULL,
    -- characters that were told
    amount BIGINT NOT NULL,
    PRIMARY KEY (workspace, day, name)
);

CREATE TABLE unanswered (
    workspace TEXT NOT NULL,
    question TEXT NOT NULL,
    times BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, question)
);
CREATE INDEX unanswered_last ON unanswered (workspace, last_ms);
