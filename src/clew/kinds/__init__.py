"""Kinds of records and what their statuses mean: declared here once, asked by everything else."""
