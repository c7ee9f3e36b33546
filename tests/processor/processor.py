"""The interface of the test processor: in the same process this class, from another process POST /_control/<method>."""
import json
import secrets
import threading

from . import cards
from .api import accounts, billing, checkout, customers, intents
from .context import Context
from .errors import ApiError, invalid, missing
from .faults import Faults
from .forms import Params, Schemas
from .idempotency import Results
from .render import public_copy, render
from .server import make_server
from .store import Store, new_id
from .webhooks import Webhooks, post, sign


class Processor:
    """A server that listens on its own port as soon as it is created. `state`: a JSON file with all state;
    `schemas`: the folder of processor-operations-*.json, which every request must match."""

    # The methods that POST /_control/<name> may call.
    REMOTE = frozenset("""new_platform add_key new_account onboard add_endpoint update_endpoint remove_endpoint pause flush
        resend drain fault clear_faults faults_left requests violations charges assert_never_charged_twice objects get
        events event_payload attempts complete abandon expire pay authenticate settle setup set_quantity renew fail_renewal
        end_trial advance cancel refund dispute detach attach ping""".split())

    def __init__(self, port=0, host="127.0.0.1", state=None, schemas=None, backoff=0.2, url=None):
        self.store = Store(state)
        self.schemas = Schemas(schemas)
        self.faults = Faults()
        self.results = Results(self.store)
        self.webhooks = Webhooks(self.store, backoff)
        self.closing = threading.Event()
        self.requires_key_on_post = False
        self._requests, self._violations = [], []
        self.server = make_server(self, host, port)
        self.port = self.server.server_address[1]
        self.url = url or f"http://{host}:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.webhooks.start()
        if state:
            threading.Thread(target=self._save_often, daemon=True).start()

    def close(self):
        self.closing.set()
        self.webhooks.close()
        self.server.shutdown()
        self.server.server_close()
        self.store.save()

    def _save_often(self):
        while not self.closing.wait(0.2):
            self.store.save()

    def ping(self):
        return "pong"

    # --- accounts and keys ---

    def new_platform(self, key=None, ready=True):
        """A platform (or an account of its own): {"key", "account"}."""
        with self.store.lock:
            account = new_id("account")
            accounts.new_account(self.store, account, ready=ready)
            return self.add_key(key or f"sk_test_{secrets.token_hex(16)}", account)

    def add_key(self, key, account):
        with self.store.lock:
            self.store.keys[key] = account
            self.store.changed = True
        return {"key": key, "account": account}

    def new_account(self, key, ready=True):
        """A connected account of the platform that has this key."""
        with self.store.lock:
            account = new_id("account")
            self.store.parents[account] = self.store.keys[key]
            accounts.new_account(self.store, account, ready=ready)
            return account

    def onboard(self, account, charges=True, payouts=True, due=()):
        """As if the account's owner had completed the onboarding page; account.updated is sent."""
        with self.store.lock:
            return public_copy(accounts.onboard(self._in(account), account, charges, payouts, due))

    def link(self, account, token):
        with self.store.lock:
            link = self.store.links.get(token)
            if not link or link["account"] != account:
                raise missing("account link", token, in_path=True)
            return {**link, "usable": not link["used"] and link["expires_at"] > self.store.now()}

    def use_link(self, token):
        with self.store.lock:
            self.store.links[token]["used"] = self.store.changed = True

    # --- webhooks ---

    def add_endpoint(self, url, secret, key, connect=False, api="dahlia", events=None, accounts=None, **switches):
        """Adds an endpoint for events of a platform's connected accounts (`connect`) or of the platform. `api`: acacia, basil,
        dahlia or endive; `events`: types, ["*"] for all. Returns its id. Switches: duplicate=N (N more copies),
        shuffle=True, delay=seconds or [least, most], drop=True (until resend()), paused=True (until flush())."""
        return self.webhooks.add(url, secret, self.store.keys[key], connect, api, events, accounts, **switches)

    def update_endpoint(self, endpoint=None, **changes):
        """Switches, url, secrets, api, events, accounts of one endpoint or of all."""
        self.webhooks.update(endpoint, **changes)

    def remove_endpoint(self, endpoint):
        self.webhooks.remove(endpoint)

    def pause(self, endpoint=None):
        self.webhooks.update(endpoint, paused=True)

    def flush(self, endpoint=None):
        """Sends the events that a pause has delayed."""
        self.webhooks.update(endpoint, paused=False)

    def resend(self, event=None, endpoint=None):
        """Sends the dropped events, or one event again; returns the number of deliveries."""
        return self.webhooks.resend(event, endpoint)

    def drain(self, timeout=60, endpoint=None):
        """Waits until every event was taken (2xx)."""
        self.webhooks.drain(timeout, endpoint)

    def attempts(self, endpoint=None):
        """All attempts to deliver: event, type, url, status, body, try."""
        with self.store.lock:
            return [dict(each) for each in self.webhooks.attempts if endpoint in (None, each["endpoint"])]

    def events(self, type=None, account=None):  # pylint: disable=redefined-builtin
        """Oldest first."""
        with self.store.lock:
            found = [event for space in ([account] if account else list(self.store.spaces))
                     for event in self.store.all(space, "event")]
            return [public_copy(event) for event in found if type in (None, event["type"])]

    def event_payload(self, event, api="dahlia"):
        """The text of an event for endpoints of that API generation."""
        with self.store.lock:
            account, found = self.store.find_owner("event", event)
            return self.webhooks.payload(found, api, account)

    @staticmethod
    def sign(payload, secret, at=None):
        return sign(payload, secret, at)

    @staticmethod
    def deliver(url, payload, secret=None, at=None, headers=None):
        """Posts an event (a dict, or text) by hand; (status, body). No `secret`: without a signature."""
        text = payload if isinstance(payload, str) else json.dumps(payload)
        signature = {"Stripe-Signature": sign(text, secret, at)} if secret else {}
        return post(url, text, {**signature, **(headers or {})})

    # --- faults and the log ---

    def fault(self, kind, times=1, **matching):
        """See faults.py: fault("status", status=503, method="POST", path="/v1/payment_intents*", times=2)."""
        self.faults.add(kind, times, **matching)

    def clear_faults(self):
        self.faults.clear()

    def faults_left(self):
        return self.faults.remaining()

    def note(self, entry):
        with self.store.lock:
            self._requests.append(entry)
            del self._requests[:-200000]

    def violation(self, call, where, text):
        with self.store.lock:
            self._violations.append({"method": call.method, "path": call.path, "where": where, "text": text,
                                     "params": call.tree, "account": call.account})

    def requests(self, method=None, path=None, account=None, key=None, since=0):
        """The requests received, oldest first; `path` may end with *."""
        with self.store.lock:
            return [dict(each) for each in self._requests[since:]
                    if method in (None, each["method"]) and account in (None, each["account"]) and key in (None, each["key"])
                    and (path is None or each["path"] == path or path.endswith("*") and each["path"].startswith(path[:-1]))]

    def violations(self):
        """Requests that the real processor would not accept."""
        with self.store.lock:
            return list(self._violations)

    def charges(self, account=None, captured=None):
        """Charges that went through, each with its intent's metadata and the idempotency key that made it."""
        with self.store.lock:
            found = []
            for space in [account] if account else list(self.store.spaces):
                for charge in self.store.all(space, "charge"):
                    if charge["status"] == "succeeded" and captured in (None, charge["captured"]):
                        intent = self.store.find(space, "payment_intent", charge["payment_intent"])
                        found.append({**public_copy(charge), "account": space, "key": charge["_key"],
                                      "metadata": dict(intent["metadata"]), "invoice": intent.get("_invoice")})
            return found

    def assert_never_charged_twice(self, account=None):
        """One charge at most for each payment (metadata.payment_id), intent, invoice and idempotency key."""
        seen = {}
        for charge in self.charges(account):
            names = [("intent", charge["payment_intent"]), ("key", charge["key"]), ("invoice", charge["invoice"])]
            if "payment_id" in charge["metadata"]:
                names.append(("payment", f"{charge['metadata'].get('project_id')}/{charge['metadata']['payment_id']}"))
            for kind, name in names:
                if name is not None:
                    seen.setdefault((charge["account"], kind, name), []).append(charge["id"])
        twice = {str(place): ids for place, ids in seen.items() if len(ids) > 1}
        assert not twice, f"charged twice: {twice}"
        return len(seen)

    def objects(self, kind, account=None):
        """All objects of a kind ("payment_intent", "checkout.session", ...), oldest first."""
        with self.store.lock:
            return [public_copy(obj) for space in ([account] if account else list(self.store.spaces))
                    for obj in self.store.all(space, kind) if not obj.get("deleted")]

    def get(self, id, api="dahlia", expand=()):  # pylint: disable=redefined-builtin
        """Any object by its id."""
        with self.store.lock:
            for account in self.store.spaces:
                found = self.store.find_any(account, id)
                if found:
                    return render(self.store, account, found, api, expand)
        raise missing("object", id, in_path=True)

    # --- actions of payers and of the dashboard, and the passage of time ---

    def _in(self, account):
        return Context(self, self.store.platform_of(account), account)

    def _find(self, kind, id_):
        account, found = self.store.find_owner(kind, id_)
        if not found:
            raise missing(kind, id_, in_path=True)
        return self._in(account), found

    def session(self, session):
        with self.store.lock:
            return dict(self._find("checkout.session", session)[1])

    def complete(self, session, card="4242424242424242", email=None):
        """The payer completes the hosted page; raises ApiError (402) when the card fails."""
        with self.store.lock:
            return public_copy(checkout.complete(*self._find("checkout.session", session), card, email))

    def abandon(self, session):
        """The payer leaves; nothing happens until the session expires. Returns the address that the payer is redirected to."""
        return self.session(session)["cancel_url"]

    def expire(self, session):
        with self.store.lock:
            ctx, found = self._find("checkout.session", session)
            if found["status"] != "open":
                raise invalid(f"This session is {found['status']}.")
            checkout.expire(ctx, found)
            return public_copy(found)

    def pay(self, intent, card="4242424242424242"):
        """The payer's app confirms an intent with its client secret; raises ApiError (402) for a declined card."""
        with self.store.lock:
            ctx, found = self._find("payment_intent", intent)
            if found["status"] not in intents.OPEN:
                raise intents.unexpected_state(f"This PaymentIntent is {found['status']}.")
            cards.of_number(card)
            found["payment_method"] = customers.make_method(ctx, card)["id"]
            intents.confirm(ctx, found)
            return public_copy(found)

    def authenticate(self, intent, ok=True):
        """The payer passes (or fails) the authentication that an intent waits for."""
        with self.store.lock:
            ctx, found = self._find("payment_intent", intent)
            if found["status"] != "requires_action":
                raise invalid(f"This PaymentIntent is {found['status']}.")
            method = ctx.get("payment_method", found["payment_method"])
            if ok:
                intents.confirm(ctx, found, authenticated=True)
            else:
                error = ApiError(402, "card_error", "We are unable to authenticate your payment method.",
                                 "payment_intent_authentication_failure")
                try:
                    intents.refuse(ctx, found, method, error)
                except ApiError:
                    pass
            return dict(found)

    def settle(self, intent, ok=True):
        """A payment in `processing` ends."""
        with self.store.lock:
            ctx, found = self._find("payment_intent", intent)
            if found["status"] != "processing":
                raise invalid(f"This PaymentIntent is {found['status']}.")
            intents.settle(ctx, found, ok)
            checkout.settle_session(ctx, found)
            return public_copy(found)

    def setup(self, setup_intent, card="4242424242424242"):
        """The payer's app confirms a setup intent; a card that is declined makes it fail (no exception)."""
        with self.store.lock:
            ctx, found = self._find("setup_intent", setup_intent)
            cards.of_number(card)
            found["payment_method"] = customers.make_method(ctx, card)["id"]
            try:
                customers.confirm(ctx, found)
            except ApiError as error:
                if error.status != 402:
                    raise
            return public_copy(found)

    def attach(self, customer, card="4242424242424242"):
        """Saves a card for a customer."""
        with self.store.lock:
            ctx, found = self._find("customer", customer)
            return public_copy(customers.attach(ctx, customers.make_method(ctx, card), found))

    def detach(self, payment_method):
        with self.store.lock:
            ctx, _ = self._find("payment_method", payment_method)
            return customers.detach_method(ctx, Params(), payment_method)

    def set_quantity(self, subscription, quantity):
        """Changes the quantity of a subscription, from the dashboard."""
        with self.store.lock:
            ctx, found = self._find("subscription", subscription)
            return billing.update(ctx, Params({"items": [{"quantity": str(quantity)}]}), found["id"])

    def renew(self, subscription, card=None):
        """Ends the period now; `card` becomes the subscription's default card."""
        with self.store.lock:
            ctx, found = self._find("subscription", subscription)
            if card:
                method = customers.make_method(ctx, card)
                method["customer"] = found["customer"]
                found["default_payment_method"] = method["id"]
            billing.renew(ctx, found)
            return public_copy(found)

    def fail_renewal(self, subscription):
        """The period ends, and the card is declined from now on: past_due."""
        return self.renew(subscription, "4000000000000341")

    def retry(self, subscription, card):
        """Charges the unpaid invoice again, with `card`."""
        with self.store.lock:
            ctx, found = self._find("subscription", subscription)
            method = customers.make_method(ctx, card)
            method["customer"] = found["customer"]
            found["default_payment_method"] = method["id"]
            billing.pay_invoice(ctx, ctx.get("invoice", found["latest_invoice"]), found)
            return public_copy(found)

    def end_trial(self, subscription):
        with self.store.lock:
            ctx, found = self._find("subscription", subscription)
            billing.end_trial(ctx, found)
            return public_copy(found)

    def cancel(self, subscription, reason="cancellation_requested", status="canceled"):
        """Ends a subscription immediately, from the dashboard; or sets it to `unpaid` or `paused`."""
        with self.store.lock:
            ctx, found = self._find("subscription", subscription)
            if status == "canceled":
                billing.cancel(ctx, found, reason)
            else:
                billing.set_status(ctx, found, status)
            return public_copy(found)

    def refund(self, intent, amount=None):
        with self.store.lock:
            ctx, _ = self._find("payment_intent", intent)
            form = {"payment_intent": intent, **({"amount": str(amount)} if amount else {})}
            return intents.create_refund(ctx, Params(form))

    def fail_refund(self, refund):
        """Fails a refund that had succeeded."""
        with self.store.lock:
            ctx, found = self._find("refund", refund)
            intents.fail_refund(ctx, found)
            return public_copy(found)

    def dispute(self, intent):
        with self.store.lock:
            ctx, found = self._find("payment_intent", intent)
            intents.dispute(ctx, ctx.get("charge", found["latest_charge"]))

    def advance(self, seconds):
        """Advances the processor's clock: sessions expire, trials and periods end."""
        with self.store.lock:
            self.store.offset += seconds
            self.store.changed = True
            for account in list(self.store.spaces):
                checkout.expire_due_sessions(self._in(account))
                billing.apply_due_changes(self._in(account))
