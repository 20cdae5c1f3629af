"""The graph: versioned nodes and edges in a document, seen through a branch's view. Imports the store and documents."""

from clew.reasoning.graph.changes import drop_edge, drop_node, put_edge, put_node
from clew.reasoning.graph.edge_view import edge, edges_among, edges_at
from clew.reasoning.graph.node_view import NodePage, Place, locate, node, nodes
from clew.reasoning.graph.state import CARD_TYPES, Edge, Node, edge_json, node_json

__all__ = [
    "CARD_TYPES",
    "Edge",
    "Node",
    "NodePage",
    "Place",
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
