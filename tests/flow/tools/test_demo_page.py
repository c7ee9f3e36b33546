"""The project that `make run` creates, on its page in a browser: charts, a list, and live changes as they are committed."""
import json
import subprocess

import pytest
from groundwork.chromium import Chromium
from groundwork.client import Client
from groundwork.servers import ROOT

PAGE = """(async (email, password) => {
  const shown = (id) => document.getElementById(id);
  window.shop = {
    until: async (wanted) => {
      for (const end = Date.now() + 120000; !wanted() && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    changes: () => [...document.querySelectorAll("#changes li")].map((line) => line.textContent),
    first: () => document.querySelector("#board li").textContent,
  };
  shown("email").value = email;
  shown("password").value = password;
  shown("sign").requestSubmit();
  await shop.until(() => shown("state").textContent === "connected" || shown("problem").textContent);
  return { problem: shown("problem").textContent, first: shop.first(), pictures: [...document.querySelectorAll("#board img")].map((one) => one.naturalWidth) };
})(%s, %s)"""
ADD = """(async () => {
  document.getElementById("title").value = "Kindred <b>";
  document.getElementById("price").value = "99.5";
  document.getElementById("add").requestSubmit();
  await shop.until(() => shop.changes().length === 2 && shop.first().startsWith("Kindred"));
  return [document.getElementById("problem").textContent, shop.first(), ...shop.changes()];
})()"""


@pytest.fixture
def demo(gateway, operator, servers, tmp_path):
    """The values that scripts/demo writes, and the page's address."""
    shop = subprocess.Popen(["/usr/bin/python3", ROOT / "tests/shop"], stdout=subprocess.PIPE, text=True)
    page = shop.stdout.readline().strip()
    made = [ROOT / "scripts/demo", f"{gateway.url}/org", servers.operator_token, tmp_path, "--shop", page]
    for _ in range(2):  # the second time as when `make run` is run again
        subprocess.run(made, check=True, timeout=120)
    lines = (tmp_path / "demo.env").read_text().splitlines()
    yield dict(line.replace("'", "").split("=", 1) for line in lines), page
    shop.terminate()
    assert shop.wait(60) == 0
    shop.stdout.close()
    operator.delete("/demo?confirm=demo", expect=204)


@pytest.mark.skipif(not Chromium.path(), reason="Chromium is not installed")
def test_the_page_of_the_demo(demo, gateway, recorder):
    values, page = demo
    base = f"{gateway.url}/org/demo"
    user = Client(base, recorder=recorder)
    user.token = user.post("/auth/v1/token", {"email": values["USER_EMAIL"], "password": values["USER_PASSWORD"]}, expect=200).json()["access_token"]
    chromium = Chromium()
    try:
        session = chromium.page(f"{page}/?base={base}")
        shown = chromium.run(session, PAGE % (json.dumps(values["USER_EMAIL"]), json.dumps(values["USER_PASSWORD"])))
        assert shown["problem"] == "" and shown["first"] == "If on a winter's night a traveler · 16.4"
        assert len(shown["pictures"]) == 3 and all(shown["pictures"])
        user.put("/entities/books/items/1", {"price": 20}, expect=200)
        told = chromium.run(session, ADD)
        assert told == ["", "Kindred <b> · 99.5", "createdKindred <b> · 99.5", "updatedThe Dispossessed · 20"]
    finally:
        chromium.close()
