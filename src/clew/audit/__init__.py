"""What is wrong with a memory: its own store, or a folder of statements before it is imported. Writes nothing."""
