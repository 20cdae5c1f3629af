"""What the clients ask a model and how it answers, in the four protocols that they speak.

A request is read into a `Request`, a `Turn` is written as the stream of server-sent events that the client expects.
Only what a scripted agent needs: texts, tools, calls and their results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class ToolCall:
    name: str
    arguments: Json
    namespace: str = ""
    """Codex groups the tools of a server under a name of its own."""
    text: str | None = None
    """The input of a tool that takes text instead of an object, such as Codex's `apply_patch`."""


@dataclass(frozen=True)
class Turn:
    """What the model does next: say something, call tools, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Request:
    system: str
    messages: tuple[tuple[str, str], ...]
    """Role and text, in order; the result of a tool has the role `tool`."""
    tools: tuple[str, ...]
    body: Json = field(repr=False)

    @property
    def results(self) -> list[str]:
        return [text for role, text in self.messages if role == "tool"]

    @property
    def text(self) -> str:
        """Everything the model was given to read."""
        return "\n".join((self.system, *(text for _, text in self.messages)))


class Anthropic:
    """Claude Code: `/v1/messages`."""

    @staticmethod
    def read(body: Json) -> Request:
        found: list[tuple[str, str]] = []
        for message in body.get("messages", ()):
            for block in _blocks(message["content"]):
                if block.get("type") == "tool_result":
                    found.append(("tool", _text(block.get("content"))))
                elif block.get("type") == "text":
                    found.append((message["role"], block["text"]))
        names = tuple(tool["name"] for tool in body.get("tools", ()))
        return Request(_text(body.get("system")), tuple(found), names, body)

    @staticmethod
    def events(turn: Turn, number: int) -> Iterator[tuple[str, Json]]:
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "stub", "content": []}
        yield "message_start", {"message": {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}}
        for index, (block, delta) in enumerate(Anthropic._blocks(turn, number)):
            yield "content_block_start", {"index": index, "content_block": block}
            yield "content_block_delta", {"index": index, "delta": delta}
            yield "content_block_stop", {"index": index}
        reason = "tool_use" if turn.calls else "end_turn"
        yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
        yield "message_stop", {}

    @staticmethod
    def _blocks(turn: Turn, number: int) -> Iterator[tuple[Json, Json]]:
        if turn.text:
            yield {"type": "text", "text": ""}, {"type": "text_delta", "text": turn.text}
        for place, call in enumerate(turn.calls):
            block = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": call.name, "input": {}}
            yield block, {"type": "input_json_delta", "partial_json": json.dumps(call.arguments)}

    @staticmethod
    def stream(turn: Turn, number: int) -> bytes:
        parts = [
            f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
            for name, data in Anthropic.events(turn, number)
        ]
        return "".join(parts).encode()


class Responses:
    """Codex: `/v1/responses`."""

    @staticmethod
    def read(body: Json) -> Request:
        found: list[tuple[str, str]] = []
        for item in body.get("input", ()):
            if item.get("type") == "message":
                found.append((item["role"], _text(item["content"])))
            elif str(item.get("type")).endswith("_output"):
                found.append(("tool", _text(item.get("output", item.get("tools")))))
        return Request(body.get("instructions") or "", tuple(found), tuple(_tool_names(body.get("tools", ()))), body)

    @staticmethod
    def stream(turn: Turn, number: int) -> bytes:
        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        events: list[Json] = [{"type": "response.created", "response": response}]
        for place, item in enumerate(Responses._items(turn, number)):
            events.append({"type": "response.output_item.added", "output_index": place, "item": item})
            events.append({"type": "response.output_item.done", "output_index": place, "item": item})
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        done = {**response, "status": "completed", "usage": usage}
        events.append({"type": "response.completed", "response": done})
        return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()

    @staticmethod
    def _items(turn: Turn, number: int) -> Iterator[Json]:
        if turn.text:
            content = [{"type": "output_text", "text": turn.text}]
            yield {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": content}
        for place, call in enumerate(turn.calls):
            id = f"call_{number}_{place}"
            more = {"namespace": call.namespace} if call.namespace else {}
            if call.text is not None:
                yield {"type": "custom_tool_call", "id": id, "call_id": id, "name": call.name, "input": call.text}
            elif call.name == "tool_search":
                kind = {"type": "tool_search_call", "execution": "client"}
                yield {**kind, "id": id, "call_id": id, "arguments": call.arguments}
            else:
                given = json.dumps(call.arguments)
                yield {"type": "function_call", "id": id, "call_id": id, "name": call.name, "arguments": given, **more}


class Chat:
    """opencode, Copilot CLI and Qwen Code: `/v1/chat/completions`."""

    @staticmethod
    def read(body: Json) -> Request:
        system = [_text(it["content"]) for it in body.get("messages", ()) if it["role"] in ("system", "developer")]
        others = [it for it in body.get("messages", ()) if it["role"] not in ("system", "developer")]
        found = tuple((it["role"], _text(it.get("content"))) for it in others)
        names = tuple(tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool)
        return Request("\n".join(system), found, names, body)

    @staticmethod
    def answer(turn: Turn, number: int) -> Json:
        calls = [
            {
                "index": place,
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for place, call in enumerate(turn.calls)
        ]
        return {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}

    @staticmethod
    def whole(turn: Turn, number: int) -> bytes:
        reason = "tool_calls" if turn.calls else "stop"
        choice = {"index": 0, "message": Chat.answer(turn, number), "finish_reason": reason}
        return json.dumps({**Chat._head(number, "chat.completion"), "choices": [choice], "usage": _USAGE}).encode()

    @staticmethod
    def stream(turn: Turn, number: int) -> bytes:
        head = Chat._head(number, "chat.completion.chunk")
        reason = "tool_calls" if turn.calls else "stop"
        chunks = [
            {**head, "choices": [{"index": 0, "delta": Chat.answer(turn, number), "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": _USAGE},
        ]
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"

    @staticmethod
    def _head(number: int, kind: str) -> Json:
        return {"id": f"chatcmpl-{number}", "object": kind, "created": 1, "model": "stub"}


_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class Gemini:
    """Gemini CLI: `/v1beta/models/MODEL:streamGenerateContent`."""

    @staticmethod
    def read(body: Json) -> Request:
        found: list[tuple[str, str]] = []
        for content in body.get("contents", ()):
            for part in content.get("parts", ()):
                if "functionResponse" in part:
                    found.append(("tool", json.dumps(part["functionResponse"]["response"], ensure_ascii=False)))
                elif "text" in part:
                    found.append((content.get("role", "user"), part["text"]))
        system = "".join(part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts", ()))
        listed = [it for tool in body.get("tools", ()) for it in tool.get("functionDeclarations", ())]
        return Request(system, tuple(found), tuple(it["name"] for it in listed), body)

    @staticmethod
    def stream(turn: Turn, number: int) -> bytes:
        return b"data: " + Gemini.whole(turn, number) + b"\r\n\r\n"

    @staticmethod
    def whole(turn: Turn, number: int) -> bytes:
        parts: list[Json] = [{"text": turn.text}] if turn.text else []
        parts += [{"functionCall": {"name": call.name, "args": call.arguments}} for call in turn.calls]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return json.dumps({"candidates": [candidate], "usageMetadata": usage, "responseId": str(number)}).encode()


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _text(content: Any) -> str:
    """The text in whatever a protocol puts it into."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(item) for item in content)
    if isinstance(content, dict):
        kept = [content[key] for key in ("text", "content", "output") if key in content]
        return _text(kept[0]) if kept else json.dumps(content, ensure_ascii=False)
    return "" if content is None else str(content)


def _tool_names(tools: Any) -> Iterator[str]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from (f"{tool['name']}.{inner['name']}" for inner in tool.get("tools", ()))
        else:
            yield str(tool.get("name", tool.get("type")))
