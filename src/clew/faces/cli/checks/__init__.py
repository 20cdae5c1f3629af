"""What `clew doctor` looks at: each module turns one part of the world into findings."""
