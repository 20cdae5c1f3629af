"""Cards: thoughts stored as typed nodes of a graph and as entries of its trace."""
