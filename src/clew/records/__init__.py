"""Records across the stores: one id opens anything. Layered above the domains and below the faces."""
