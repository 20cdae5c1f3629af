"""What the publishers of manifest formats ask for, as facts in JSON Schema: written from their documents, in our words.

Only what can be wrong is here: required and closed fields, patterns, constants, the shape of entries.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": TEXT}
TEXT_MAP: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
RELATIVE: Schema = {"type": "string", "pattern": r"^\./"}
KEBAB: Schema = {"type": "string", "pattern": r"^[a-z0-9]+(-[a-z0-9]+)*$"}
AUTHOR: Schema = {"type": "object", "properties": {"name": TEXT, "email": TEXT, "url": TEXT}, "required": ["name"]}


def closed(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def opened(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


AGENT_PLUGIN = closed(
    {
        "$schema": {"const": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"},
        "name": {
            "type": "string",
            "maxLength": 64,
            "pattern": r"^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$",
        },
        "version": TEXT,
        "description": TEXT,
        "homepage": TEXT,
        "repository": TEXT,
        "license": TEXT,
        "author": {**AUTHOR, "additionalProperties": False},
        "keywords": TEXTS,
        "extensions": {
            "type": "object",
            "propertyNames": {"pattern": r"^[a-z0-9]+(\.[a-z0-9-]+)+$"},
            "additionalProperties": {"type": "object"},
        },
    },
    "$schema",
    "name",
)
_STDIO = closed(
    {
        "type": {"const": "stdio"},
        "command": {"type": "string", "pattern": r"^(\./.+|[^/\\]+)$"},
        "args": {"type": "array", "items": {"type": "string"}},
        "env": {**TEXT_MAP, "propertyNames": {"not": {"enum": ["PLUGIN_ROOT", "PLUGIN_DATA"]}}},
        "cwd": {"type": "string", "pattern": r"^(\./|\$\{PLUGIN_(ROOT|DATA)\})"},
    },
    "type",
    "command",
)
_REMOTE = closed({"type": {"enum": ["streamable-http", "sse"]}, "url": TEXT, "headers": TEXT_MAP}, "type", "url")
AGENT_PLUGIN_MCP = closed(
    {
        "$schema": {"const": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"},
        "mcpServers": {"type": "object", "additionalProperties": {"oneOf": [_STDIO, _REMOTE]}},
    },
    "$schema",
    "mcpServers",
)
PLAIN_MCP = opened(
    {
        "mcpServers": {
            "type": "object",
            "additionalProperties": opened({"command": TEXT, "args": TEXTS, "env": TEXT_MAP}, "command"),
        }
    },
    "mcpServers",
)
CLAUDE_PLUGIN = opened(
    {"name": KEBAB, "displayName": TEXT, "version": TEXT, "description": TEXT, "author": AUTHOR, "keywords": TEXTS},
    "name",
)
CODEX_INTERFACE = closed(
    {
        **dict.fromkeys(("displayName", "shortDescription", "longDescription", "developerName", "category"), TEXT),
        **dict.fromkeys(("websiteURL", "privacyPolicyURL", "termsOfServiceURL", "brandColor", "composerIcon"), TEXT),
        **dict.fromkeys(("logo", "logoDark"), TEXT),
        "capabilities": TEXTS,
        "screenshots": TEXTS,
        "defaultPrompt": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 128}},
    }
)
CODEX_PLUGIN = opened(
    {
        "name": KEBAB,
        "version": TEXT,
        "description": TEXT,
        "skills": RELATIVE,
        "mcpServers": RELATIVE,
        "hooks": RELATIVE,
        "interface": CODEX_INTERFACE,
    },
    "name",
)
CURSOR_PLUGIN = closed(
    {
        **dict.fromkeys(("displayName", "description", "version", "publisher", "homepage", "license", "logo"), TEXT),
        **dict.fromkeys(("repository", "category"), TEXT),
        **dict.fromkeys(("commands", "agents", "skills", "rules", "hooks", "mcpServers"), RELATIVE),
        "name": KEBAB,
        "author": AUTHOR,
        "keywords": TEXTS,
        "tags": TEXTS,
        "minClientVersions": {"type": "object"},
        "variables": {"type": "object"},
    },
    "name",
)
CLAUDE_MARKETPLACE = opened(
    {
        "name": KEBAB,
        "owner": AUTHOR,
        "description": TEXT,
        "plugins": {
            "type": "array",
            "minItems": 1,
            "items": opened({"name": KEBAB, "source": RELATIVE}, "name", "source"),
        },
    },
    "name",
    "owner",
    "plugins",
)
CODEX_MARKETPLACE = opened(
    {
        "name": KEBAB,
        "interface": opened({"displayName": TEXT}),
        "plugins": {
            "type": "array",
            "minItems": 1,
            "items": opened(
                {
                    "name": KEBAB,
                    "source": closed({"source": {"const": "local"}, "path": RELATIVE}, "source", "path"),
                    "policy": closed(
                        {
                            "installation": {"enum": ["AVAILABLE", "INSTALLED_BY_DEFAULT", "NOT_AVAILABLE"]},
                            "authentication": {"enum": ["ON_INSTALL", "ON_USE"]},
                        }
                    ),
                    "category": TEXT,
                },
                "name",
                "source",
            ),
        },
    },
    "name",
    "plugins",
)
CURSOR_MARKETPLACE = opened(
    {
        "name": KEBAB,
        "owner": AUTHOR,
        "metadata": {"type": "object"},
        "plugins": {"type": "array", "minItems": 1, "items": opened({"name": KEBAB, "source": TEXT}, "name", "source")},
    },
    "name",
    "owner",
    "plugins",
)


def names(text: str) -> list[str]:
    return text.split()


def _grouped(events: list[str], handler: Schema, closed_file: bool) -> Schema:
    group = closed({"matcher": TEXT, "hooks": {"type": "array", "minItems": 1, "items": handler}}, "hooks")
    hooks = {
        "type": "object",
        "propertyNames": {"enum": events},
        "additionalProperties": {"type": "array", "items": group},
    }
    return closed({"hooks": hooks, **({} if closed_file else {"description": TEXT})}, "hooks")


SECONDS: Schema = {"type": "integer", "minimum": 1, "maximum": 60}
COMMAND: Schema = {"const": "command"}
CLAUDE_HOOKS = _grouped(
    names(
        """
        PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit
        UserPromptExpansion SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact
        PostCompact PreModelSwitch PostModelSwitch PermissionRequest PermissionDenied Setup TeammateIdle
        TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove
        InstructionsLoaded CwdChanged FileChanged DirectoryAdded MessageDisplay
        """
    ),
    closed({"type": COMMAND, "command": TEXT, "timeout": SECONDS, "async": {"type": "boolean"}}, "type", "command"),
    closed_file=False,
)
CODEX_HOOKS = _grouped(
    names(
        """
        PreToolUse PermissionRequest PostToolUse PreCompact PostCompact SessionStart SessionEnd UserPromptSubmit
        SubagentStart SubagentStop Stop
        """
    ),
    closed({"type": COMMAND, "command": TEXT, "commandWindows": TEXT, "timeout": SECONDS}, "type", "command"),
    closed_file=True,
)
GEMINI_HOOKS = _grouped(
    names(
        """
        SessionStart SessionEnd BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection BeforeTool
        AfterTool Notification PreCompress
        """
    ),
    closed(
        {"type": COMMAND, "command": TEXT, "name": TEXT, "timeout": {"type": "integer", "minimum": 1000}},
        "type",
        "command",
    ),
    closed_file=True,
)


def _flat(events: list[str], entry: Schema) -> Schema:
    hooks = {
        "type": "object",
        "propertyNames": {"enum": events},
        "additionalProperties": {"type": "array", "items": entry},
    }
    return closed({"version": {"const": 1}, "hooks": hooks}, "version", "hooks")


CURSOR_HOOKS = _flat(
    names(
        """
        sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop
        beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile
        afterFileEdit beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought beforeTabFileRead
        afterTabFileEdit workspaceOpen
        """
    ),
    closed({"command": TEXT, "timeout": SECONDS, "matcher": TEXT}, "command"),
)
VSCODE_HOOKS = _flat(
    names(
        """
        SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact SubagentStart SubagentStop Stop SessionEnd
        """  # SessionEnd is Copilot CLI's, which reads the same file
    ),
    closed({"type": COMMAND, "command": TEXT, "windows": TEXT, "timeout": SECONDS, "matcher": TEXT}, "type", "command"),
)
GEMINI_EXTENSION = closed(
    {
        "name": KEBAB,
        "version": TEXT,
        "description": TEXT,
        "mcpServers": {"type": "object", "additionalProperties": opened({"command": TEXT, "args": TEXTS}, "command")},
        "contextFileName": TEXT,
        "excludeTools": TEXTS,
        "settings": {"type": "array"},
    },
    "name",
    "version",
)
_CONFIG = closed(
    {
        "type": {"enum": ["string", "number", "boolean", "directory", "file"]},
        "title": TEXT,
        "description": TEXT,
        "required": {"type": "boolean"},
        "default": {},
        "multiple": {"type": "boolean"},
        "sensitive": {"type": "boolean"},
        "min": {"type": "number"},
        "max": {"type": "number"},
    },
    "type",
    "title",
    "description",
)
MCPB = closed(
    {
        "manifest_version": {"const": "0.4"},
        "name": KEBAB,
        "display_name": TEXT,
        "version": TEXT,
        "description": TEXT,
        "long_description": TEXT,
        "author": {**AUTHOR, "additionalProperties": False},
        "server": closed(
            {
                "type": {"enum": ["python", "node", "binary", "uv"]},
                "entry_point": TEXT,
                "mcp_config": closed(
                    {"command": TEXT, "args": TEXTS, "env": TEXT_MAP, "platform_overrides": {"type": "object"}},
                    "command",
                ),
            },
            "type",
            "entry_point",
        ),
        "tools": {"type": "array", "items": closed({"name": TEXT, "description": TEXT}, "name")},
        "tools_generated": {"type": "boolean"},
        "keywords": TEXTS,
        "license": TEXT,
        "compatibility": closed(
            {
                "claude_desktop": TEXT,
                "platforms": {"type": "array", "items": {"enum": ["darwin", "win32", "linux"]}},
                "runtimes": closed({"python": TEXT, "node": TEXT}),
            }
        ),
        "user_config": {"type": "object", "additionalProperties": _CONFIG},
    },
    "manifest_version",
    "name",
    "version",
    "description",
    "author",
    "server",
)
_ARGUMENT = opened({"type": {"enum": ["positional", "named"]}, "value": TEXT, "name": TEXT}, "type")
SERVER_JSON = closed(
    {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "maxLength": 200},
        "title": TEXT,
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "websiteUrl": TEXT,
        "repository": opened({"url": TEXT, "source": TEXT}, "url", "source"),
        "packages": {
            "type": "array",
            "items": opened(
                {
                    "registryType": {"enum": ["npm", "pypi", "oci", "nuget", "mcpb"]},
                    "identifier": TEXT,
                    "version": {"type": "string", "not": {"const": "latest"}},
                    "packageArguments": {"type": "array", "items": _ARGUMENT},
                    "runtimeArguments": {"type": "array", "items": _ARGUMENT},
                    "environmentVariables": {"type": "array", "items": opened({"name": TEXT}, "name")},
                    "transport": opened({"type": {"enum": ["stdio", "streamable-http", "sse"]}}, "type"),
                },
                "registryType",
                "identifier",
                "transport",
            ),
        },
        "remotes": {"type": "array"},
        "_meta": {"type": "object"},
    },
    "$schema",
    "name",
    "description",
    "version",
)

_TIME = {"type": "string", "pattern": r"^\d+(ms|s|m|h)$"}
_SCALARS = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}
_HEALTH = closed(
    {
        "test": {"type": "array", "prefixItems": [{"enum": ["NONE", "CMD", "CMD-SHELL"]}], "items": TEXT},
        **dict.fromkeys(("interval", "timeout", "start_period", "start_interval"), _TIME),
        "retries": {"type": "integer"},
        "disable": {"type": "boolean"},
    }
)
_WAITS = closed(
    {
        "condition": {"enum": ["service_started", "service_healthy", "service_completed_successfully"]},
        "restart": {"type": "boolean"},
        "required": {"type": "boolean"},
    },
    "condition",
)
_SERVICE = closed(
    {
        "build": {"type": ["string", "object"]},
        "image": TEXT,
        "command": {"type": ["string", "array", "null"]},
        "entrypoint": {"type": ["string", "array", "null"]},
        "environment": _SCALARS,
        "ports": {"type": "array", "items": {"type": "string", "pattern": r"^(\d+(\.\d+){3}:)?\d+:\d+(/(tcp|udp))?$"}},
        "volumes": {"type": "array", "items": {"type": "string", "pattern": r"^[\w./-]+:/[\w./-]+(:ro)?$"}},
        "depends_on": {"type": "object", "additionalProperties": _WAITS},
        "healthcheck": _HEALTH,
        "restart": {"type": "string", "pattern": r"^(no|always|unless-stopped|on-failure(:\d+)?)$"},
        "read_only": {"type": "boolean"},
        "tmpfs": {"type": ["string", "array"]},
        "cap_drop": TEXTS,
        "cap_add": TEXTS,
        "security_opt": TEXTS,
        "user": TEXT,
        "secrets": {"type": "array"},
        "networks": {"type": ["array", "object"]},
        "labels": {"type": ["array", "object"]},
    }
)
_DECLARED = {"type": "object", "additionalProperties": {"type": ["object", "null"]}}
COMPOSE = closed(
    {
        "name": TEXT,
        "services": {"type": "object", "minProperties": 1, "additionalProperties": _SERVICE},
        **{name: {**_DECLARED} for name in ("volumes", "networks", "secrets", "configs")},
    },
    "services",
)
"""Of the Compose specification what our file may use: its keys and the shapes of their values."""
