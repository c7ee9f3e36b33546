"""Test cards: by number (hosted pages) or by the name of a payment method (pm_card_...)."""
from .errors import declined, invalid

DECLINES = {  # behaviour -> code, decline_code, message
    "generic_decline": ("card_declined", "generic_decline", "Your card was declined."),
    "insufficient_funds": ("card_declined", "insufficient_funds", "Your card has insufficient funds."),
    "lost_card": ("card_declined", "lost_card", "Your card was declined."),
    "stolen_card": ("card_declined", "stolen_card", "Your card was declined."),
    "expired_card": ("expired_card", "expired_card", "Your card has expired."),
    "incorrect_cvc": ("incorrect_cvc", "incorrect_cvc", "Your card's security code is incorrect."),
    "processing_error": ("processing_error", "processing_error",
                         "An error occurred while processing your card. Try again in a little bit."),
}

# number, name, brand, behaviour. `attach_only`: can be saved, every charge is declined. `authenticate`: requires
# authentication each time; `authenticate_once`: unless the card was set up. `processing`: settled later.
CARDS = [
    ("4242424242424242", "pm_card_visa", "visa", "ok"),
    ("4000056655665556", "pm_card_visa_debit", "visa", "ok"),
    ("5555555555554444", "pm_card_mastercard", "mastercard", "ok"),
    ("378282246310005", "pm_card_amex", "amex", "ok"),
    ("4000000000000002", "pm_card_chargeDeclined", "visa", "generic_decline"),
    ("4000000000000002", "pm_card_visa_chargeDeclined", "visa", "generic_decline"),
    ("4000000000009995", "pm_card_chargeDeclinedInsufficientFunds", "visa", "insufficient_funds"),
    ("4000000000009995", "pm_card_visa_chargeDeclinedInsufficientFunds", "visa", "insufficient_funds"),
    ("4000000000009987", "pm_card_chargeDeclinedLostCard", "visa", "lost_card"),
    ("4000000000009979", "pm_card_chargeDeclinedStolenCard", "visa", "stolen_card"),
    ("4000000000000069", "pm_card_chargeDeclinedExpiredCard", "visa", "expired_card"),
    ("4000000000000127", "pm_card_chargeDeclinedIncorrectCvc", "visa", "incorrect_cvc"),
    ("4000000000000119", "pm_card_chargeDeclinedProcessingError", "visa", "processing_error"),
    ("4000000000000341", "pm_card_chargeCustomerFail", "visa", "attach_only"),
    ("4000002760003184", "pm_card_authenticationRequired", "visa", "authenticate"),
    ("4000002500003155", "pm_card_authenticationRequiredOnSetup", "visa", "authenticate_once"),
    ("4000000000003220", "pm_card_threeDSecure2Required", "visa", "authenticate"),
    ("4000000000000077", "pm_card_bypassPending", "visa", "ok"),
    ("000123456789", "pm_usBankAccount", "us_bank_account", "processing"),
    ("000222222227", "pm_usBankAccount_insufficientFunds", "us_bank_account", "processing"),
]
BY_NUMBER = {number: (name, brand, behaviour) for number, name, brand, behaviour in reversed(CARDS)}
BY_NAME = {name: (number, brand, behaviour) for number, name, brand, behaviour in CARDS}


def behaviour_of(method):
    return method["_behaviour"]


def find(text):
    """(number, brand, behaviour) of a name or a number; None."""
    if text in BY_NAME:
        return BY_NAME[text]
    number = (text or "").replace(" ", "")
    if number in BY_NUMBER:
        return number, *BY_NUMBER[number][1:]
    return None


def of_number(text):
    found = find(text)
    if not found:
        raise invalid("Your card number is incorrect.", "number", "incorrect_number", 402)
    return found


def decline(behaviour, **more):
    code, decline_code, message = DECLINES["generic_decline" if behaviour == "attach_only" else behaviour]
    return declined(code, message, decline_code, **more)


def declines_charge(behaviour):
    return behaviour in DECLINES or behaviour == "attach_only"
