"""A store to use by hand: python3 tests/flow/store --url NOTIFICATION_URL [--port 8090] [--folder .run/store]

Writes roots.pem (GROUNDWORK_STORE_ROOTS_FILE) and credentials.json (the body of PUT .../iap-store/credentials) into the folder
and serves the server API on the port (GROUNDWORK_STORE_URL, GROUNDWORK_STORE_SANDBOX_URL). Reads commands from standard input, or
from requests to /_control, one command a line: buy [APP_ACCOUNT_TOKEN], then renew, cancel, fail, grace, expire, refund, reverse,
revoke, each with the number of the purchase; charge [APP_ACCOUNT_TOKEN] for a one-time purchase.
"""
import argparse
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from store.app import APP_ID, BUNDLE, DAY, Subscription  # noqa: E402
from store.chain import Chain  # noqa: E402
from store.server import Store  # noqa: E402

STEPS = {
    "renew": lambda one: one.renew(), "cancel": lambda one: one.renewal(False), "fail": lambda one: one.fail(),
    "grace": lambda one: one.fail(16 * DAY), "expire": lambda one: one.expire(), "refund": lambda one: one.refund(),
    "reverse": lambda one: one.refund_reversed(), "revoke": lambda one: one.revoke(),
}


def run_step(store, app, bought, words):
    """Carries out one command. Returns the text to print."""
    if words[0] in ("buy", "charge") and len(words) <= 2:
        token = words[1] if len(words) == 2 else None
        if words[0] == "charge":
            mark = {"appAccountToken": token} if token else {}
            return f"charged: {store.send(app, 'ONE_TIME_CHARGE', None, {'transaction': app.purchase(**mark)})}"
        bought.append(Subscription(app, token=token))
        return f"{len(bought)}: {bought[-1].original}: {store.send(app, *bought[-1].buy())}"
    if words[0] in STEPS and len(words) == 2 and words[1].isdigit() and 0 < int(words[1]) <= len(bought):
        one = bought[int(words[1]) - 1]
        return f"{words[1]}: {one.original}: {store.send(app, *STEPS[words[0]](one))}"
    return "not understood; see --help"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(".run/store"))
    parser.add_argument("--environment", choices=("Sandbox", "Production"), default="Sandbox")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    store = Store(asked.port, chain=Chain.load_or_create(asked.folder))
    for environment in ("Sandbox", "Production"):
        store.register(environment, asked.url)
    credentials = {**store.key(), "bundle_id": BUNDLE, "app_apple_id": APP_ID}
    (asked.folder / "credentials.json").write_text(json.dumps(credentials, indent=1))
    print(f"GROUNDWORK_STORE_URL={store.production_url}\nGROUNDWORK_STORE_SANDBOX_URL={store.sandbox_url}\n"
          f"GROUNDWORK_STORE_ROOTS_FILE={(asked.folder / 'roots.pem').resolve()}\n"
          f"credentials: {asked.folder / 'credentials.json'}", flush=True)
    app, bought = store.app(asked.environment), []
    store.control = lambda line: run_step(store, app, bought, line.split() or [""])
    for line in sys.stdin:
        if line.strip():
            print(store.control(line), flush=True)
    threading.Event().wait()  # no more commands on standard input: keep serving until the process is killed


if __name__ == "__main__":
    main()
