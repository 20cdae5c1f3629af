"""What a plan or task looks like: one module for each view. Imports the rest of tasks, and reasoning below it."""
