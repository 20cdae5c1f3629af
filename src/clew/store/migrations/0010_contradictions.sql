-- Which live decisions speak of what: the pairs worth comparing when one of them changes.

CREATE TABLE decision_word (
    workspace TEXT NOT NULL,
    word TEXT NOT NULL,
    -- 2: the decision denies something, so anything about its subject may clash; 1: it names a value, which clashes with
    -- others of its kind; 0: it clashes only with what denies it, or with the same words around another value.
    sharp BIGINT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (workspace, word, sharp, id)
);
CREATE INDEX decision_word_of ON decision_word (workspace, id);
