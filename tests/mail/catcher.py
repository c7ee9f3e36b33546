"""A mail server that keeps the newest mails in memory."""
import email
import email.policy
import itertools
import re
import socket
import threading
import time

from aiosmtpd.controller import Controller

MAILS_MAX = 500
LINK = re.compile(r"https?://[^\s\"'<>)]+")


class CaughtMail:
    def __init__(self, number, envelope):
        self.number, self.at = number, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.sender, self.recipients = envelope.mail_from, list(envelope.rcpt_tos)
        self.raw = envelope.content
        self.message = email.message_from_bytes(self.raw, policy=email.policy.default)

    def body(self, kind):
        part = self.message.get_body((kind,))
        return part.get_content() if part is not None else None

    def row(self):
        return {"id": self.number, "received_at": self.at, "from": str(self.message["from"]), "to": self.recipients,
                "subject": str(self.message["subject"])}

    def whole(self):
        text = self.body("plain")
        return {**self.row(), "headers": [[name, str(value)] for name, value in self.message.items()], "text": text,
                "html": self.body("html"), "links": LINK.findall(text or "")}


class Catcher:
    def __init__(self, port=0, host="127.0.0.1"):
        self.lock, self.mails, self.numbers = threading.Lock(), [], itertools.count(1)
        catcher = self

        class Handler:
            async def handle_DATA(self, _server, _session, envelope):
                catcher.add(envelope)
                return "250 kept"

        if port == 0:  # aiosmtpd's controller connects to itself at the given port, so the port may not be 0
            with socket.socket() as own:
                own.bind((host, 0))
                port = own.getsockname()[1]
        self.controller = Controller(Handler(), hostname=host, port=port, data_size_limit=33554432)
        self.controller.start()
        self.url = f"smtp+plain://{host}:{port}"

    def add(self, envelope):
        with self.lock:
            self.mails.append(CaughtMail(next(self.numbers), envelope))
            del self.mails[:-MAILS_MAX]

    def list_mails(self, to=None):
        """The mails, newest first."""
        with self.lock:
            return [one for one in reversed(self.mails) if to is None or to in one.recipients]

    def find(self, number):
        return next((one for one in self.list_mails() if one.number == number), None)

    def clear(self):
        with self.lock:
            self.mails.clear()

    def close(self):
        self.controller.stop()
