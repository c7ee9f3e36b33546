"""The check of the assistant in a chaos run (tests/chaos/chats_check.py) finds each violation, in a small handmade run."""
import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "chaos"))

from chats_check import check  # noqa: E402

WORDS = {"one": "whisper-of-one", "two": "whisper-of-two"}


def message(number, conversation, role, content, status="complete", tokens=(None, None), **more):
    return {"id": number, "conversation": conversation, "user": 5, "role": role, "content": content, "status": status, "code": None, "open": False,
            "model": "small" if role == "assistant" else None, "prompt_tokens": tokens[0], "completion_tokens": tokens[1], **more}


def asked(mark, way, content, conversation=1, project="one"):
    return {"what": "chat", "mark": mark, "state": "asked", "way": way, "content": content, "project": project, "user": 5,
            "conversation": conversation}


def ended(mark, question, answer, text, status="complete", content=None):
    return {"what": "chat", "mark": mark, "state": "acked", "text": text, "seen": len(text), "message": answer, "question": question,
            "done": {"status": status, "code": None, "content": text if content is None else content}}


@pytest.fixture
def good():
    """An answer, an answer with a tool call, an answer whose process died, and a last answer; another project without
    messages."""
    found = '{"items":[{"words":"whisper-of-one"}]}'
    messages = [
        message(1, 1, "user", "say a"), message(2, 1, "assistant", "a", tokens=(20, 5)), message(3, 1, "user", "call []"),
        message(4, 1, "assistant", found, tokens=(40, 9)), message(5, 1, "tool", found), message(6, 1, "user", "slow a b"),
        message(7, 1, "assistant", "a ", status="interrupted"), message(8, 1, "user", "say settled-5-one"),
        message(9, 1, "assistant", "settled-5-one", tokens=(20, 5))]
    return {
        "clients": [asked("m", "say", "say a"), ended("m", 1, 2, "a"), asked("n", "call", "call []"), ended("n", 3, 4, found),
                    asked("o", "slow", "slow a b"), ended("o", 6, 7, "a b", "interrupted", "a "), asked("p", "say", "say c"),
                    {"what": "chat", "mark": "p", "state": "refused", "status": 409, "text": ""}],
        "chats": {
            "secrets": WORDS, "sent": [{"project": "one", "whispers": ["one"]}, {"project": "two", "whispers": []}],
            "projects": {
                "one": {"messages": messages, "running": 0,
                        "usage": [{"user": 5, "model": "small", "requests": 4, "reserved": 4100, "prompt": 80, "completion": 19}]},
                "two": {"messages": [], "running": 0, "usage": []}}},
    }


def found(folder, run):
    (folder / "clients.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in run["clients"]))
    (folder / "chats.json").write_text(json.dumps(run["chats"]))
    return check(folder)


def test_nothing_is_found_where_nothing_is_wrong(good, tmp_path):
    assert found(tmp_path, good) == []


def one(run):
    return run["chats"]["projects"]["one"]


BREAKS = {
    "A1 two answers": lambda run: one(run)["messages"].append(message(10, 1, "assistant", "b", tokens=(0, 0))),
    "A1 no answer": lambda run: one(run)["messages"].append(message(10, 2, "user", "say b")),
    "A2 under way": lambda run: one(run)["messages"][6].update(open=True, status="streaming"),
    "A2 counted as under way": lambda run: one(run).update(running=1),
    "A2 stuck": lambda run: one(run)["messages"][8].update(status="interrupted"),
    "A3 another text": lambda run: one(run)["messages"][1].update(content="b"),
    "A3 a gap": lambda run: run["clients"][5].update(text="b"),
    "A3 not to the end": lambda run: run["clients"][1].update(text=""),
    "A3 not what the model said": lambda run: run["clients"][0].update(content="say b") or one(run)["messages"][0].update(content="say b"),
    "A3 without the tool": lambda run: run["clients"][3].update(ended("n", 3, 4, "[]")) or one(run)["messages"][3].update(content="[]"),
    "A3 gone": lambda run: run["clients"][1].update(message=77),
    "A4 not counted": lambda run: one(run)["usage"][0].update(requests=3),
    "A4 tokens lost": lambda run: one(run)["usage"][0].update(completion=18),
    "A4 counted twice": lambda run: one(run)["usage"][0].update(prompt=120) or one(run)["messages"][6].update(prompt_tokens=0, completion_tokens=0),
    "A4 reserved for nobody": lambda run: one(run)["messages"][6].update(prompt_tokens=0, completion_tokens=0),
    "A5 sent": lambda run: run["chats"]["sent"][1].update(whispers=["one"]),
    "A5 kept": lambda run: one(run)["messages"][4].update(content="whisper-of-two"),
    "A5 heard": lambda run: run["clients"].append({**ended("o", 6, 7, ""), "state": "unknown", "text": "whisper-of-two"}),
    "A6 wrong": lambda run: run["clients"][-1].update(state="wrong", status=500),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_violation_is_found(good, tmp_path, name):
    BREAKS[name](good)
    violations = found(tmp_path, good)
    assert [each for each in violations if each.startswith(name[:2])], violations
