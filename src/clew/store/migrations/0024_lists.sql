-- Lists and their counts, along indexes that hold what they filter by. Both block indexes have the condition that lists
-- ask with (`IN_USE` in memory/kinds).

CREATE INDEX block_recent ON block (workspace, seq, prefix, status)
    WHERE until IS NULL AND gone = 0
    AND substr(file, 1, 7) <> 'agents/' AND substr(file, length(file) - 10) <> '_ARCHIVE.md';
CREATE INDEX block_kept ON block (workspace, prefix, status, seq)
    WHERE until IS NULL AND gone = 0
    AND substr(file, 1, 7) <> 'agents/' AND substr(file, length(file) - 10) <> '_ARCHIVE.md';
CREATE INDEX item_recent ON item (workspace, seq, source, kind, status);
CREATE INDEX item_shelf ON item (workspace, source, kind, status, seq);
