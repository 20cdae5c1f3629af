"""What a developer runs: never part of an installed Clew."""
