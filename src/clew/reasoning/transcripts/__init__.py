"""Session transcripts on disk: read, never stored; limited in files, bytes and responses. Imports no store."""
