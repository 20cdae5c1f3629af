"""The views of a plan or task: one module for each. Imports the rest of tasks, and reasoning below it."""
