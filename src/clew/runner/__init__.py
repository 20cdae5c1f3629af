"""The out-of-process worker that executes delegated jobs. It reaches the store through the dispatcher only."""
