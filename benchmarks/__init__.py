"""Measurements. `python -m benchmarks` runs all of them, prints tables and writes JSON to benchmarks/results."""
