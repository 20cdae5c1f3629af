"""Rows, transactions, migrations, workspaces and events. Imports nothing from Clew except the foundation."""
