"""python3 mail_sink.py PORT: accepts mail as fast as one process can and stores none; prints the amount at the end (SIGTERM)."""
import asyncio
import signal
import sys


class Sink(asyncio.Protocol):
    taken = connections = 0

    def connection_made(self, transport):
        Sink.connections += 1
        self.transport, self.buffer, self.in_text = transport, b"", False
        transport.write(b"220 sink\r\n")

    def data_received(self, data):
        self.buffer += data
        while True:
            end = b"\r\n.\r\n" if self.in_text else b"\r\n"
            at = self.buffer.find(end)
            if at < 0:
                return
            line, self.buffer = self.buffer[:at], self.buffer[at + len(end):]
            self.transport.write(self.answer(line))

    def answer(self, line):
        if self.in_text:
            self.in_text = False
            Sink.taken += 1
            return b"250 taken\r\n"
        command = line[:4].upper()
        if command == b"EHLO":
            return b"250-sink\r\n250-8BITMIME\r\n250 SIZE 33554432\r\n"
        if command == b"DATA":
            self.in_text = True
            return b"354 go on\r\n"
        return b"221 bye\r\n" if command == b"QUIT" else b"250 fine\r\n"


async def main(port):
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    server = await loop.create_server(Sink, "127.0.0.1", port)
    print("ready", flush=True)
    await ended.wait()
    server.close()
    print(f"{Sink.taken} mails over {Sink.connections} connections", flush=True)


asyncio.run(main(int(sys.argv[1])))
