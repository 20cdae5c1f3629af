-- Sessions of coding clients, read from the transcripts that the clients delete after a while.

CREATE TABLE history_session (
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    client TEXT NOT NULL,
    title TEXT NOT NULL,
    started_ms BIGINT NOT NULL,
    ended_ms BIGINT NOT NULL,
    turns BIGINT NOT NULL,
    -- The transcript, how large it was when it was read, and where the next reading begins.
    path TEXT NOT NULL,
    size BIGINT NOT NULL,
    read_to BIGINT NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX history_session_ended ON history_session (workspace, ended_ms, id);

CREATE TABLE history_turn (
    workspace TEXT NOT NULL,
    number BIGINT NOT NULL,
    session TEXT NOT NULL,
    -- The client's own name of the turn: a session that is continued in another file repeats its turns.
    uid TEXT NOT NULL,
    kind TEXT NOT NULL,
    ts_ms BIGINT NOT NULL,
    -- Compressed by zlib; secrets were masked before.
    text BLOB NOT NULL,
    exit_code BIGINT,
    files TEXT NOT NULL,
    error TEXT,
    error_key TEXT,
    PRIMARY KEY (workspace, number)
);
CREATE UNIQUE INDEX history_turn_uid ON history_turn (workspace, uid);
CREATE INDEX history_turn_session ON history_turn (workspace, session, number);
CREATE INDEX history_turn_error ON history_turn (workspace, error_key, number) WHERE error_key IS NOT NULL;

CREATE TABLE history_edit (
    workspace TEXT NOT NULL,
    file TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (workspace, file, number)
);

-- The words of the turns, in the index that the database has for text; see history/words.py.
-- sqlite:
CREATE VIRTUAL TABLE history_words USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
-- postgres:
CREATE TABLE history_words (
    number BIGINT PRIMARY KEY,
    words TSVECTOR NOT NULL
);
CREATE INDEX history_words_held ON history_words USING gin (words);
-- both:
