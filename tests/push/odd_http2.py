"""HTTP/2 servers that write raw frames, because h2 would not allow their behaviour. Each listens on its own port."""
import socket
import threading

import hpack
import hyperframe.frame as frames

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Connection:
    def __init__(self, tls):
        self.tls, self.encoder, self.reader = tls, hpack.Encoder(), tls.makefile("rb")

    def send(self, *them):
        self.tls.sendall(b"".join(each.serialize() for each in them))

    def start(self, **settings):
        """Sends SETTINGS and reads the client's preface."""
        self.send(frames.SettingsFrame(0, settings={getattr(frames.SettingsFrame, key): value
                                                    for key, value in settings.items()}))
        return self.reader.read(len(PREFACE)) == PREFACE

    def frames(self):
        """The incoming frames, until the client disconnects; acknowledges SETTINGS."""
        while len(head := self.reader.read(9)) == 9:
            frame, length = frames.Frame.parse_frame_header(memoryview(head))
            frame.parse_body(memoryview(self.reader.read(length)))
            if isinstance(frame, frames.SettingsFrame) and "ACK" not in frame.flags:
                self.send(frames.SettingsFrame(0, flags=["ACK"]))
            yield frame

    def requests(self):
        """The ids of streams, as soon as their headers have arrived."""
        return (each.stream_id for each in self.frames() if isinstance(each, frames.HeadersFrame))

    def headers(self, stream, *pairs, end=False):
        return frames.HeadersFrame(stream, self.encoder.encode(pairs), flags=["END_HEADERS"] + ["END_STREAM"] * end)

    def answer(self, stream):
        return (self.headers(stream, (":status", "200")), frames.DataFrame(stream, b"ok", flags=["END_STREAM"]))


def quits(connection):
    """Sends SETTINGS, then GOAWAY."""
    connection.start()
    connection.send(frames.GoAwayFrame(0, last_stream_id=0))
    for _ in connection.frames():
        pass


def lingers(connection):
    """Answers one request, then sends GOAWAY and leaves it to the client to close the connection."""
    connection.start()
    for stream in connection.requests():
        if stream == 1:
            connection.send(*connection.answer(stream), frames.GoAwayFrame(0, last_stream_id=1))


def pushes(connection):
    """Sends PUSH_PROMISE although the client's SETTINGS forbid it."""
    connection.start()
    for stream in connection.requests():
        pushed = connection.encoder.encode([(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")])
        connection.send(frames.PushPromiseFrame(stream, 2, pushed, flags=["END_HEADERS"]), *connection.answer(stream))


def interim(connection):
    """Sends an interim answer before the final answer, and trailers after it."""
    connection.start()
    for stream in connection.requests():
        head, body = connection.answer(stream)
        body.flags.discard("END_STREAM")
        connection.send(connection.headers(stream, (":status", "103"), ("retry-after", "103")), head, body,
                        connection.headers(stream, ("retry-after", "9"), end=True))


def shut(connection):
    """Accepts no stream."""
    connection.start(MAX_CONCURRENT_STREAMS=0)
    for _ in connection.frames():
        pass


def silent(connection):
    """Sends SETTINGS and then nothing more, also no answers to pings."""
    connection.start()
    connection.reader.read()


def babbles(connection):
    """Speaks another protocol than the negotiated one."""
    connection.tls.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" * 10)
    connection.reader.read()


def hasty(connection):
    """Answers before the request's body has arrived, and grants no flow-control window for the rest of the body."""
    connection.start()
    for stream in connection.requests():
        connection.send(*connection.answer(stream))


class Server:
    def __init__(self, behave, context):
        self.behave, self.context, self.accepted, self.open = behave, context, 0, 0
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listening.accept()[0],), daemon=True).start()

    def serve(self, plain):
        self.accepted += 1
        self.open += 1
        try:
            with self.context.wrap_socket(plain, server_side=True) as tls:
                self.behave(Connection(tls))
        except OSError:
            pass  # the client has disconnected
        finally:
            self.open -= 1


BEHAVIOURS = (quits, lingers, pushes, interim, shut, silent, babbles, hasty)


def start(context):
    """Starts the servers; returns them by name of their behaviour."""
    return {behave.__name__: Server(behave, context) for behave in BEHAVIOURS}
