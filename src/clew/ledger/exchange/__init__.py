"""Sessions as documents and directories: exports, imports, and what Thoughtbox keeps on disk."""
