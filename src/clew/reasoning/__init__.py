"""Branches, documents, graph, cards, engine, trace, anchors: plain functions over a transaction."""
