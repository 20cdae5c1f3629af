"""The light half of the resident server: how a process that imports nothing else reaches it."""
