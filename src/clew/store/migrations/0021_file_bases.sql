-- The text that a memory file was edited from is read from the versions of its blocks, so no edits are logged for it.

DROP TABLE splice;
CREATE INDEX block_past ON block (workspace, file, until) WHERE until IS NOT NULL;
