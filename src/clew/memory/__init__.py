"""Governed Markdown blocks, proposals, contradictions, drift: plain functions over a transaction."""
