"""A whole provider of the ramp, with the standard library of Python only: sells USDC for US dollars in a sandbox, where each payment
arrives after a second, and one of 100.00 at each new deposit account. Run it with `KEY_ID=key SECRET=secret python3 provider.py`, and try it with
`routewright ramp provider test --url http://127.0.0.1:8090 --key-id key --secret secret`.
"""

import base64
import hashlib
import hmac
import json
import os
import threading
import time
import urllib.request
import uuid
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

KEY_ID, SECRET = os.environ["KEY_ID"], os.environ["SECRET"].encode()
# Callbacks are signed with the bytes that a secret `whsec_…` encodes; requests always with the secret as text.
CALLBACK_KEY = base64.b64decode(SECRET[6:]) if SECRET.startswith(b"whsec_") else SECRET

# In a database, with the money: both outlive a restart.
onboardings: dict[str, dict] = {}
payments: dict[str, dict] = {}
accounts: dict[str, dict] = {}
lock = threading.Lock()


class Refused(Exception):
    """An answer that is no success: a status, and why."""

    def __init__(self, status: int, error: str, message: str, **more: str):
        self.status, self.body = status, {"error": error, "message": message, **more}


LEAST, MOST = "10.00", "5000.00"
CAPABILITIES = {
    "code": "example",
    "name": "Example Payments",
    "logo": None,
    "sandbox": True,
    "refunds": True,
    "depositAccounts": True,
    "requirements": [{"code": "KYC", "title": "Identity"}],
    "rails": [{"code": "ACH", "title": "ACH", "properties": {}, "required": []}],
    "pairs": [
        {
            "srcCurrencyCode": "USD",
            "destCurrencyCode": "USDC_POLYGON",
            "rail": "ACH",
            "countries": ["US"],
            "minSrcAmount": LEAST,
            "maxSrcAmount": MOST,
        }
    ],
}
FEE = Decimal("1.00")
BANK = {"beneficiary": "Example Payments", "rail": "ACH", "currency": "USD"}
FORM = {"type": "object", "properties": {"fullName": {"type": "string"}}, "required": ["fullName"]}


def price(src_amount: str) -> dict:
    fees = {"currencyCode": "USD", "totalFee": str(FEE), "networkFee": "0.00", "processingFee": str(FEE), "partnerFee": "0.00"}
    return {"exchangeRate": "1", "fees": fees, "destAmount": f"{Decimal(src_amount) - FEE:.6f}"}


def quote(asked: dict) -> dict:
    if (asked["srcCurrencyCode"], asked["destCurrencyCode"]) != ("USD", "USDC_POLYGON"):
        return {"quote": None}
    return {"quote": {"rail": "ACH", "hasIndicativePrice": True, **price(asked["srcAmount"])}}


def known(all_: dict, id_: str) -> dict:
    if id_ not in all_:
        raise Refused(404, "UNKNOWN_ORDER", "There is no order of this id.")
    return all_[id_]


def onboarding_of(id_: str) -> dict:
    state = {"status": "COMPLETED", "form": None} if known(onboardings, id_)["checked"] else {"status": "PENDING", "form": FORM}
    return {"id": id_, "requirements": [{"code": "KYC", "title": "Identity", "failureReason": None, **state}]}


def is_same(before: dict, order: dict) -> bool:
    """Orders under one id are the same where they move the same: a ramp that was restored can name another quote."""
    return {**before["movement"], "quoteId": None} == {**order["movement"], "quoteId": None}


def onboard(order: dict) -> None:
    """The same id again is the same order, whose checks go on."""
    if not is_same(onboardings.setdefault(order["id"], {"order": order, "checked": False})["order"], order):
        raise Refused(409, "OTHER_ORDER", "The id is that of another order.")


def submit(id_: str, code: str) -> None:
    """A form that is sent again changes nothing."""
    onboarding = known(onboardings, id_)
    if code != "KYC":
        raise Refused(422, "UNKNOWN_CHECK", "There is no check of this code.")
    onboarding["checked"] = True


def payment_of(id_: str) -> dict:
    payment = known(payments, id_)
    order, status = payment["order"], payment["status"]
    answer = {"id": id_, "reference": f"example-{id_}", "status": status, "failureReason": None, "instructions": []}
    if order is None:
        return answer
    details = {**BANK, "reference": id_, "amount": order["movement"]["srcAmount"]}
    if status == "AWAITING_FUNDS":
        answer["instructions"] = [{"encoding": "DISPLAY", "type": "BANK", "details": details}]
    if "receipt" in payment:
        answer["receipt"] = payment["receipt"]
    return {**answer, "refunds": payment["refunds"]}


def pay(order: dict) -> None:
    """The same id again is the same order, and never a second payment."""
    before = payments.get(order["id"])
    if before is None:
        if not onboardings.get(order["onboardingId"], {}).get("checked"):
            raise Refused(409, "NOT_ONBOARDED", "The customer's checks are not complete.")
        payments[order["id"]] = {"order": order, "status": "AWAITING_FUNDS", "refunds": [], "refused": set()}
        threading.Timer(1, succeed, [order, "AWAITING_FUNDS"]).start()
    elif before["order"] is not None and not is_same(before["order"], order):
        raise Refused(409, "OTHER_ORDER", "The id is that of another order.")


def cancel(id_: str) -> None:
    """A cancel can overtake its order, which is never carried out then."""
    payment = payments.setdefault(id_, {"order": None, "status": "CANCELLED", "refunds": [], "refused": set()})
    if payment["status"] not in ("AWAITING_FUNDS", "CANCELLED"):
        raise Refused(409, "TOO_LATE", "The payment has been made.")
    payment["status"] = "CANCELLED"


def refund(id_: str, order: dict) -> None:
    payment = known(payments, id_)
    if any(made["id"] == order["id"] for made in payment["refunds"]):
        return
    refunds = [*payment["refunds"], {name: order[name] for name in ("id", "amount", "reason")}]
    sent = payment["order"]["movement"]["srcAmount"] if payment["order"] else "0"
    left = Decimal(sent) - sum(Decimal(made["amount"]) for made in refunds)
    if payment["status"] != "SUCCESS" or left < 0:
        payment["refused"].add(order["id"])
    # A delayed copy of a refund that was refused is refused too.
    if order["id"] in payment["refused"]:
        raise Refused(422, "NOT_REFUNDABLE", "So much is not left.")
    payment["refunds"] = refunds
    if left == 0:
        payment["status"] = "REFUNDED"


def account_of(id_: str, after: str = "") -> dict:
    account = known(accounts, id_)
    details = {**BANK, "reference": id_}
    instructions = [] if account["order"] is None else [{"encoding": "DISPLAY", "type": "BANK", "details": details}]
    ids = ["", *(deposit["id"] for deposit in account["deposits"])]
    start = ids.index(after) if after in ids else 0
    status = "ACTIVE" if account["open"] else "CLOSED"
    return {"id": id_, "status": status, "instructions": instructions, "deposits": account["deposits"][start : start + 100]}


def open_account(order: dict) -> None:
    """The same id again is the same account; one that was closed before stays closed."""
    before = accounts.get(order["id"])
    if before is not None:
        if before["order"] is None or before["order"] == order:
            return
        raise Refused(409, "OTHER_ACCOUNT", "The id is that of another account.")
    if not onboardings.get(order["onboardingId"], {}).get("checked"):
        raise Refused(422, "NOT_ONBOARDED", "The customer's checks are not complete.", reason="IDENTITY")
    accounts[order["id"]] = {"order": order, "deposits": [], "open": True}
    threading.Timer(1, receive, [order["id"], str(uuid.uuid4()), "100.00"]).start()


def receive(account_id: str, id_: str, src_amount: str) -> None:
    """What your bank tells: a payment has arrived at an account. It is a payment of its own, which is delivered or goes back."""
    with lock:
        account = known(accounts, account_id)
        if id_ in payments:
            return
        callback_url = account["order"]["callbackUrl"]
        order = {"id": id_, "onboardingId": account_id, "movement": {"srcAmount": src_amount}, "callbackUrl": callback_url}
        reason = return_reason(account["open"], Decimal(src_amount))
        refunds = [] if reason is None else [{"id": f"return-{id_}", "amount": src_amount, "reason": reason}]
        status = "REFUNDED" if reason else "PROCESSING"
        payments[id_] = {"order": order, "status": status, "refunds": refunds, "refused": set()}
        terms = {"returnReason": reason} if reason else {"price": price(src_amount)}
        account["deposits"].append({"id": id_, "srcCurrencyCode": "USD", "srcAmount": src_amount, **terms})
    tell(order)
    threading.Timer(1, succeed, [order, "PROCESSING"]).start()


def return_reason(is_open: bool, amount: Decimal) -> str | None:
    if not is_open:
        return "ACCOUNT_CLOSED"
    if amount < Decimal(LEAST):
        return "BELOW_MINIMUM"
    return "ABOVE_MAXIMUM" if amount > Decimal(MOST) else None


def close(id_: str) -> None:
    """A close can overtake its account, which is never opened then."""
    accounts.setdefault(id_, {"order": None, "deposits": []})["open"] = False


def succeed(order: dict, before: str) -> None:
    with lock:
        payment = payments[order["id"]]
        if payment["status"] != before:
            return
        paid = price(order["movement"]["srcAmount"])
        payment["status"], payment["receipt"] = "SUCCESS", {"amountReceived": paid.pop("destAmount"), **paid}
    tell(order)


def tell(order: dict) -> None:
    """Tells the ramp, which then looks the order up; without callbacks it looks less often."""
    body = json.dumps({"type": "execution.updated", "onboardingId": order["onboardingId"]})
    id_, seconds = str(uuid.uuid4()), str(int(time.time()))
    mac = hmac.new(CALLBACK_KEY, f"{id_}.{seconds}.{body}".encode(), "sha256").digest()
    signature = "v1," + base64.b64encode(mac).decode()
    headers = {"webhook-id": id_, "webhook-timestamp": seconds, "webhook-signature": signature}
    try:
        urllib.request.urlopen(urllib.request.Request(order["callbackUrl"], body.encode(), headers), timeout=10).close()
    except OSError:
        pass


def is_signed(request: BaseHTTPRequestHandler, text: bytes) -> bool:
    """A signature covers time, method, path, idempotency key and body; five minutes old it counts no longer."""
    seconds, key = request.headers.get("x-provider-timestamp", ""), request.headers.get("idempotency-key", "")
    lines = "\n".join([seconds, request.command, request.path, key, hashlib.sha256(text).hexdigest()])
    expected = "v1=" + hmac.new(SECRET, lines.encode(), "sha256").hexdigest()
    is_recent = seconds.isdigit() and abs(time.time() - int(seconds)) <= 300
    is_equal = hmac.compare_digest(expected.encode(), request.headers.get("x-provider-signature", "").encode())
    return is_recent and is_equal and request.headers.get("x-provider-key-id") == KEY_ID


def answer(request: BaseHTTPRequestHandler, text: bytes) -> dict:
    if not is_signed(request, text):
        raise Refused(401, "UNAUTHORIZED", "The signature is wrong.")
    body = json.loads(text) if text else None
    path, _, query = request.path.partition("?")
    resource, id_, action, code = (path[1:].split("/") + ["", "", ""])[:4]
    match (request.command, resource, id_ != "", action):
        case ("GET", "capabilities", False, ""):
            return CAPABILITIES
        case ("POST", "quotes", False, ""):
            return quote(body)
        case ("POST", "onboardings", False, ""):
            onboard(body)
            return onboarding_of(body["id"])
        case ("GET", "onboardings", True, ""):
            return onboarding_of(id_)
        case ("POST", "onboardings", True, "requirements"):
            submit(id_, code)
            return onboarding_of(id_)
        case ("POST", "executions", False, ""):
            pay(body)
            return payment_of(body["id"])
        case ("GET", "executions", True, ""):
            return payment_of(id_)
        case ("POST", "executions", True, "cancel"):
            cancel(id_)
            return payment_of(id_)
        case ("POST", "executions", True, "refunds"):
            refund(id_, body)
            return payment_of(id_)
        case ("POST", "deposit-accounts", False, ""):
            open_account(body)
            return account_of(body["id"])
        case ("GET", "deposit-accounts", True, ""):
            return account_of(id_, dict(parse_qsl(query)).get("after", ""))
        case ("POST", "deposit-accounts", True, "close"):
            close(id_)
            return account_of(id_)
    raise Refused(404, "NOT_FOUND", "There is no such path.")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            with lock:
                status, body = 200, answer(self, text)
        except Refused as refused:
            status, body = refused.status, refused.body
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8090"))), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
