"""A name server whose answers tests control: TXT records over UDP and TCP, and faults."""
import socket
import socketserver
import struct
import threading

MISSING, FAILED = 3, 2  # RCODE of RFC 1035, 4.1.1


def strings(text):
    """Encodes a text as the character-strings of one TXT record."""
    raw = text.encode() if isinstance(text, str) else text
    parts = [raw[at:at + 255] for at in range(0, len(raw), 255)] or [b""]
    return b"".join(bytes([len(part)]) + part for part in parts)


def question(packet):
    """Returns the name, and the offset after the question."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return ".".join(labels).lower(), at + 5


class NameServer:
    """`records` maps names to texts. `trouble` maps names to "servfail", "silent", "refused", or "long" (truncated over UDP)."""

    def __init__(self):
        self.records, self.trouble, self.asked = {}, {}, []
        names = self

        class Udp(socketserver.BaseRequestHandler):
            def handle(self):
                packet, sock = self.request
                answer = names.answer(packet, udp=True)
                if answer:
                    sock.sendto(answer, self.client_address)

        class Tcp(socketserver.StreamRequestHandler):
            def handle(self):
                while head := self.rfile.read(2):
                    answer = names.answer(self.rfile.read(struct.unpack(">H", head)[0]), udp=False)
                    if answer:
                        self.wfile.write(struct.pack(">H", len(answer)) + answer)

        for _ in range(50):
            udp = socketserver.ThreadingUDPServer(("127.0.0.1", 0), Udp)
            self.port = udp.server_address[1]
            try:
                tcp = socketserver.ThreadingTCPServer(("127.0.0.1", self.port), Tcp)
            except OSError:
                udp.server_close()
                continue
            break
        self.servers = [udp, tcp]
        for server in self.servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.address = f"127.0.0.1:{self.port}"

    def answer(self, packet, udp):
        name, end = question(packet)
        self.asked.append((name, "udp" if udp else "tcp"))
        trouble = self.trouble.get(name)
        if trouble == "silent":
            return None
        if trouble in ("servfail", "refused"):
            return self.reply(packet, end, FAILED if trouble == "servfail" else 5)
        if name not in self.records:
            return self.reply(packet, end, MISSING)
        rows = [b"\xc0\x0c" + struct.pack(">HHIH", 16, 1, 60, len(strings(text))) + strings(text) for text in self.records[name]]
        if udp and (trouble == "long" or sum(map(len, rows)) + end > 512):
            return self.reply(packet, end, 0, cut=True)
        return self.reply(packet, end, 0, rows)

    @staticmethod
    def reply(packet, end, code, rows=(), cut=False):
        flags = 0x8180 | (0x0200 if cut else 0) | code
        return packet[:2] + struct.pack(">HHHHH", flags, 1, len(rows), 0, 0) + packet[12:end] + b"".join(rows)

    def publish(self, domain):
        """Publishes all records that a domain of /tenant-domains requires."""
        for record in domain["records"]:
            self.records.setdefault(record["name"], []).append(record["value"])

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()


def unused_address():
    """An address at which no server answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{own.getsockname()[1]}"
