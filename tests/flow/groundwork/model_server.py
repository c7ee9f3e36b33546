"""A model server: speaks OpenAI's protocol and does what the last message of a request asks it to."""
import http.server
import json
import select
import sys
import threading
import time

KEY = "sk-of-the-project"
MODELS = ["small", "large", "secret"]
CALLS = ("call", "use", "onward", "alike", "nameless", "objects")


class Model:
    """A server whose behaviour is set by the first word of the last user message.

    Texts: say (echoes the rest, one chunk per word), slow (the same, 50 ms per word), told (the request's messages as JSON),
    endless, renamed (chunks name another model), parts (content is a list), crlf (lines end with CRLF), whole (an answer that
    is not streamed, even if a stream was requested).
    Usage: silent (no usage), liar (wrong usage).
    Calls: call (JSON: [[tool, arguments], ...]; then answers with the results), use (the same, but does not repeat the
    results), again (calls without end); onward, alike, nameless and objects are like call, but the calls are numbered from 1
    with name and id in each part, are all numbered 0, have no ids and come in one part each, or have objects as arguments;
    huge (very long arguments), many (many calls), long (a very long name).
    Faults: stall (sends "Half" and then nothing until release()), break (sends "Half" and closes), garbage, failed (an error
    in place of a chunk), comments (endless comments and no data), latin (not UTF-8), surrogate (half of a surrogate pair),
    redirect, status (`status 429 words`: an error with this status and these words), modern (refuses max_tokens), plain
    (refuses stream_options), lost (404 without OpenAI's error format), open (ends without the blank line after [DONE]), wrong
    (an error that is a text, with status 200 or in place of a chunk).

    `requests`: bodies with headers; `left`: how many clients hung up before the end."""

    def __init__(self, port=0):
        self.requests, self.left, self.lists = [], 0, 0
        self.released = threading.Event()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body):
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def do_GET(self):
                model.lists += 1
                if self.headers.get("Authorization") != f"Bearer {KEY}":
                    return self.answer(401, {"error": {"message": "no"}})
                self.answer(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.requests.append((body, {k.lower(): v for k, v in self.headers.items()}))
                last = [each for each in body["messages"] if each["role"] == "user"][-1]["content"]
                word, _, rest = last.partition(" ")
                if word == "status":
                    status, _, words = rest.partition(" ")
                    return self.answer(int(status), {"error": {"message": f"refused as asked {KEY if rest == '422' else words}"}})
                if word == "modern" and "max_tokens" in body:
                    return self.answer(400, {"error": {
                        "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                        "type": "invalid_request_error", "param": "max_tokens", "code": "unsupported_parameter"}})
                if word == "plain" and "stream_options" in body:
                    return self.answer(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]})
                if word == "lost":
                    return self.answer(404, {"detail": "there is no such model here"})
                if word == "redirect":
                    self.send_response(307)
                    self.send_header("Location", f"{model.url}/chat/completions?redirected")
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
                if not body.get("stream") or word == "whole":
                    return self.whole(body, rest)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                try:
                    self.stream(body, word, rest)
                except OSError:
                    model.left += 1

            def whole(self, body, rest):
                if body["messages"][-1]["content"].startswith("wrong"):
                    return self.answer(200, {"error": f"wrong as asked {rest}"})
                self.answer(200, {
                    "id": "c1", "object": "chat.completion", "model": body["model"], "choices": [
                        {"index": 0, "message": {"role": "assistant", "content": rest}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}})

            def event(self, data, end="\n"):
                text = data if isinstance(data, str) else json.dumps(data)
                self.wfile.write(f"data: {text}{end}{end}".encode())

            def chunk(self, end="\n", finish=None, **delta):
                self.event({"id": "c1", "object": "chat.completion.chunk", "choices": [
                    {"index": 0, "delta": delta, "finish_reason": finish}]}, end)

            def stream(self, body, word, rest):
                end = "\r\n" if word == "crlf" else "\n"
                self.chunk(end, role="assistant", content="")
                if word == "garbage":
                    return self.event("{not json")
                if word == "comments":
                    while True:
                        self.wfile.write(b": nothing yet\n" * 1000)
                if word in ("huge", "many", "long"):
                    name = "list_records" if word != "long" else "list_" * 20
                    return self.call([[name, '{"entity":"' + "x" * (200_000 if word == "huge" else 1) + '"}']] * (17 if word == "many" else 1))
                if word in ("latin", "surrogate"):
                    piece = b"caf\xe9" if word == "latin" else b"\\ud83d"
                    return self.wfile.write(b'data: {"choices": [{"index": 0, "delta": {"content": "' + piece + b'"}}]}\n\n')
                if word == "renamed":
                    self.event({"id": "c2", "model": "free-of-charge", "choices": [{"index": 0, "delta": {"content": "re"}}]})
                if word == "failed":
                    return self.event({"error": {"message": f"overloaded {KEY}"}})
                if word == "wrong":
                    return self.event({"error": f"wrong as asked {rest}"})
                if word == "parts":
                    self.chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": rest}])
                    rest = "."
                if word in ("stall", "break"):
                    self.chunk(content="Half")
                    return self.wait() if word == "stall" else None
                if word == "told":
                    rest = json.dumps(body["messages"])
                asked = max(n for n, each in enumerate(body["messages"]) if each["role"] == "user")
                results = [each["content"] for each in body["messages"][asked:] if each["role"] == "tool"]
                if word in (*CALLS, "again") and (word == "again" or not results):
                    return self.call(json.loads(rest), word)
                if word in CALLS:
                    rest = "used" if word == "use" else "\n".join(results)
                pieces = [piece + " " for piece in rest.split(" ")]
                pieces[-1] = pieces[-1][:-1]
                for piece in ["x" * 1000] * 1000 if word == "endless" else pieces:
                    self.chunk(end, content=piece)
                    if word == "slow":
                        time.sleep(0.05)
                self.chunk(end, finish="stop")
                if word != "silent":
                    usage = (10**12, -4) if word == "liar" else (20, 5)
                    self.event({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": {
                        "prompt_tokens": usage[0], "completion_tokens": usage[1]}}, end)
                if word == "open":
                    return self.wfile.write(b"data:[DONE]")
                self.event("[DONE]", end)

            def call(self, calls, word="call"):
                for n, (name, arguments) in enumerate(calls):
                    if word == "nameless":
                        self.chunk(tool_calls=[{"index": 0, "id": "", "function": {"name": name, "arguments": arguments}}])
                        continue
                    number = {"onward": n + 1, "alike": 0}.get(word, n)
                    again = {"id": f"call{n}", "type": "function"} if word == "onward" else {}
                    first = json.loads(arguments) if word == "objects" else ""
                    self.chunk(tool_calls=[{"index": number, "id": f"call{n}", "type": "function", "function": {"name": name, "arguments": first}}])
                    for half in (arguments[:5], arguments[5:]) if word != "objects" else ():
                        self.chunk(tool_calls=[{"index": number, **again, "function": {**({"name": name} if again else {}), "arguments": half}}])
                self.chunk(finish="tool_calls")
                self.event("[DONE]")

            def wait(self):
                while not model.released.is_set():
                    if select.select([self.connection], [], [], 0.02)[0]:
                        model.left += 1
                        return
                self.chunk(content=" whole", finish="stop")
                self.event("[DONE]")

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size, daemon_threads = 128, True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()


if __name__ == "__main__":  # model_server.py PORT, for deploy/tours/assistant.md
    Model(int(sys.argv[1]))
    threading.Event().wait()
