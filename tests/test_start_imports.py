"""What a start imports, counted by name and not timed: each of these libraries costs as much as all of Clew's own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

STEPS = {
    "clew.faces.resident.resident_server": {"mcp", "mcp_types", "numpy", "starlette", "uvicorn", "httpx2", "typer"},
    "clew.records.resume": {"mcp", "mcp_types", "numpy", "starlette", "uvicorn", "clew.tasks.macros"},
    "clew.faces.mcp.stdio": {"numpy", "httpx2", "mcp.client", "mcp.server.mcpserver"},
    "clew.faces.cli.commands.everyday": {"typer", "pydantic", "clew.kinds.catalogue", "rich"},
}
"""For each module that begins something, what it must not load."""

PROGRAM = """
import json, sys
from importlib import import_module
import_module(sys.argv[1])
print(json.dumps(sorted(sys.modules)))
"""


def said(program: str, *words: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("module", STEPS)
def test_a_start_leaves_out_what_it_does_not_need(module: str) -> None:
    loaded = set(json.loads(said(PROGRAM, module)))
    assert module in loaded
    assert not loaded & STEPS[module]


def test_a_conversation_over_a_pipe_loads_no_http_server() -> None:
    program = """
import sys
from clew.faces.resident.resident_server import _conversations
_conversations()
print(sorted({"uvicorn", "h11", "click", "clew.faces.http"} & set(sys.modules)))
import uvicorn
"""
    assert said(program).strip() == "[]"


def test_the_sdk_is_whole_for_whoever_asks_for_the_rest_of_it() -> None:
    program = """
import clew.faces.mcp.server
import mcp, mcp.server
from mcp import ClientSession, types
from mcp.server import MCPServer
print(mcp.ClientSession is ClientSession, types.Tool.__name__, MCPServer.__name__, hasattr(mcp, "nothing"))
"""
    assert said(program).split() == ["True", "Tool", "MCPServer", "False"]


def test_a_type_of_the_protocol_checks_what_it_is_given() -> None:
    program = """
import clew.faces.mcp.server
from mcp_types import InitializeRequestParams
from pydantic import ValidationError
try:
    InitializeRequestParams.model_validate({"capabilities": 5})
except ValidationError as problem:
    print(problem.error_count() > 0)
"""
    assert said(program).split() == ["True"]
