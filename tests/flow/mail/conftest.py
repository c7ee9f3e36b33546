import pytest
from groundwork.mail import Mailbox

PAGE = "https://app.example.com/welcome"


@pytest.fixture(scope="module")
def mailbox():
    own = Mailbox()
    yield own
    own.close()


@pytest.fixture(scope="module")
def mailer(start_runner, mailbox):
    """A runner that sends to the mailbox, and whose timeout is long enough for a busy machine."""
    return start_runner(SMTP_URL=mailbox.url, MAIL_FROM="Service <service@example.org>", MAIL_RETRY_MS=200, MAIL_TIMEOUT_MS=600000)


@pytest.fixture
def site(project, mailer):
    """A project that has a page for the links in its mails."""
    project.admin.put("/", {"settings": {"auth_page_url": PAGE, "rate_sign_in_account": 1000, "rate_sign_in_address": 1000}}, expect=200)
    return project
