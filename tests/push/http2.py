"""An HTTP/2 server over TLS (python3-h2), in its own thread, that can also cause faults on its connections."""
import asyncio
import logging
import socket
import threading
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import hyperframe.frame

# asyncio warns of each write to a disconnected client.
logging.getLogger("asyncio").setLevel(logging.ERROR)

BODY_MAX = 1 << 20


class GoAway(Exception):
    """Raised to send GOAWAY: this stream and later ones are not processed, and the connection closes after the other answers."""


class Reset(Exception):
    """Raised to send RST_STREAM instead of an answer."""

    def __init__(self, code=h2.errors.ErrorCodes.INTERNAL_ERROR):
        super().__init__()
        self.code = code


class Drop(Exception):
    """Raised to close the connection without an answer."""


@dataclass
class Request:
    method: str
    path: str
    headers: dict
    connection: int
    stream: int
    body: bytes = b""


@dataclass
class Answer:
    status: int
    body: bytes = b""
    headers: dict = field(default_factory=dict)


class Connection(asyncio.Protocol):
    def __init__(self, server):
        self.server = server
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.requests, self.unsent, self.tasks = {}, {}, {}
        self.transport, self.leaving = None, None

    # --- callbacks of asyncio ---

    def connection_made(self, transport):
        self.transport = transport
        tls = transport.get_extra_info("ssl_object")
        if tls and tls.selected_alpn_protocol() != "h2":
            transport.abort()
            return
        self.number = self.server.opened(self)
        # Set before the connection starts: a later change would apply, but h2 would announce the old value until the client agrees.
        said = {**self.h2.local_settings, h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self.server.streams_max}
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values=said)
        self.h2.initiate_connection()
        self.flush()

    def connection_lost(self, _):
        for task in self.tasks.values():
            task.cancel()
        self.server.closed(self)

    def data_received(self, data):
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            self.server.broken.append(repr(error))
            self.flush()
            self.transport.close()
            return
        for event in events:
            self.handle(event)
        self.flush()

    # --- streams ---

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            headers = dict(event.headers)
            self.requests[event.stream_id] = Request(headers[":method"], headers[":path"], headers, self.number,
                                                     event.stream_id)
        elif isinstance(event, h2.events.DataReceived):
            request = self.requests.get(event.stream_id)
            if request and len(request.body) + len(event.data) <= BODY_MAX:
                request.body += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            request = self.requests.pop(event.stream_id, None)
            if request and not (self.leaving is not None and event.stream_id > self.leaving):
                self.tasks[event.stream_id] = asyncio.ensure_future(self.answer(request))
                self.server.streams(self)
        elif isinstance(event, h2.events.StreamReset):
            task = self.tasks.get(event.stream_id)
            if task:
                task.cancel()
            self.unsent.pop(event.stream_id, None)
        elif isinstance(event, h2.events.WindowUpdated):
            self.send_more()
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.transport.close()

    async def answer(self, request):
        stream = request.stream
        try:
            answer = await self.server.handler(request)
            headers = {"content-length": str(len(answer.body)), **{key.lower(): value for key, value in answer.headers.items()}}
            self.h2.send_headers(stream, [(":status", str(answer.status)), *headers.items()], end_stream=not answer.body)
            if answer.body:
                self.unsent[stream] = answer.body
                self.send_more()
        except GoAway:
            self.go_away(stream)
        except Reset as reset:
            self.h2.reset_stream(stream, reset.code)
        except Drop:
            self.abort()
        except (asyncio.CancelledError, h2.exceptions.ProtocolError):
            pass  # the client has closed this stream
        finally:
            self.tasks.pop(stream, None)
        if not self.transport.is_closing():
            self.flush()
            self.leave_when_done()

    def send_more(self):
        for stream in list(self.unsent):
            try:
                self.send_part(stream)
            except h2.exceptions.ProtocolError:
                self.unsent.pop(stream, None)

    def send_part(self, stream):
        while stream in self.unsent:
            room = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if room <= 0:
                return
            part, rest = self.unsent[stream][:room], self.unsent[stream][room:]
            self.h2.send_data(stream, part, end_stream=not rest)
            if rest:
                self.unsent[stream] = rest
            else:
                del self.unsent[stream]

    # --- the end ---

    def go_away(self, stream):
        """Sends GOAWAY as raw bytes: with its own method h2 would send no further answers."""
        if self.leaving is None:
            self.leaving = max(stream - 2, 0)
            self.flush()
            self.transport.write(hyperframe.frame.GoAwayFrame(0, last_stream_id=self.leaving).serialize())

    def leave_when_done(self):
        if self.leaving is not None and not self.unsent and not any(each <= self.leaving for each in self.tasks):
            self.transport.close()

    def abort(self):
        sock = self.transport.get_extra_info("socket")
        if sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.transport.abort()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.transport.write(data)


class Server:
    """Answers with `handler`, a coroutine that takes a Request and returns an Answer or raises one of the above."""

    def __init__(self, handler, context, port=0, host="127.0.0.1", streams_max=100):
        self.handler, self.context, self.streams_max = handler, context, streams_max
        self.connections, self.broken = {}, []
        self.count = self.peak_connections = self.peak_streams = 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(host, port, ready), daemon=True)
        self.thread.start()
        ready.wait()
        if self.failed:
            raise self.failed

    def run(self, host, port, ready):
        asyncio.set_event_loop(self.loop)
        self.failed = None
        try:
            listening = self.loop.run_until_complete(self.loop.create_server(
                lambda: Connection(self), host, port, ssl=self.context, backlog=1024))
            self.port = listening.sockets[0].getsockname()[1]
        except OSError as error:
            self.failed = error
        ready.set()
        if not self.failed:
            self.loop.run_forever()

    def close(self):
        def end():
            for connection in list(self.connections.values()):
                connection.transport.abort()
            self.loop.stop()

        self.loop.call_soon_threadsafe(end)
        self.thread.join(5)

    # --- callbacks of the connections ---

    def opened(self, connection):
        self.count += 1
        self.connections[self.count] = connection
        self.peak_connections = max(self.peak_connections, len(self.connections))
        return self.count

    def closed(self, connection):
        self.connections.pop(getattr(connection, "number", None), None)

    def streams(self, _):
        self.peak_streams = max(self.peak_streams, sum(len(each.tasks) for each in self.connections.values()))

    def stats(self):
        return {"connections": self.count, "open": len(self.connections), "peak_connections": self.peak_connections,
                "peak_streams": self.peak_streams, "broken": list(self.broken)}
