"""Cards: thoughts kept as typed nodes of a graph and as entries of its trace."""
