"""Guards: checks that rules and decisions carry, and that are matched before an agent's tool runs."""
