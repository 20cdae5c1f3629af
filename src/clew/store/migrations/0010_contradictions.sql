-- The subject words of live decisions: which decisions may speak of the same thing, found by index.

CREATE TABLE decision_word (
    workspace TEXT NOT NULL,
    word TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (workspace, word, id)
);
CREATE INDEX decision_word_of ON decision_word (workspace, id);
