"""Ways of reasoning as texts: fifteen of our own, and those a user keeps in a folder."""
