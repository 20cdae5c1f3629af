"""The hooks of agents' clients: what calls `clew-hook`, in which words, and what each client understands."""
