"""Pages that the processor hosts: paying, authenticating, onboarding. For a browser, or curl:

    curl -d '' URL/complete        pays with a valid card; with -d number=4000000000000002 the card is declined
    curl -d '' URL/abandon         returns without paying
    curl -d '' URL/expire          expires the page, as after a day
"""
import html
import urllib.parse

from .errors import ApiError
from .forms import Params, decode

STYLE = ("body{font:16px/1.5 system-ui,sans-serif;max-width:26rem;margin:3rem auto;padding:0 1rem;color:#1a1f36}"
         "h1{font-size:1.2rem}.sum{font-size:2rem;margin:.2rem 0 1rem}label{display:block;margin:.6rem 0 .2rem}"
         "input{width:100%;padding:.5rem;font:inherit;box-sizing:border-box;border:1px solid #c1c9d2;border-radius:4px}"
         "button{font:inherit;padding:.5rem 1rem;margin:.8rem .4rem 0 0;border:0;border-radius:4px;background:#e3e8ee;"
         "cursor:pointer}.go{background:#1a1f36;color:#fff}.bad{color:#b3093c}small{color:#697386}")
ZERO_DECIMALS = "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split()


def page(title, body, status=200):
    text = (f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style><h1>{html.escape(title)}</h1>{body}"
            "<p><small>Test processor: no money moves.</small></p></html>\n")
    return status, {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}, text.encode()


def redirect(url, text):
    if not url:
        return page(text, "<p>You can close this page.</p>")
    status, headers, body = page(text, f'<p><a href="{html.escape(url)}">Go on</a></p>', 303)
    return status, {**headers, "Location": url}, body


def money(amount, currency):
    digits = 0 if currency in ZERO_DECIMALS else 2
    return f"{amount / 10 ** digits:.{digits}f} {currency.upper()}"


def answer(processor, method, path, body):
    parts = path.strip("/").split("/")
    pages = {"checkout": checkout, "setup": setup, "authenticate": authenticate}
    try:
        if parts == [""]:
            return page("Test processor", "<p>It stands in for the payment processor.</p>")
        if parts[0] in pages and len(parts) >= 2:
            return pages[parts[0]](processor, method, parts[1:], Params(decode(body.decode(errors="replace"))))
    except ApiError as error:
        return page(error.error["message"], "", error.status)
    return page("There is no such page", "", 404)


def form(action, label, kind="", fields=""):
    return f'<form method="post" action="{html.escape(action)}">{fields}<button class="{kind}">{label}</button></form>'


# --- checkout --------------------------------------------------------------------------------------


def checkout(processor, method, parts, p):
    session = processor.session(parts[0])
    if method == "GET" and len(parts) == 1:
        return show_checkout(session)
    action = parts[1] if len(parts) == 2 and method == "POST" else None
    if action == "complete":
        try:
            session = processor.complete(parts[0], p.str("number") or "4242424242424242", p.str("email"))
        except ApiError as error:
            if session["status"] != "open":
                raise
            return show_checkout(processor.session(parts[0]), error)
        return redirect(session["success_url"].replace("{CHECKOUT_SESSION_ID}", session["id"]), "Paid")
    if action == "abandon":
        return redirect(session["cancel_url"], "Nothing was paid")
    if action == "expire":
        processor.expire(parts[0])
        return page("This page has expired", "")
    return page("There is no such page", "", 404)


def show_checkout(session, error=None):
    if session["status"] != "open":
        return page(f"This checkout is {session['status']}", "", 410)
    lines = ", ".join(line["name"] for line in session["_lines"])
    title = {"payment": f"Pay for {lines}", "subscription": f"Subscribe to {lines}", "setup": "Save a card"}[session["mode"]]
    amount = "" if session["mode"] == "setup" else f'<p class="sum">{money(session["amount_total"], session["currency"])}</p>'
    if session["_trial"]:
        amount += f"<p>{session['_trial']} days free, then {money(session['_total'], session['currency'])}</p>"
    bad = f'<p class="bad">{html.escape(error.error["message"])}</p>' if error else ""
    base = f"/checkout/{session['id']}"
    fields = (f'<label>E-mail</label><input name="email" type="email" value="{html.escape(session["customer_email"] or "")}">'
              '<label>Card number</label><input name="number" value="4242 4242 4242 4242" autocomplete="off">')
    declined = '<input type="hidden" name="number" value="4000000000000002">'
    return page(title, amount + bad + form(f"{base}/complete", "Pay", "go", fields)
                + form(f"{base}/complete", "Pay with a card that is declined", "", declined)
                + form(f"{base}/abandon", "Go back without paying"), error.status if error else 200)


# --- onboarding and authentication -----------------------------------------------------------------


def setup(processor, method, parts, p):
    account, token = parts[0], parts[1] if len(parts) > 1 else ""
    link = processor.link(account, token)
    if method == "GET" and len(parts) == 2:
        if not link["usable"]:
            return redirect(link["refresh_url"], "This link has expired")
        processor.use_link(token)
        return page("Set up payments", f"<p>Account {html.escape(account)}</p>"
                    + form(f"/setup/{account}/{token}/complete", "Complete the onboarding", "go")
                    + form(f"/setup/{account}/{token}/leave", "Later"))
    if method == "POST" and len(parts) == 3 and parts[2] in ("complete", "leave"):
        if parts[2] == "complete":
            processor.use_link(token)
            processor.onboard(account)
        return redirect(link["return_url"], "Set up" if parts[2] == "complete" else "Not set up yet")
    return page("There is no such page", "", 404)


def authenticate(processor, method, parts, p):
    base = f"/authenticate/{parts[0]}"
    if method == "GET" and len(parts) == 1:
        return page("Is it you?", form(f"{base}/complete", "Yes", "go") + form(f"{base}/fail", "No"))
    if method == "POST" and len(parts) == 2 and parts[1] in ("complete", "fail"):
        intent = processor.authenticate(parts[0], parts[1] == "complete")
        return redirect(intent["_return_url"], "Thank you" if parts[1] == "complete" else "The payment was refused")
    return page("There is no such page", "", 404)
