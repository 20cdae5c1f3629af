"""Moments of an agent's session at which its client calls Clew: what is said then, and what is kept."""
