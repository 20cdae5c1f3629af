"""Sessions as documents and directories: exports, imports, and the files of Thoughtbox."""
