"""Thought sessions, cipher, notebooks, mental models: plain functions over a transaction."""
