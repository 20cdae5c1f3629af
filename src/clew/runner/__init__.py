"""The out-of-process worker that executes delegated jobs."""
