"""Events that the hooks of an agent's client report: what Clew answers, and what it keeps."""
