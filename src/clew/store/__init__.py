"""Rows, transactions, migrations, workspaces and events. Imports nothing of Clew but the foundation."""
