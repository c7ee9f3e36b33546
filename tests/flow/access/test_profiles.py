"""/user-profiles: how users want to be shown and addressed."""
import pytest


def test_a_profile_is_there_before_it_was_written(project):
    user = project.user()
    path = f"/user-profiles/{user.user['id']}"
    empty = project.admin.get(path, expect=200).json()
    assert empty["user_id"] == user.user["id"] and empty["display_name"] is None and empty["preferences"] == {}
    changed = project.admin.put(path, {"display_name": "Ada", "locale": "en-GB", "timezone": "Europe/London",
                                       "preferences": {"theme": "dark"}}, expect=200).json()
    assert changed["display_name"] == "Ada" and changed["preferences"] == {"theme": "dark"}
    merged = project.admin.patch(path, {"display_name": None}, expect=200).json()
    assert merged["display_name"] is None and merged["locale"] == "en-GB"
    assert project.admin.put(path, {"avatar_file_id": None, "preferences": None}, expect=200).json()["preferences"] == {}
    assert project.admin.get("/user-profiles", expect=200).json()["total_items"] >= 1


@pytest.mark.parametrize("path", ["/user-profiles/424242", "/user-profiles/0", "/user-profiles/x"])
def test_no_such_user(shared_project, path):
    shared_project.admin.get(path, expect=404)
    shared_project.admin.put(path, {"display_name": "x"}, expect=404)


@pytest.mark.parametrize("body", [{"display_name": "x" * 201}, {"display_name": 1}, {"avatar_file_id": 0},
                                  {"avatar_file_id": "1"}, {"preferences": []}, {"user_id": 2}, {"id": 2},
                                  {"created_at": "2024-01-01T00:00:00Z"}, {"nope": 1}])
def test_bad_bodies(shared_project, body):
    shared_project.admin.put(f"/user-profiles/{shared_project.admin.user['id']}", body, expect=400)


def test_permissions(project):
    reader = project.user_with("svc_user_profiles:read")
    path = f"/user-profiles/{project.admin.user['id']}"
    reader.get(path, expect=200)
    reader.put(path, {"display_name": "mine"}, expect=403)
    project.user().get(path, expect=403)


def test_a_user_needs_no_permission_for_its_own_profile(project):
    user = project.user()
    path = f"/user-profiles/{user.user['id']}"
    assert user.get(path, expect=200).json()["user_id"] == user.user["id"]
    assert user.put(path, {"display_name": "Ada"}, expect=200).json()["display_name"] == "Ada"
    user.get("/user-profiles", expect=403)
    for other in (f"/user-profiles/{project.admin.user['id']}", "/user-profiles/424242", f"{path}0"):
        user.get(other, expect=403)
        user.put(other, {"display_name": "x"}, expect=403)
    explained = user.get("/permissions/explain", params={"method": "PUT", "path": path}, expect=200).json()
    assert explained["allowed"] is True
    maker = project.user_with("svc_api_keys:create", "svc_files:read")
    key = project.key(["svc_files:read"], client=maker)
    own = f"/user-profiles/{maker.user['id']}"
    assert key.get(own, expect=403).json()["detail"] == "This needs the permission svc_user_profiles:read."
    maker.get(own, expect=200)


def send_file(client, name="face.png"):
    return client.post("/files", files={"file": (name, b"a face", "image/png")}, expect=201).json()["id"]


def test_an_avatar_is_a_file_that_the_caller_reads(project):
    user, other = project.user(), project.user()
    path = f"/user-profiles/{user.user['id']}"
    own, foreign = send_file(user), send_file(other)
    for wrong in (999999, foreign):
        refused = user.put(path, {"avatar_file_id": wrong}, expect=400).json()
        assert [(error["field"], error["code"]) for error in refused["errors"]] == [("avatar_file_id", "not_found")]
    assert user.put(path, {"avatar_file_id": own}, expect=200).json()["avatar_file_id"] == own
    assert project.admin.put(path, {"avatar_file_id": foreign}, expect=200).json()["avatar_file_id"] == foreign
    assert user.put(path, {"avatar_file_id": foreign, "locale": "en"}, expect=200).json()["avatar_file_id"] == foreign
    other.delete(f"/files/{foreign}", expect=204)
    assert user.get(path, expect=200).json()["avatar_file_id"] is None
    assert user.put(path, {"avatar_file_id": None}, expect=200).json()["avatar_file_id"] is None
    blind = project.user_with("svc_user_profiles:update")
    blind.put(f"/user-profiles/{blind.user['id']}", {"avatar_file_id": own}, expect=400)


def test_locales_and_time_zones(project):
    path = f"/user-profiles/{project.admin.user['id']}"
    for tag in ("en", "en-GB", "zh-Hant-TW", "zh-cmn-Hans-CN", "de-CH-1996", "sl-rozaj-biske", "es-419", "x-whatever",
                "en-u-ca-gregory", "en-a-bbb-x-a-ccc", "de-DE-u-co-phonebk-x-1", "EN-gb", None):
        assert project.admin.put(path, {"locale": tag}, expect=200).json()["locale"] == tag
    for tag in ("", "e", "en_GB", "en-", "-en", "en--GB", "en-GB-GB", "en-u", "x", "x-", "en-x",
                "1en", "en-a-b", "deutschland", "en GB", "en-\u00e4"):
        error = project.admin.put(path, {"locale": tag}, expect=400).json()["errors"][0]
        assert error["field"] == "locale", tag
    for zone in ("Europe/London", "UTC", "America/Argentina/Buenos_Aires", None):
        assert project.admin.put(path, {"timezone": zone}, expect=200).json()["timezone"] == zone
    for zone in ("", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "GMT+25", "Europe/London/"):
        error = project.admin.put(path, {"timezone": zone}, expect=400).json()["errors"][0]
        assert error["field"] == "timezone", zone
