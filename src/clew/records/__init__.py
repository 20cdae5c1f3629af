"""Records across the stores: one id opens anything. Stands above the domains and below the faces."""
