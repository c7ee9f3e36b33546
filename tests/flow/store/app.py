"""Purchases in an app: payloads of notifications about subscriptions and one-time purchases."""
import itertools
import time
import uuid

BUNDLE = "com.example.app"
APP_ID = 1234567890
DAY = 86400000
_numbers = itertools.count(int(time.time() * 1000) % 10**9 * 1000)


def now_ms():
    return int(time.time() * 1000)


def number():
    """Returns an id that no other purchase has."""
    return str(2000000000000 + next(_numbers))


def account_token(user_id):
    return f"00000000-0000-4000-8000-{user_id:012x}"


class App:
    """An app in one environment of the store."""

    def __init__(self, chain, environment="Sandbox", bundle=BUNDLE, app_id=APP_ID):
        self.chain = chain
        self.environment = environment
        self.bundle = bundle
        self.app_id = app_id

    def notification(self, kind, subtype=None, transaction=None, renewal=None, status=None, signed_ms=None, ids=None,
                     part="data", chain=None, inner_chain=None, **members):
        """Returns the payload of a notification. `members` are added to its data. Use .signed() for the signed text."""
        data = {"bundleId": self.bundle, "bundleVersion": "7", "environment": self.environment, **members}
        if self.environment == "Production":
            data.setdefault("appAppleId", self.app_id)
        inner = inner_chain or chain or self.chain
        if transaction is not None:
            data["signedTransactionInfo"] = inner.sign(transaction)
        if renewal is not None:
            data["signedRenewalInfo"] = inner.sign(renewal)
        if status is not None:
            data["status"] = status
        payload = {"notificationType": kind, "notificationUUID": ids or str(uuid.uuid4()), "version": "2.0",
                   "signedDate": signed_ms or now_ms(), part: {k: v for k, v in data.items() if v is not None}}
        if subtype:
            payload["subtype"] = subtype
        return payload

    def signed(self, *arguments, chain=None, **options):
        return (chain or self.chain).sign(self.notification(*arguments, chain=chain, **options))

    def purchase(self, **members):
        """Returns the transaction of a one-time purchase."""
        ident = number()
        return {
            "transactionId": ident, "originalTransactionId": ident, "bundleId": self.bundle, "productId": "coins_100",
            "purchaseDate": now_ms(), "originalPurchaseDate": now_ms(), "quantity": 1, "type": "Consumable",
            "inAppOwnershipType": "PURCHASED", "signedDate": now_ms(), "environment": self.environment,
            "transactionReason": "PURCHASE", "storefront": "USA", "storefrontId": "143441", "price": 4990,
            "currency": "USD", **members,
        }


class Subscription:
    """The life of one subscription. Each step moves its clock and returns (kind, subtype, options of .notification()), so that steps may be sent in a
    different order."""

    def __init__(self, app, product="pro_monthly", start_ms=None, period=30 * DAY, token=None, status=True):
        self.app = app
        self.original = number()
        self.product = product
        self.next_product = product
        self.period = period
        self.token = token
        self.with_status = status
        self.clock = start_ms or now_ms() - 60000
        self.auto_renew = 1
        self.grace = None
        self.intent = None
        self.extra = {}
        self.new_period(self.clock)

    def new_period(self, start):
        self.transaction = number()
        self.starts, self.expires = start, start + self.period

    def transaction_info(self, **members):
        info = {
            "transactionId": self.transaction, "originalTransactionId": self.original, "webOrderLineItemId": "1",
            "bundleId": self.app.bundle, "productId": self.product, "subscriptionGroupIdentifier": "20000001",
            "purchaseDate": self.starts, "originalPurchaseDate": self.starts, "expiresDate": self.expires, "quantity": 1,
            "type": "Auto-Renewable Subscription", "inAppOwnershipType": "PURCHASED", "signedDate": self.clock,
            "environment": self.app.environment, "transactionReason": "PURCHASE", "storefront": "USA",
            "storefrontId": "143441", "price": 9990, "currency": "USD", **self.extra, **members,
        }
        if self.token:
            info["appAccountToken"] = self.token
        return info

    def renewal_info(self):
        info = {
            "originalTransactionId": self.original, "productId": self.product, "autoRenewProductId": self.next_product,
            "autoRenewStatus": self.auto_renew, "renewalDate": self.expires, "environment": self.app.environment,
            "signedDate": self.clock, "recentSubscriptionStartDate": self.starts, "currency": "USD",
            "renewalPrice": 9990,
        }
        if self.grace:
            info["gracePeriodExpiresDate"] = self.grace
            info["isInBillingRetryPeriod"] = True
        if self.intent:
            info["expirationIntent"] = self.intent
        return info

    def make_step(self, kind, subtype=None, status=1, **transaction):
        """Moves the clock, and returns the step with the current state of the subscription."""
        self.clock += 1000
        return kind, subtype, {
            "transaction": self.transaction_info(**transaction), "renewal": self.renewal_info(),
            "status": status if self.with_status else None, "signed_ms": self.clock,
        }

    def buy(self, trial=None):
        if trial:
            self.extra = {"offerType": 1, "offerDiscountType": "FREE_TRIAL", "offerPeriod": trial, "price": 0}
        return self.make_step("SUBSCRIBED", "INITIAL_BUY")

    def resubscribe(self):
        self.auto_renew, self.grace, self.intent, self.extra = 1, None, None, {}
        self.new_period(self.clock)
        return self.make_step("SUBSCRIBED", "RESUBSCRIBE")

    def renew(self, recovered=False):
        self.grace, self.extra = None, {"transactionReason": "RENEWAL"}
        self.new_period(self.expires)
        return self.make_step("DID_RENEW", "BILLING_RECOVERY" if recovered else None)

    def renewal(self, enabled):
        self.auto_renew = int(enabled)
        return self.make_step("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED" if enabled else "AUTO_RENEW_DISABLED")

    def upgrade(self, product):
        self.product = self.next_product = product
        self.new_period(self.clock)
        return self.make_step("DID_CHANGE_RENEWAL_PREF", "UPGRADE")

    def downgrade(self, product):
        self.next_product = product
        return self.make_step("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE")

    def fail(self, grace_ms=None):
        self.intent = 2
        self.grace = self.expires + grace_ms if grace_ms else None
        return self.make_step("DID_FAIL_TO_RENEW", "GRACE_PERIOD" if grace_ms else None, status=4 if grace_ms else 3)

    def grace_over(self):
        return self.make_step("GRACE_PERIOD_EXPIRED", status=3)

    def expire(self, why="VOLUNTARY"):
        self.grace = None
        return self.make_step("EXPIRED", why, status=2)

    def refund(self, kind="REFUND_FULL", **transaction):
        share = {"revocationPercentage": 50000} if kind == "REFUND_PRORATED" else {}
        return self.make_step("REFUND", status=5 if kind == "REFUND_FULL" else 1, revocationDate=self.clock,
                              revocationReason=0, revocationType=kind, **share, **transaction)

    def refund_reversed(self):
        return self.make_step("REFUND_REVERSED", status=1)

    def revoke(self):
        return self.make_step("REVOKE", status=5, revocationDate=self.clock, revocationType="FAMILY_REVOKE",
                              inAppOwnershipType="FAMILY_SHARED")

    def extend(self, days):
        self.expires += days * DAY
        return self.make_step("RENEWAL_EXTENDED")
