"""A mail server whose mails tests can read, and whose answers tests control."""
import asyncio
import email
import email.policy
import re

from .daemon import free_port
from .deadline import until


class Mailbox:
    """Accepts mail without TLS. `answers` maps the beginning of an address to a stage and its answer: {"later@": ("RCPT", "451
    later")}. The answer "hang" at RCPT never answers, and "close" after DATA stores the mail and closes the connection."""

    def __init__(self):
        from aiosmtpd.controller import Controller

        self.mails, self.answers, self.tried = [], {}, []
        box = self

        class Handler:
            async def handle_RCPT(self, _server, _session, envelope, address, _options):
                box.tried.append(address)
                stage, answer = box.answer(address)
                if stage == "RCPT" and answer == "hang":
                    await asyncio.Event().wait()
                if stage == "RCPT":
                    return answer
                envelope.rcpt_tos.append(address)
                return "250 OK"

            async def handle_DATA(self, server, session, envelope):
                envelope.peer = session.peer
                stage, answer = box.answer(envelope.rcpt_tos[0])
                if stage == "DATA":
                    if answer == "close":
                        box.mails.append(envelope)
                        server.transport.close()
                        return "421 gone"
                    return answer
                box.mails.append(envelope)
                return "250 taken"

        self.controller = Controller(Handler(), hostname="127.0.0.1", port=free_port())
        self.controller.start()
        self.url = f"smtp+plain://127.0.0.1:{self.controller.port}"

    def answer(self, address):
        for start, answer in self.answers.items():
            if address.startswith(start):
                return answer
        return None, None

    def close(self):
        self.controller.stop()

    def messages_to(self, address):
        return [read(envelope) for envelope in self.mails if address in envelope.rcpt_tos]

    def wait(self, address, count=1, within=6):
        """Returns the messages to an address, once there are `count`."""
        until(lambda: len(self.messages_to(address)) >= count,
              lambda: f"{len(self.messages_to(address))} of {count} mails to {address} have come", within, pause=0.02)
        return self.messages_to(address)

    def token(self, address, count=1):
        """Type and token of the last link mailed to the address."""
        text = self.wait(address, count)[-1].get_body(("plain",)).get_content()
        return re.search(r"#type=(\w+)&token=([\w-]+)", text).groups()


def read(envelope):
    return email.message_from_bytes(envelope.content, policy=email.policy.default)
