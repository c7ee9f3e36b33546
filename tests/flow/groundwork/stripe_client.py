"""The processor's own client (npm package stripe), driven from Python."""
import json
import pathlib
import shutil
import subprocess
import threading

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "stripe"
NODE_NEEDED = 20


def install_error():
    """Installs the packages of package-lock.json; returns the reason why it cannot, or None."""
    if not shutil.which("npm") or not shutil.which("node"):
        return "npm is not installed"
    version = subprocess.run(["node", "-p", "process.versions.node"], capture_output=True, text=True).stdout.strip()
    if int(version.split(".")[0] or 0) < NODE_NEEDED:
        return f"the package stripe needs node {NODE_NEEDED}, this is {version}"
    if (FOLDER / "node_modules/stripe").is_dir():
        return None
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, text=True)
    return None if done.returncode == 0 else f"npm cannot install stripe: {done.stderr[-500:]}"


class StripeError(Exception):
    """An error that the client threw: .class_ (StripeCardError ...), .code, .status, .decline_code, .param, .intent."""

    def __init__(self, error):
        super().__init__(f"{error.get('class')}: {error.get('message')}")
        self.class_ = error.get("class")
        for name in ("type", "code", "status", "decline_code", "param", "request_id", "intent"):
            setattr(self, name, error.get(name))


class StripeClient:
    """client.call("paymentIntents.create", {...}, {"idempotencyKey": "k"}); each line is one request."""

    def __init__(self):
        self.node = subprocess.Popen(["node", "client.mjs"], cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)
        self.lock = threading.Lock()
        self.url = self.key = self.account = None

    def configure(self, url, key, account=None):
        """Sends later requests to this URL with these credentials; returns self."""
        self.url, self.key, self.account = url, key, account
        return self

    def ask(self, message):
        with self.lock:
            self.node.stdin.write(json.dumps(message) + "\n")
            self.node.stdin.flush()
            told = json.loads(self.node.stdout.readline())
        if "error" in told:
            raise StripeError(told["error"])
        return told.get("ok")

    def call(self, name, *args, **options):
        return self.ask({"call": name, "args": args, "url": self.url, "key": self.key, "account": self.account, **options})

    def verify(self, payload, header, secret, tolerance=300):
        """Returns the event, or raises StripeError of class StripeSignatureVerificationError."""
        return self.ask({"verify": payload, "header": header, "secret": secret, "tolerance": tolerance})

    def sign(self, payload, secret, timestamp=None):
        return self.ask({"sign": payload, "secret": secret, "timestamp": timestamp})

    def close(self):
        self.node.stdin.close()
        self.node.wait(60)


@pytest.fixture(scope="session")
def stripe_client():
    """Skips the test when the package cannot be installed."""
    why = install_error()
    if why:
        pytest.skip(why)
    client = StripeClient()
    yield client
    client.close()
