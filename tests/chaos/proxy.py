"""A TCP proxy with faults, in front of PostgreSQL or Redis; a process of its own so that it costs the test nothing.

    python3 proxy.py LISTEN_PORT TARGET      TARGET: a unix socket's path; commands come on standard input, one a line

Commands: `pass` (the usual), `cut` (closes every connection, refuses new ones), `mute` (takes bytes, answers nothing:
half-open), `delay MS`, `eat PERCENT` (of COMMITs: passed on, then the connection is closed before the answer).
"""
import asyncio
import random
import sys


class Faults:
    def __init__(self):
        self.cut = self.mute = False
        self.delay = 0.0
        self.eat = 0.0
        self.writers = set()
        self.unmuted = asyncio.Event()
        self.unmuted.set()


async def pump(reader, writer, faults, to_server):
    try:
        while data := await reader.read(65536):
            if faults.delay:
                await asyncio.sleep(faults.delay)
            await faults.unmuted.wait()
            writer.write(data)
            await writer.drain()
            # Parse, Bind or simple query of a COMMIT that has reached the server, whose answer nobody gets.
            if to_server and faults.eat and b"commit" in data.lower() and random.random() < faults.eat:
                await asyncio.sleep(0.02)
                return
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
    jobs = [asyncio.ensure_future(pump(reader, server_writer, faults, True)),
            asyncio.ensure_future(pump(server_reader, writer, faults, False))]
    await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
    for job in jobs:
        job.cancel()
    for end in ends:
        faults.writers.discard(end)
        end.close()


def obey(line, faults):
    words = line.split() or ["pass"]
    faults.cut = words[0] == "cut"
    faults.delay = float(words[1]) / 1000 if words[0] == "delay" else 0.0
    faults.eat = float(words[1]) / 100 if words[0] == "eat" else 0.0
    faults.unmuted.clear() if words[0] == "mute" else faults.unmuted.set()
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
            obey(line.decode(), faults)


asyncio.run(main())
