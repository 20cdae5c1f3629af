"""One module for each command of `clew`; found by name, imported when called. See ../root.py."""
