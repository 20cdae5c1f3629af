"""Plans, tasks, steps, gates, proofs and jobs: plain functions over a transaction."""
