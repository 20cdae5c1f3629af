"""Session transcripts on disk: read, never stored; bounded in files, bytes and answers. Imports no store."""
