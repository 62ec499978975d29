"""A model on loopback that speaks the Responses API: makes CALLS tool calls, one per request, then finishes.

Usage: stub_model.py CALLS PORT_FILE LOG_FILE. Writes its port to PORT_FILE, one JSON line per request to LOG_FILE.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALLS, PORT_FILE, LOG_FILE = int(sys.argv[1]), sys.argv[2], sys.argv[3]
made = 0


def call_of(tools):
    """The call of a tool that runs a harmless command, in the form of whichever tool is offered."""
    forms = {
        "exec_command": {"cmd": "true"},
        "shell_command": {"command": "true"},
        "shell": {"command": ["true"]},
    }
    for tool in tools:
        name = tool.get("name")
        if name in forms:
            return name, forms[name]
    return None


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = b'{"object":"list","data":[],"models":[]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        global made
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with open(LOG_FILE, "a", encoding="utf-8") as log:
            log.write(json.dumps(request, ensure_ascii=False) + "\n")
        call = call_of(request.get("tools", []))
        if made < CALLS and call:
            made += 1
            item = {
                "type": "function_call",
                "id": f"fc_{made}",
                "call_id": f"call_{made}",
                "name": call[0],
                "arguments": json.dumps(call[1]),
            }
        else:
            text = "done" if call else "no tool is offered"
            item = {
                "type": "message",
                "id": "msg",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": usage}},
        ]
        body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
with open(PORT_FILE + ".new", "w", encoding="ascii") as file:
    file.write(str(server.server_address[1]))
import os

os.rename(PORT_FILE + ".new", PORT_FILE)
server.serve_forever()
