-- The newest blocks of a kind, and how many there are, without reading the rows of all of them. The condition is the one
-- that lists and counts ask with (`IN_USE` in memory/kinds).

CREATE INDEX block_newest ON block (workspace, prefix, seq)
    WHERE until IS NULL AND gone = 0
    AND substr(file, 1, 7) <> 'agents/' AND substr(file, length(file) - 10) <> '_ARCHIVE.md';
