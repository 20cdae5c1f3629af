"""Several acts in one call and one transaction: all of them happen, or none. Imports the rest of tasks."""
