"""The live page and its JSON API."""
