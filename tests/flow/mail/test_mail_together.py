"""Concurrent requests about mails and links: a link that may be used once is used once."""
import concurrent.futures
import threading

from groundwork.project import PASSWORD
from test_mail_flows import address, sign_in, verify

FOLD = 8


def call_together(act, *arguments):
    """Calls `act` from eight threads at once. The n-th call receives the n-th item of each argument. Returns the results."""
    barrier = threading.Barrier(FOLD)

    def one(n):
        barrier.wait()
        return act(*(list_[n % len(list_)] for list_ in arguments))

    with concurrent.futures.ThreadPoolExecutor(FOLD) as pool:
        return list(pool.map(one, range(FOLD)))


def test_a_link_opens_once(site, mailbox):
    email = site.user(email=address("once")).user["email"]
    site.client().post("/auth/v1/magic-link", {"email": email}, expect=202)
    link = mailbox.token(email)
    statuses = call_together(lambda one: verify(site, one, expect=None).status_code, [link])
    assert sorted(statuses) == [200] + [401] * (FOLD - 1)


def test_of_two_invitations_one_sets_the_password(site, mailbox):
    email = address("invited")
    user = site.admin.post("/users", {"email": email, "send_invite": True}, expect=201).json()
    first = mailbox.token(email)
    site.admin.post(f"/users/{user['id']}/send-invite", expect=202)
    second = mailbox.token(email, 2)
    passwords = ["first correct horse", "second correct horse"]
    statuses = call_together(lambda link, password: verify(site, link, expect=None, password=password).status_code, [first, second], passwords)
    assert statuses.count(200) == 1 and set(statuses) <= {200, 401}, statuses
    won = passwords[statuses.index(200) % 2]
    for password in passwords:
        sign_in(site, email, password, expect=200 if password == won else 401)


def test_both_addresses_confirm_at_once(site, mailbox):
    user = site.user(email=address("old"))
    old, new = user.user["email"], address("new")
    user.post("/auth/v1/email-change", {"email": new, "password": PASSWORD}, expect=202)
    links = [mailbox.token(old), mailbox.token(new)]
    answers = call_together(lambda link: site.client().post("/auth/v1/email-change/confirm", {"token": link[1]}), links)
    assert sorted(answer.status_code for answer in answers) == [200, 200] + [401] * (FOLD - 2)
    assert sorted(answer.json()["status"] for answer in answers if answer.status_code == 200) == ["changed", "waiting"]
    sign_in(site, new, PASSWORD)


def test_two_want_one_address(site, mailbox):
    """Two users have confirmed their change to one address except for the last step: one user has the address, the other is refused."""
    new = address("wanted")
    users = [site.user(email=address("a")), site.user(email=address("b"))]
    links = []
    for count, user in enumerate(users):
        user.post("/auth/v1/email-change", {"email": new, "password": PASSWORD}, expect=202)
        site.client().post("/auth/v1/email-change/confirm", {"token": mailbox.token(user.user["email"])[1]}, expect=200)
        links.append(mailbox.token(new, count + 1))
    answers = call_together(lambda link: site.client().post("/auth/v1/email-change/confirm", {"token": link[1]}).status_code, links)
    assert answers.count(200) == 1 and set(answers) <= {200, 401, 409}, answers


def test_asked_for_at_once_within_the_limit(site, mailbox):
    email = site.user(email=address("often")).user["email"]
    statuses = call_together(lambda path: site.client().post(path, {"email": email}).status_code, ["/auth/v1/recover", "/auth/v1/magic-link"])
    assert statuses.count(202) == 3 and statuses.count(429) == FOLD - 3
    assert len(mailbox.wait(email, 3)) == 3


def test_changes_of_address_at_once_leave_one(site, mailbox, servers):
    user = site.user(email=address("wavering"))
    wanted = [address("other") for _ in range(FOLD)]
    statuses = call_together(lambda new: user.post("/auth/v1/email-change", {"email": new, "password": PASSWORD}).status_code, wanted)
    assert set(statuses) <= {202, 429} and 202 in statuses
    with servers.connect() as db, db.cursor() as cursor:
        schema = site.schema(db)
        cursor.execute(f"select new_email from {schema}.email_changes where user_id = %s", (user.user["id"],))
        (new,), = cursor.fetchall()
    site.client().post("/auth/v1/email-change/confirm", {"token": mailbox.token(new)[1]}, expect=200)
    tokens = [mailbox.token(one) for one in wanted if one != new and mailbox.messages_to(one)]
    for link in tokens:
        site.client().post("/auth/v1/email-change/confirm", {"token": link[1]}, expect=401)
