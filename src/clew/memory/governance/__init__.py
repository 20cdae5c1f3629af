"""Changes to memory that are proposed, reviewed, applied with a receipt, and rolled back."""
