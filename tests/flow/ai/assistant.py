"""Helpers with which tests send questions to the assistant."""
import json


def events(response):
    """(event, data, id) in the order of arrival."""
    kind, data, number = None, None, None
    for line in iter(response.raw._fp.readline, b""):
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            data = json.loads(value)
        elif name == "id":
            number = int(value)
        elif not name:
            yield kind, data, number
            number = None


def disconnect(response):
    response.raw._fp.fp.raw._sock.shutdown(2)
    response.close()


def begin(client, **body):
    return client.post("/ai/conversations", body, expect=201).json()["id"]


def ask(client, content, conversation=None, expect=200, **body):
    conversation = conversation or begin(client)
    return conversation, client.post(f"/ai/conversations/{conversation}/messages", {"content": content, **body}, stream=True, expect=expect)


def ask_and_read(client, content, conversation=None, **body):
    """Returns the streamed text, and the stored message."""
    _, response = ask(client, content, conversation, **body)
    assert response.headers["Content-Type"] == "text/event-stream"
    found = list(events(response))
    assert found[0][0] == "start" and found[-1][0] == "done", found
    return "".join(data["text"] for kind, data, _ in found if kind == "delta"), found[-1][1]


def client_at(client, gateway):
    """This user as a client of another gateway."""
    other = client.project.client(token=client.token)
    other.base_url = client.base_url.replace(client.project.gateway.url, gateway.url)
    return other


def stored_message(client, message):
    return client.get(f"/ai/conversations/{message['conversation_id']}/messages/{message['id']}", expect=200).json()


def call_tools(client, *calls, word="call"):
    """Makes the model call these tools; returns their results in order, and the message."""
    text, message = ask_and_read(client, f"{word} " + json.dumps([[name, json.dumps(arguments)] for name, arguments in calls]))
    assert message["status"] == "complete"
    return [json.loads(line) for line in text.split("\n")], message


def complete(client, content, expect=200, **body):
    body = {"messages": [{"role": "user", "content": content}], **body}
    return client.post("/ai/v1/chat/completions", body, stream=bool(body.get("stream")), expect=expect)


def lines(response):
    return [line[6:].decode().strip() for line in iter(response.raw._fp.readline, b"") if line.startswith(b"data: ")]
