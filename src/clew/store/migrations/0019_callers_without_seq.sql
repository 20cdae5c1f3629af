-- Every write moves last_seen_seq. An index that holds it is one more page to write each time, and a family has few rows.

DROP INDEX caller_family;
CREATE INDEX caller_family ON caller_state (workspace, family);
