"""The graph: versioned nodes and edges in a document, read through the view of a branch."""

from clew.reasoning.graph.reads import NodePage, PlacedNode, edge, edges_among, edges_at, locate, node, nodes
from clew.reasoning.graph.state import CARD_TYPES, Edge, Node, edge_json, node_json
from clew.reasoning.graph.writes import drop_edge, drop_node, put_edge, put_node

__all__ = [
    "CARD_TYPES",
    "Edge",
    "Node",
    "NodePage",
    "PlacedNode",
    "drop_edge",
    "drop_node",
    "edge",
    "edge_json",
    "edges_among",
    "edges_at",
    "locate",
    "node",
    "node_json",
    "nodes",
    "put_edge",
    "put_node",
]
