"""A TCP proxy with faults, in front of PostgreSQL or Redis; a separate process, so that it takes no time from the test.

    proxy = Proxy("/path/to/socket"); proxy.say("mute"); proxy.close()

Commands: `pass` (the default), `cut` (closes every connection, refuses new ones), `mute` (accepts bytes and passes none:
half-open), `delay MS`, `eat PERCENT` (passes this share of COMMITs on, then closes the connection before the answer),
`hold WORD` (as soon as a client sends the word, nothing that it sends passes), `deaf WORD` (as soon as a client sends the
word, no answers pass to it). A held or deafened connection stays so after later commands.
"""
import asyncio
import pathlib
import random
import sys

from .child import Child


class Proxy(Child):
    """`target` is a unix socket's path."""

    def __init__(self, target):
        from .daemon import free_port

        self.port = free_port()
        super().__init__("groundwork.proxy", str(self.port), str(pathlib.Path(target).absolute()))
        assert self.process.stdout.readline() == "ready\n"

    def say(self, command):
        """Returns once the proxy has obeyed the command."""
        super().say(command)
        assert self.process.stdout.readline() == "ok\n"


# --- the process ---


class Faults:
    def __init__(self):
        self.cut = self.mute = False
        self.delay = 0.0
        self.eat = 0.0
        self.hold = self.deaf = b""
        self.writers = set()
        self.unmuted = asyncio.Event()
        self.unmuted.set()


class ConnectionState:
    """One connection: a fault that happened to it is permanent."""

    def __init__(self):
        self.answers = asyncio.Event()
        self.answers.set()


def contains(data, word):
    return bool(word) and word in data.lower()


async def wait_forever():
    await asyncio.Event().wait()


async def to_server(reader, writer, faults, line):
    while data := await reader.read(65536):
        if faults.delay:
            await asyncio.sleep(faults.delay)
        await faults.unmuted.wait()
        if contains(data, faults.hold):
            await wait_forever()
        if contains(data, faults.deaf):
            line.answers.clear()
        writer.write(data)
        await writer.drain()
        # Parse, Bind or simple query of a COMMIT: it has reached the server, and the client gets no answer.
        if faults.eat and b"commit" in data.lower() and random.random() < faults.eat:
            await asyncio.sleep(0.02)
            return


async def to_client(reader, writer, faults, line):
    while data := await reader.read(65536):
        if faults.delay:
            await asyncio.sleep(faults.delay)
        await faults.unmuted.wait()
        await line.answers.wait()
        writer.write(data)
        await writer.drain()


async def suppress_errors(pump):
    try:
        await pump
    except (OSError, asyncio.IncompleteReadError):
        pass


async def serve(target, faults, reader, writer):
    if faults.cut:
        writer.close()
        return
    try:
        server_reader, server_writer = await asyncio.open_unix_connection(target)
    except OSError:
        writer.close()
        return
    ends = {writer, server_writer}
    faults.writers |= ends
    line = ConnectionState()
    jobs = [asyncio.ensure_future(suppress_errors(to_server(reader, server_writer, faults, line))),
            asyncio.ensure_future(suppress_errors(to_client(server_reader, writer, faults, line)))]
    await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
    for job in jobs:
        job.cancel()
    for end in ends:
        faults.writers.discard(end)
        end.close()


def run_command(line, faults):
    words = line.split() or ["pass"]
    verb, value = words[0], " ".join(words[1:])
    faults.cut = verb == "cut"
    faults.delay = float(value) / 1000 if verb == "delay" else 0.0
    faults.eat = float(value) / 100 if verb == "eat" else 0.0
    faults.hold = value.lower().encode() if verb == "hold" else b""
    faults.deaf = value.lower().encode() if verb == "deaf" else b""
    faults.unmuted.clear() if verb == "mute" else faults.unmuted.set()
    if faults.cut:
        for writer in list(faults.writers):
            writer.close()


async def main():
    port, target = int(sys.argv[1]), sys.argv[2]
    faults = Faults()
    server = await asyncio.start_server(lambda r, w: serve(target, faults, r, w), "127.0.0.1", port, backlog=512)
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    print("ready", flush=True)
    async with server:
        while line := await commands.readline():
            run_command(line.decode(), faults)
            print("ok", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
