"""Pictures of charts: drawn for callers that may read the data, with any text in the records."""
import concurrent.futures
import io
import xml.etree.ElementTree

import pytest
from PIL import Image

TITLES = ["<script>alert(1)</script>", "\u202egnp.exe", "a\nb\tc", "\U0001f600 " * 30, "x" * 5000, "]]>&amp;\"'", "Zürich 東京 عربى", ""]
KINDS = {
    "metric": {"group_by": []}, "bar": {"group_by": [{"field": "day", "bucket": "month"}, {"field": "title"}]},
    "line": {"group_by": [{"field": "day", "bucket": "week"}]}, "area": {"group_by": [{"field": "day", "bucket": "day"}]},
    "pie": {"group_by": [{"field": "title"}]},
    "table": {"group_by": [{"field": "title"}, {"field": "day"}]},
}


@pytest.fixture(scope="module")
def gallery(shared_project):
    project = shared_project
    project.admin.put("/", {"settings": {f"rate_{name}": 1000000 for name in ("read", "write", "heavy")}}, expect=200)
    project.entity("notes", [{"name": "title", "type": "text"}, {"name": "size", "type": "float"}, {"name": "day", "type": "date"}])
    for n, title in enumerate(TITLES):
        project.item("notes", title=title, size=(-3, 1e9, 0.001, 7)[n % 4], day=f"2026-0{n + 1}-13")
    project.charts = {}
    for kind, body in KINDS.items():
        made = project.admin.post("/charts", {
            "name": f"{kind} {TITLES[0]}", "kind": kind, "entity": "notes", "aggregates": [{"function": "sum", "field": "size"}],
            "period": {"field": "day", "unit": "year", "until": "2026-06-01T00:00:00Z"}, "compare": kind in ("metric", "line"), **body},
            expect=201).json()
        project.charts[kind] = f"/charts/{made['id']}"
    return project


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_drawn(gallery, kind):
    path = gallery.charts[kind]
    colours = set()
    for theme in ("light", "dark"):
        png = gallery.admin.get(f"{path}/image.png?theme={theme}&width=400&height=300", expect=200)
        assert png.headers["Content-Type"] == "image/png" and "sandbox" in png.headers["Content-Security-Policy"]
        picture = Image.open(io.BytesIO(png.content)).convert("RGB")
        assert picture.size == (400, 300) and len(picture.getcolors(400 * 300)) > 5
        colours.add(picture.getpixel((1, 1)))
        svg = gallery.admin.get(f"{path}/image.svg?theme={theme}", expect=200)
        assert svg.headers["Content-Type"] == "image/svg+xml"
        root = xml.etree.ElementTree.fromstring(svg.content)
        assert root.attrib["width"].startswith("800") and root.attrib["height"].startswith("450")
        tags = {element.tag.rsplit("}", 1)[1] for element in root.iter()}
        assert tags <= {"svg", "defs", "g", "symbol", "use", "path", "rect", "clipPath"}, tags
        links = [value for element in root.iter() for name, value in element.attrib.items() if name.endswith("href")]
        assert all(link.startswith("#") for link in links) and b"script" not in svg.content and b"alert" not in svg.content
    assert colours == {(255, 255, 255), (0x14, 0x18, 0x1D)}


def test_rights_are_those_of_the_data(gallery):
    stranger, clerk = gallery.user(), gallery.user(permissions=["notes:read"])
    for name in ("image.svg", "image.png"):
        stranger.get(f"{gallery.charts['bar']}/{name}", expect=403)
        everything = gallery.admin.get(f"{gallery.charts['bar']}/{name}", expect=200).content
        nothing = clerk.get(f"{gallery.charts['bar']}/{name}", expect=200).content
        assert nothing != everything and len(nothing) < len(everything)
        gallery.admin.get(f"/charts/424242/{name}", expect=404)
        for wrong in ("theme=pink", "width=99", "height=1601", "width=x", "colour=red"):
            gallery.admin.get(f"{gallery.charts['bar']}/{name}?{wrong}", expect=400)


def test_many_at_once_wait_for_each_other(gallery):
    def draw(n):
        kind = list(KINDS)[n % len(KINDS)]
        return gallery.admin.get(f"{gallery.charts[kind]}/image.png?width=1600&height=1200").status_code

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert set(pool.map(draw, range(24))) == {200}
