"""The assistant: its settings and conversations, and how answers are created, followed, cancelled and counted."""
import http.client
import json
import pathlib
import select
import shutil
import socket
import subprocess
import threading

import pytest
from assistant import ask_and_read, ask, begin, complete, client_at, events, stored_message, disconnect, lines
from groundwork.chaos import kill
from groundwork.deadline import at_most, until
from groundwork.model_server import KEY, MODELS
from groundwork.records import execute, rows
from groundwork.soon import PROMISE, SLACK

# --- settings ---

def test_the_key_is_never_shown_and_goes_to_no_other_host(ai_project, model, db):
    shown = ai_project.admin.get("/ai/config", expect=200)
    assert shown.json()["api_key"] == "********" and shown.json()["endpoint"] == model.url and KEY not in shown.text
    schema = ai_project.schema(db)
    stored = rows(db, f"select doc::text, encode(sealed, 'escape') from {schema}.settings where kind = 'ai' and key = 'config'")
    assert len(stored) == 1 and stored[0][1] and KEY not in str(stored)
    assert KEY not in str(rows(db, f"select detail::text from {schema}.audit_log where action = 'ai_config.update'"))
    refused = ai_project.admin.put("/ai/config", {"endpoint": "http://127.0.0.1:1/v1"}, expect=400).json()
    assert refused["errors"][0]["field"] == "api_key"
    ai_project.admin.put("/ai/config", {"endpoint": f"{model.url}/other/", "api_key": "********"}, expect=200)
    changed = ai_project.admin.put("/ai/config", {"endpoint": model.url, "models": None}, expect=200).json()
    assert changed["models"] == [] and changed["user_daily_tokens"] == 200000
    ai_project.admin.put("/ai/config", {"stall_seconds": 9}, headers={"If-Match": '"old"'}, expect=412)


@pytest.mark.parametrize("body, field", [
    ({"endpoint": "ftp://x.example"}, "endpoint"), ({"endpoint": "https://u:p@x.example/v1"}, "endpoint"),
    ({"endpoint": "https://x.example/v1?a=1"}, "endpoint"), ({"stall_seconds": 0}, "stall_seconds"),
    ({"max_output_tokens": 0}, "max_output_tokens"), ({"models": [""]}, "models"), ({"colour": 1}, "colour")])
def test_settings_that_are_refused(ai_project, body, field):
    refused = ai_project.admin.put("/ai/config", body, expect=400).json()
    assert field in [error["field"] for error in refused["errors"]]


def test_without_an_endpoint_there_is_no_assistant(shared_project):
    client = shared_project.admin
    assert client.get("/ai/config", expect=200).json()["endpoint"] is None
    refused = client.put("/ai/config", {"api_key": "********"}, expect=400).json()
    assert refused["errors"][0]["field"] == "api_key"
    conversation = begin(client)
    client.post(f"/ai/conversations/{conversation}/messages", {"content": "x"}, expect=409)
    client.post("/ai/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, expect=409)
    client.get("/ai/models", expect=409)
    client.put("/ai/config", {"endpoint": "http://127.0.0.1:9/v1", "default_model": "m"}, expect=200)
    client.get("/ai/models", expect=502)
    client.post("/ai/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, expect=502)
    assert ask_and_read(client, "hello", conversation)[1]["code"] == "unreachable", "a refused address should look like a closed port"


def test_models_are_asked_for_once_and_may_be_fewer(ai_project, ann, model):
    ai_project.admin.put("/ai/config", {"models": ["small", "large"]}, expect=200)
    assert ann.get("/ai/models", expect=200).json()["items"] == [
        {"id": "small", "is_default": True}, {"id": "large", "is_default": False}]
    asked = model.lists
    for _ in range(4):
        ann.get("/ai/models", expect=200)
    assert model.lists <= asked + 1, "more than one request for each worker"
    _, refused = ask(ann, "say x", model="secret", expect=400)
    assert refused.json()["errors"][0]["field"] == "model"
    ai_project.admin.put("/ai/config", {"models": None}, expect=200)
    assert [each["id"] for each in ann.get("/ai/models", expect=200).json()["items"]] == MODELS


# --- conversations ---

def test_conversations_are_their_users_alone(ai_project, ann):
    made = ann.post("/ai/conversations", {"title": "Sea", "model": "large"}, expect=201)
    path = f"/ai/conversations/{made.json()['id']}"
    assert made.headers["Location"].endswith(path)
    _, message = ask_and_read(ann, "say a", made.json()["id"])
    assert message["model"] == "large"
    for other in (ai_project.admin, ai_project.user()):
        for answer in (other.get(path), other.put(path, {"title": "x"}), other.delete(path), other.get(f"{path}/messages"),
                       other.post(f"{path}/messages", {"content": "x"}), other.get(f"{path}/messages/{message['id']}"),
                       other.get(f"{path}/messages/{message['id']}/events"), other.post(f"{path}/messages/{message['id']}/cancel")):
            assert answer.status_code == 404, answer.url
        assert other.get("/ai/conversations", expect=200).json()["total_items"] == 0
    shown = ann.get(path, expect=200)
    ann.get(path, headers={"If-None-Match": shown.headers["ETag"]}, expect=304)
    assert shown.json()["message_count"] == 2 and shown.json()["title"] == "Sea"
    assert ann.put(path, {"title": None}, expect=200).json()["title"] is None
    assert [each["role"] for each in ann.get(f"{path}/messages", expect=200).json()["items"]] == ["user", "assistant"]
    assert ann.get("/ai/conversations", expect=200).json()["items"][0]["id"] == made.json()["id"]
    ann.post(f"{path}/messages/{message['id']}/cancel", expect=409)
    ann.delete(path, expect=204)
    ann.get(path, expect=404)


def test_an_answer_is_streamed_and_kept_whole(ann, model):
    conversation = begin(ann)
    text, message = ask_and_read(ann, "say Café au lait, naïvely 😀", conversation)
    assert text == "Café au lait, naïvely 😀" == message["content"] and message == stored_message(ann, message)
    assert (message["status"], message["finish_reason"], message["prompt_tokens"], message["completion_tokens"]) == ("complete", "stop", 20, 5)
    body, headers = model.requests[-1]
    assert headers["authorization"] == f"Bearer {KEY}" and body["model"] == "small" and body["max_tokens"] == 4096
    assert ann.get(f"/ai/conversations/{conversation}", expect=200).json()["title"] == "say Café au lait, naïvely 😀"
    assert ask_and_read(ann, "crlf a b", conversation)[0] == "a b"
    text, message = ask_and_read(ann, "renamed name", conversation)
    assert (text, message["model"]) == ("rename", "small"), "the message should name the requested model"


def test_the_model_is_told_the_conversation_behind_the_systems_word(ai_project, ann):
    ai_project.admin.put("/ai/config", {"system_prompt": "Be brief."}, expect=200)
    conversation = begin(ann)
    ask_and_read(ann, "say one", conversation)
    text, _ = ask_and_read(ann, "told", conversation)
    assert [(each["role"], each["content"]) for each in json.loads(text)] == [
        ("system", "Be brief."), ("user", "say one"), ("assistant", "one"), ("user", "told")]
    ai_project.admin.put("/ai/config", {"system_prompt": None}, expect=200)


@pytest.mark.parametrize("content, code, text", [
    ("break", "unreachable", "Half"), ("garbage", "provider_error", ""), ("failed", "provider_error", ""),
    ("endless", "provider_error", None), ("status 500", "provider_error", ""), ("status 429", "rate_limited", ""),
    ("comments", "provider_error", ""), ("huge", "provider_error", ""), ("many", "provider_error", ""), ("long", "provider_error", ""),
    ("latin", "provider_error", ""), ("surrogate", "provider_error", ""), ("whole", "unreachable", ""), ("redirect", "provider_error", "")])
def test_servers_that_break_off(ann, model, content, code, text):
    before = len(model.requests)
    told, message = ask_and_read(ann, content)
    assert (message["status"], message["code"]) == ("interrupted", code) and KEY not in json.dumps(message)
    if text is not None:
        assert told == text == message["content"]
    assert len(message["content"]) <= 256 * 1024 and len(model.requests) == before + 1, "the request was repeated, or sent to another server"


def test_a_server_that_stalls_is_left(ai_project, ann, model):
    ai_project.admin.put("/ai/config", {"stall_seconds": 5}, expect=200)
    left = model.left
    text, message = ask_and_read(ann, "stall")
    assert text == "Half" == message["content"] and (message["status"], message["code"]) == ("interrupted", "timeout")
    until(lambda: model.left > left)
    ai_project.admin.put("/ai/config", {"stall_seconds": None}, expect=200)


def test_one_answer_at_a_time(ann, model):
    conversation, response = ask(ann, "stall")
    stream = events(response)
    started = next(stream)[1]
    path = f"/ai/conversations/{conversation}/messages"
    refused = [None] * 8
    def one(n):
        refused[n] = ann.post(path, {"content": "say x"}).status_code
    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert set(refused) <= {409, 429} and 409 in refused, "unexpected statuses, or no conflict"
    assert stored_message(ann, {"conversation_id": conversation, "id": started["message_id"]})["status"] == "streaming"
    model.released.set()
    assert [kind for kind, _, _ in stream][-1] == "done"
    assert ann.get(path, expect=200).json()["items"][-1]["content"] == "Half whole"


def test_the_server_is_left_when_the_client_goes(ann, model):
    conversation, response = ask(ann, "stall")
    message = {"conversation_id": conversation, "id": next(events(response))[1]["message_id"]}
    left = model.left
    disconnect(response)
    until(lambda: model.left > left)
    found = until(lambda: (now := stored_message(ann, message))["status"] != "streaming" and now)
    assert (found["status"], found["content"], found["code"]) == ("cancelled", "Half", None)
    replay = list(events(ann.get(f"/ai/conversations/{conversation}/messages/{message['id']}/events", stream=True, expect=200)))
    assert [kind for kind, _, _ in replay] == ["delta", "done"] and replay[0][1] == {"text": "Half"}


def test_it_is_cancelled_and_deleted_from_elsewhere(ann, model):
    conversation, response = ask(ann, "stall")
    stream = events(response)
    path = f"/ai/conversations/{conversation}"
    ann.post(f"{path}/messages/{next(stream)[1]['message_id']}/cancel", expect=202)
    assert list(stream)[-1][1]["status"] == "cancelled"
    left = model.left
    conversation, response = ask(ann, "stall")
    ann.delete(f"/ai/conversations/{conversation}", expect=204)
    until(lambda: model.left > left)
    response.close()


def test_a_client_comes_back_through_another_gateway(ann, model, other_ai_gateway):
    """A client resumes through another gateway: no text is repeated or lost, and the gateways call the model server once."""
    words = " ".join(f"wörd{n}" for n in range(40))
    before = len(model.requests)
    conversation, response = ask(ann, f"slow {words}")
    stream, text = events(response), ""
    message = next(stream)[1]["message_id"]
    while len(text) < 30:
        _, data, seen = next(stream)
        text += data["text"]
    assert seen == len(text)
    disconnect(response)
    again = client_at(ann, other_ai_gateway)
    path = f"/ai/conversations/{conversation}/messages/{message}/events"
    for kind, data, seen in events(again.get(path, headers={"Last-Event-ID": str(seen)}, stream=True, expect=200)):
        text += data["text"] if kind == "delta" else ""
    assert (kind, data["status"], data["content"]) == ("done", "complete", words) and text == words
    assert len(model.requests) == before + 1
    again.head(path, expect=200)


@pytest.mark.timed
@pytest.mark.parametrize("how, code", [("signed out", "unauthorized"), ("suspended", "unauthorized"), ("permission", "forbidden")])
def test_rights_that_go_end_what_is_heard(ai_project, model, how, code):
    """X9: when rights end, the streams of the asking client, of its followers and of OpenAI's protocol end within about a
    second."""
    role = ai_project.role(permissions=["svc_ai_chat:create", "svc_ai_chat:read"])
    user = ai_project.user(role_ids=[role["id"]])
    conversation, response = ask(user, "stall")
    stream = events(response)
    path = f"/ai/conversations/{conversation}/messages/{next(stream)[1]['message_id']}/events"
    followed = [events(user.get(path, stream=True, expect=200)) for _ in range(3)]
    assert [next(each)[1] for each in followed] == [{"text": "Half"}] * 3
    passed, left = complete(user, "stall", stream=True), model.left
    with at_most(PROMISE + SLACK + 1, "the end of the streams"):
        if how == "signed out":
            user.post("/auth/v1/logout", expect=204)
        elif how == "suspended":
            ai_project.admin.put(f"/users/{user.user['id']}", {"status": "suspended"}, expect=200)
        else:
            ai_project.admin.put(f"/roles/{role['id']}", {"permissions": ["svc_ai_config:read"]}, expect=200)
        for each in (stream, *followed):
            assert list(each)[-1][:2] == ("end", {"code": code})
        assert "[DONE]" not in lines(passed)
    until(lambda: model.left > left)


def test_a_key_that_is_deleted_is_heard_no_more(ai_project, model):
    key, left = ai_project.key(["svc_ai_chat:create"]), model.left
    passed = complete(key, "stall", stream=True)
    ai_project.admin.delete(f"/api-keys/{key.info['id']}", expect=204)
    assert "[DONE]" not in lines(passed)
    until(lambda: model.left > left)


def test_many_follow_one_answer_each_from_where_it_was(ann, model):
    conversation, response = ask(ann, "slow " + " ".join(f"wörd{n}" for n in range(40)))
    message = next(events(response))[1]["message_id"]
    path = f"/ai/conversations/{conversation}/messages/{message}/events"
    streams = [events(ann.get(path, headers={"Last-Event-ID": str(n)}, stream=True, expect=200)) for n in range(8)]
    found = [list(each) for each in streams]
    whole = found[0][-1][1]["content"]
    for n, each in enumerate(found):
        assert each[-1][0] == "done" and "".join(data["text"] for kind, data, _ in each if kind == "delta") == whole[n:]


def test_what_a_process_that_died_had_written_is_there(ai_project, ann, model, start_gateway, db):
    mortal = start_gateway("gateway-ai-mortal", WORKERS=1, FETCH_ALLOW=f"127.0.0.1:{model.port}")
    client = client_at(ann, mortal)
    conversation, response = ask(client, "stall")
    message = {"conversation_id": conversation, "id": next(events(response))[1]["message_id"]}
    until(lambda: stored_message(ann, message)["content"] == "Half")
    kill(mortal)
    execute(db, f"update {ai_project.schema(db)}.ai_messages set alive_until = now() where id = {message['id']}")  # as if the time had passed
    execute(db, f"update {ai_project.schema(db)}.ai_running set until = now()")
    assert (stored_message(ann, message)["status"], stored_message(ann, message)["code"]) == ("interrupted", "process_died")
    assert ask_and_read(ann, "say on", conversation)[0] == "on"


# --- limits ---

@pytest.mark.parametrize("content, prompt, answer", [("silent abcdefgh", None, 2), ("liar abcdefgh", None, 2), ("say a", 20, 5)])
def test_usage_is_counted_whatever_the_server_says(ai_project, content, prompt, answer):
    user = ai_project.user()
    _, message = ask_and_read(user, content)
    assert message["completion_tokens"] == answer
    assert message["prompt_tokens"] == prompt if prompt else 30 <= message["prompt_tokens"] <= 60
    used = ai_project.admin.get("/ai/usage", params={"user_id": user.user["id"], "since": "2020-01-31"}, expect=200).json()["items"]
    assert [(each["requests"], each["reserved_tokens"], each["prompt_tokens"], each["completion_tokens"]) for each in used] == [
        (1, 0, message["prompt_tokens"], answer)]
    ai_project.admin.get("/ai/usage", params={"since": "yesterday"}, expect=400)


def test_tokens_that_a_dead_process_reserved_come_back(ai_project, model, start_gateway, db):
    """Tokens reserved by a dead process are released exactly once. Other answers keep their reservations, and a process that
    is still alive does not release its tokens twice."""
    user, mortal = ai_project.user(), start_gateway("gateway-ai-reserving", WORKERS=1, FETCH_ALLOW=f"127.0.0.1:{model.port}")
    conversation, response = ask(client_at(user, mortal), "stall")
    message = {"conversation_id": conversation, "id": next(events(response))[1]["message_id"]}
    until(lambda: stored_message(user, message)["content"] == "Half")
    kill(mortal)
    used = lambda: ai_project.admin.get("/ai/usage", params={"user_id": user.user["id"]}, expect=200).json()["items"][0]
    assert used()["reserved_tokens"] > 0, "tokens were released while the process may still be alive"
    execute(db, f"update {ai_project.schema(db)}.ai_messages set alive_until = now() where id = {message['id']}")  # as if the time had passed
    execute(db, f"update {ai_project.schema(db)}.ai_running set until = now() where user_id = {user.user['id']}")
    ai_project.admin.put("/ai/config", {"user_daily_tokens": used()["reserved_tokens"]}, expect=200)
    _, said = ask_and_read(user, "say on", conversation)
    assert (used()["requests"], used()["reserved_tokens"], used()["completion_tokens"]) == (2, 0, said["completion_tokens"])
    ai_project.admin.put("/ai/config", {"user_daily_tokens": None}, expect=200)


def test_a_late_maker_gives_back_what_is_still_its_own(ai_project, model, db):
    user, schema = ai_project.user(), ai_project.schema(db)
    conversation, slow = ask(user, "stall")
    message = next(events(slow))[1]
    execute(db, f"update {schema}.ai_running set until = now() where user_id = {user.user['id']}")  # as if renewed too late
    ask_and_read(user, "say on")  # releases the tokens that the first answer reserved
    execute(db, f"update {schema}.ai_usage set reserved = 1000 where user_id = {user.user['id']}")  # as if by another answer
    slow.close()
    user.post(f"/ai/conversations/{conversation}/messages/{message['message_id']}/cancel", expect=202)
    until(lambda: rows(db, f"select * from {schema}.ai_running where user_id = {user.user['id']}") == [])
    assert rows(db, f"select reserved from {schema}.ai_usage where user_id = {user.user['id']}") == [(1000,)]


def test_days_tokens_are_used_up(ai_project):
    user = ai_project.user()
    ai_project.admin.put("/ai/config", {"user_daily_tokens": 10}, expect=200)
    ask_and_read(user, "say a")
    conversation, refused = ask(user, "say b", expect=429)
    assert int(refused.headers["Retry-After"]) > 0 and refused.json()["code"] == "rate_limited"
    assert user.get(f"/ai/conversations/{conversation}/messages", expect=200).json()["items"] == []
    user.post("/ai/v1/chat/completions", {"messages": [{"role": "user", "content": "say c"}]}, expect=429)
    ai_project.admin.put("/ai/config", {"user_daily_tokens": None, "project_daily_tokens": 10}, expect=200)
    ask(ai_project.user(), "say b", expect=429)
    ai_project.admin.put("/ai/config", {"project_daily_tokens": None}, expect=200)
    ask_and_read(user, "say b")


def test_answers_at_once_are_few_through_all_gateways(ai_project, model, other_ai_gateway):
    """Eight concurrent questions to two gateways: only the allowed number is answered, and each answer then releases its slot."""
    user, opened = ai_project.user(), []
    again = client_at(user, other_ai_gateway)
    ai_project.admin.put("/ai/config", {"user_answers": 2}, expect=200)
    conversations = [begin(user) for _ in range(8)]
    def one(n):
        opened.append(ask((user, again)[n % 2], "stall", conversations[n], expect=None)[1])
    threads = [threading.Thread(target=one, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(response.status_code for response in opened) == [200] * 2 + [429] * 6
    complete(again, "say x", expect=429)
    ai_project.admin.put("/ai/config", {"user_answers": None, "project_answers": 2}, expect=200)
    assert int(ask(ai_project.user(), "say x", expect=429)[1].headers["Retry-After"]) > 0
    ai_project.admin.put("/ai/config", {"project_answers": None}, expect=200)
    model.released.set()
    for response in opened:
        if response.status_code == 200:
            assert list(events(response))[-1][1]["content"] == "Half whole"
    for _ in range(6):
        ask_and_read(user, "say a")


def test_a_gateway_that_stops_keeps_and_settles_what_it_made(ai_project, ann, model, start_gateway, db):
    stopping = start_gateway("gateway-ai-stopping", WORKERS=1, FETCH_ALLOW=f"127.0.0.1:{model.port}", DRAIN_TIMEOUT_MS=300)
    user = ai_project.user()
    client = client_at(user, stopping)
    conversation, response = ask(client, "stall")
    message = next(events(response))[1]["message_id"]
    path = f"/ai/conversations/{conversation}/messages/{message}/events"
    followed, here = events(user.get(path, stream=True, expect=200)), events(client.get(path, stream=True, expect=200))
    assert next(followed)[1] == next(here)[1] == {"text": "Half"}
    complete(client, "stall", stream=True)
    stopping.stop(60)
    kind, found, _ = list(followed)[-1]
    assert (kind, found["status"], found["code"], found["content"]) == ("done", "interrupted", "service_draining", "Half")
    used = ai_project.admin.get("/ai/usage", params={"user_id": user.user["id"]}, expect=200).json()["items"]
    assert [(each["requests"], each["reserved_tokens"]) for each in used] == [(2, 0)]
    assert rows(db, f"select * from {ai_project.schema(db)}.ai_running where user_id = {user.user['id']}") == []


# --- OpenAI's protocol ---

def test_completions_pass_whole_and_streamed(ai_project, model):
    key = ai_project.key(["svc_ai_chat:create"])
    whole = complete(key, "say hello", temperature=0.5, max_tokens=10**9).json()
    assert whole["choices"][0]["message"]["content"] == "hello"
    body = model.requests[-1][0]
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0.5, 4096, "small")
    found = lines(complete(key, "say hello there", stream=True, model="large", max_completion_tokens=7))
    assert found[-1] == "[DONE]"
    chunks = [json.loads(each) for each in found[:-1]]
    assert "".join(each["choices"][0]["delta"].get("content", "") for each in chunks) == "hello there", "no chunk without choices"
    body = model.requests[-1][0]
    assert body["stream_options"] == {"include_usage": True} and body["max_completion_tokens"] == 7 and "max_tokens" not in body
    used = until(lambda: [each for each in ai_project.admin.get("/ai/usage", params={"user_id": ai_project.admin.user["id"]}, expect=200).json()["items"]
                         if each["model"] == "large" and not each["reserved_tokens"]])
    assert (used[0]["prompt_tokens"], used[0]["completion_tokens"]) == (20, 5)


def test_models_that_want_another_limit(ai_project, ann, model):
    """Each process finds out once for each model that it refuses max_tokens; the setting output_limit makes that unnecessary."""
    def asked():
        return [(body.get("max_tokens"), body.get("max_completion_tokens")) for body, _ in model.requests[before:]]

    before = len(model.requests)
    assert ask_and_read(ann, "modern hello", model="large")[0] == "hello"
    assert asked() == [(4096, None), (None, 4096)]
    for _ in range(4):
        assert ask_and_read(ann, "modern again", model="large")[0] == "again"
    assert len(asked()) <= 2 + 4 + 1, "more than one request for each worker"
    whole = complete(ann, "modern x", model="secret", max_tokens=7).json()
    assert whole["choices"][0]["message"]["content"] == "x" and asked()[-1] == (None, 7)
    before = len(model.requests)
    assert complete(ann, "modern x", model="large", max_tokens=7, max_completion_tokens=8, stream=True).status_code == 200
    assert asked()[-1] == (None, 8)
    shown = ai_project.admin.put("/ai/config", {"output_limit": "max_completion_tokens"}, expect=200).json()
    assert shown["output_limit"] == "max_completion_tokens"
    before = len(model.requests)
    assert ask_and_read(ann, "modern now")[0] == "now" and complete(ann, "modern now", max_tokens=7)
    assert asked() == [(None, 4096), (None, 7)]
    ai_project.admin.put("/ai/config", {"output_limit": "max_tokens"}, expect=200)
    before = len(model.requests)
    assert ask_and_read(ann, "modern no", model="large")[1]["code"] == "provider_error", "the setting output_limit was ignored"
    assert asked() == [(4096, None)]
    ai_project.admin.put("/ai/config", {"output_limit": None}, expect=200)
    ai_project.admin.put("/ai/config", {"output_limit": "tokens"}, expect=400)


def test_what_a_process_learns_of_a_model_ends_with_a_refusal(ann, other_ai_gateway, model):
    """A refusal for another reason changes nothing, even if its text names the member."""
    def limits(content, expect=200):
        before = len(model.requests)
        complete(there, content, expect=expect, model="fickle")
        return ["max_tokens" in body for body, _ in model.requests[before:]]

    there = client_at(ann, other_ai_gateway)
    assert limits("status 400 max_completion_tokens", 400) == [True, False]
    assert limits("say x") == [True]
    assert limits("modern x") == [True, False] and limits("say x") == [False]
    assert limits("status 429", 429) == [False] and limits("say x") == [False]
    assert limits("status 400", 400) == [False] and limits("say x") == [True]


def test_servers_that_know_no_options_of_streams(ann, model):
    before = len(model.requests)
    text, message = ask_and_read(ann, "plain hello")
    assert text == "hello" and message["status"] == "complete"
    assert "".join(json.loads(line)["choices"][0]["delta"].get("content") or ""
                   for line in lines(complete(ann, "plain x", stream=True))[:-1]) == "x"
    assert 3 <= len(model.requests) - before <= 4, "more than one request for each worker"


def test_content_in_parts_and_streams_that_end_early(ann):
    assert ask_and_read(ann, "parts of it")[0] == "of it."
    streamed = [json.loads(line)["choices"][0]["delta"].get("content") for line in lines(complete(ann, "parts of it", stream=True))[:-1]]
    assert "".join(text or "" for text in streamed) == "of it."
    assert ask_and_read(ann, "open end")[1]["status"] == "complete" and lines(complete(ann, "open end", stream=True))[-1] == "[DONE]"


def openai_error(refused):
    error = refused.json()["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"] and error["code"] == refused.json()["code"], error
    return error["type"], error["code"], error["param"]


def test_refusals_in_openais_shape(ai_project, ann):
    path = "/ai/v1/chat/completions"
    ask = {"messages": [{"role": "user", "content": "say x"}]}
    for refused, shown in (
            (complete(ann, "status 400", expect=400), ("invalid_request_error", "bad_request", None)),
            (complete(ann, "status 401", expect=502), ("server_error", "provider_error", None)),
            (complete(ann, "status 429", expect=429), ("rate_limit_error", "rate_limited", None)),
            (complete(ann, "wrong", expect=502), ("server_error", "provider_error", None)),
            (ann.post(path, {}, expect=400), ("invalid_request_error", "validation_failed", "messages")),
            (ann.post(path, data=b"{", headers={"Content-Type": "application/json"}, expect=400), ("invalid_request_error", "invalid_json", None)),
            (ann.post(path, data=b"{}", headers={"Content-Type": "text/plain"}, expect=415), ("invalid_request_error", "unsupported_media_type", None)),
            (complete(ann, "x" * 1100000, expect=413), ("invalid_request_error", "payload_too_large", None)),
            (ai_project.client().get("/ai/v1/models", expect=401), ("authentication_error", "unauthorized", None)),
            (ai_project.client(token="x").post(path, ask, expect=401), ("authentication_error", "token_invalid", None)),
            (complete(ai_project.user(role_ids=[ai_project.role()["id"]]), "say x", expect=403), ("permission_error", "forbidden", None)),
            (ann.get("/ai/v1/embeddings", expect=404), ("invalid_request_error", "route_not_found", None)),
            (ann.put("/ai/v1/models", {}, expect=405), ("invalid_request_error", "method_not_allowed", None))):
        assert openai_error(refused) == shown, refused.text
    assert ann.post(path, {}, expect=400).json()["error"]["message"] == "messages is required"
    assert "error" not in ann.get("/ai/conversations/424242", expect=404).json()


def test_refusals_before_a_route_in_openais_shape(ai_project, start_gateway):
    """Two bodies arrive concurrently, and one of them is refused before it is complete."""
    busy = start_gateway("gateway-ai-busy", WORKERS=1, BODIES_PER_ADDRESS=1)
    path = ai_project.base_url.replace(ai_project.gateway.url, "")
    callers = [socket.create_connection(("127.0.0.1", busy.port), timeout=60) for _ in range(2)]
    for caller in callers:
        caller.sendall(f"POST {path}/ai/v1/chat/completions HTTP/1.1\r\nHost: h\r\n"
                       f"Authorization: Bearer {ai_project.admin.token}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
    [refused], _, _ = select.select(callers, [], [], 60)
    answer = http.client.HTTPResponse(refused)
    answer.begin()
    body = json.load(answer)
    assert answer.status == 503 and body["error"] == {
        "message": body["detail"], "type": "server_error", "param": None, "code": body["code"]}
    for caller in callers:
        caller.close()


def test_models_in_openais_shape(ai_project, ann):
    ai_project.admin.put("/ai/config", {"models": ["small", "large"]}, expect=200)
    listed = ann.get("/ai/v1/models", expect=200).json()
    ai_project.admin.put("/ai/config", {"models": None}, expect=200)
    assert listed["object"] == "list" and [(each["id"], each["object"]) for each in listed["data"]] == [("small", "model"), ("large", "model")]


def test_administrators_read_what_the_server_refuses(ai_project, ann, model, db):
    """The server's text is shown to administrators for any status. Callers get the status, and the text only for a wrong
    request of their own."""
    def refusal():
        found = ai_project.admin.get("/ai/config", expect=200).json()["last_refusal"]
        return found and (found["status"], found["model"], found["message"])

    assert "no such model" not in complete(ann, "lost x", model="large", expect=502).text
    until(lambda: refusal() == (404, "large", "there is no such model here"))
    assert ask_and_read(ann, "status 401")[1]["code"] == "provider_error"
    until(lambda: refusal() == (401, "small", "refused as asked "))
    complete(ann, "status 422", expect=400)
    until(lambda: refusal() == (422, "small", None), "the refusal is not shown without the key")
    assert "as asked" not in complete(ann, "wrong way", expect=502).text
    until(lambda: refusal() == (200, "small", "wrong as asked way"))
    assert "as asked" not in "".join(lines(complete(ann, "wrong again", stream=True)))
    until(lambda: refusal() == (200, "small", "wrong as asked again"))
    assert ask_and_read(ann, f"wrong {KEY}")[1]["code"] == "provider_error"
    until(lambda: refusal() == (200, "small", None))
    assert KEY not in str(rows(db, f"select doc::text from {ai_project.schema(db)}.settings"))
    ann.get("/ai/config", expect=403)
    ai_project.admin.put("/ai/config", {"api_key": "wrong"}, expect=200)
    assert ann.get("/ai/models", expect=502).json()["detail"] == "The model server answered with status 401."
    until(lambda: refusal() == (401, None, "no"))
    ai_project.admin.put("/ai/config", {"api_key": KEY}, expect=200)


def test_completions_that_fail(ai_project, ann):
    for content, status in (("status 400", 400), ("status 422", 400), ("status 401", 502), ("status 429", 429), ("status 503", 502)):
        refused = complete(ann, content, expect=status)
        assert KEY not in refused.text and ("refused as asked" in refused.text) == (content == "status 400")
    assert json.loads(lines(complete(ann, "break", stream=True))[-1])["error"]["code"] == "provider_error"
    assert "overloaded" not in "".join(lines(complete(ann, "failed", stream=True)))
    for body in ({}, {"messages": []}, {"messages": [{}], "n": 2}, {"messages": [{}], "max_tokens": 0}, {"messages": ["x"]}):
        ann.post("/ai/v1/chat/completions", body, expect=400)
    complete(ai_project.user(role_ids=[ai_project.role()["id"]]), "say x", expect=403)


def test_completions_end_with_their_client(ann, model):
    left = model.left
    response = complete(ann, "stall", stream=True)
    response.raw._fp.readline()
    disconnect(response)
    until(lambda: model.left > left)


def test_npms_openai(ai_project):
    folder = pathlib.Path(__file__).resolve().parent
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    if not (folder / "node_modules/openai").is_dir():
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"npm cannot install it: {done.stderr[-500:]}")
    key = ai_project.key(["svc_ai_chat:create"]).key
    done = subprocess.run(["node", "complete.mjs", f"{ai_project.base_url}/ai/v1", key], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {"whole": "hello there", "streamed": "hello there", "usage": {"prompt_tokens": 20, "completion_tokens": 5},
                     "refused": 400}
