"""The offline check of the assistant: compares the answers that callers received with the conversations, the counted tokens and the requests that
the model server received.

A1 each question is followed by one answer or one failure, and there are no further answers; A2 when all is quiet, no answer is in progress and no
conversation is stuck; A3 a caller that received a whole answer received the stored one, and a whole answer is the one that the model gave; A4 each
answer was counted once, with the tokens that it shows, and the tokens that a dead process had reserved stay reserved; A5 no text of one project
appears in another; A6 no caller received a wrong answer.
"""
import collections
import json
import pathlib

ENDED = ("complete", "interrupted", "cancelled", "waiting")


class ChatCheck:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.data = json.loads((folder / "chats.json").read_text())
        entries = [json.loads(line) for line in (folder / "clients.jsonl").read_text().splitlines()]
        self.asked = {entry["mark"]: entry for entry in entries if entry["what"] == "chat" and entry["state"] == "asked"}
        self.ends = [entry for entry in entries if entry["what"] == "chat" and entry["state"] != "asked"]
        self.messages = {name: {each["id"]: each for each in project["messages"]} for name, project in self.data["projects"].items()}
        self.found = []

    def say(self, invariant, text):
        self.found.append(f"{invariant}: {text}")

    def check_pairs(self):
        """A1, A2"""
        for name, project in self.data["projects"].items():
            conversations = collections.defaultdict(list)
            for each in project["messages"]:
                if each["role"] != "tool":
                    conversations[each["conversation"]].append(each)
                if each["open"]:
                    self.say("A2", f"{name}: message {each['id']} is being made")
            for number, messages in conversations.items():
                roles = [each["role"] for each in messages]
                if roles != ["user", "assistant"] * (len(roles) // 2):
                    self.say("A1", f"{name}: conversation {number} is {roles}")
            if project["running"]:
                self.say("A2", f"{name}: {project['running']} answers are counted as being made")
            for user in {each["user"] for each in project["messages"]}:
                if not any(each["user"] == user and each["content"] == f"settled-{user}-{name}" and each["status"] == "complete"
                           for each in project["messages"]):
                    self.say("A2", f"{name}: the last conversation of user {user} does not go on")

    def expected_text(self, entry, asked):
        """The expected text of a whole answer; None when it is not fixed."""
        way, _, rest = asked["content"].partition(" ")
        return rest if way in ("say", "slow", "silent", "liar") else None

    def check_received(self):
        """A3, A6"""
        for end in self.ends:
            asked, name = self.asked[end["mark"]], self.asked[end["mark"]]["project"]
            if end["state"] == "wrong":
                self.say("A6", f"{name}: question {end['mark']} was answered {end['status']}: {end.get('text')}")
            if end["state"] != "acked":
                continue
            message, question = self.messages[name].get(end["message"]), self.messages[name].get(end["question"])
            if not message or not question or question["content"] != asked["content"] or message["conversation"] != asked["conversation"]:
                self.say("A3", f"{name}: message {end['message']} was made for another question, or is gone")
                continue
            done = end["done"]
            # A process without a database connection for ten seconds counts as dead, but may still finish its answer.
            if ((message["status"], message["content"]) != (done["status"], done["content"]) and message["status"] != "streaming"
                    and done["code"] != "process_died"):
                self.say("A3", f"{name}: message {end['message']} was {done['status']} and is {message['status']}, or says something else")
            if done["status"] not in ENDED or (done["status"] == "complete" and end["text"] != done["content"]):
                self.say("A3", f"{name}: of message {end['message']} {end['text'][:80]!r} was heard in place of {done['content'][:80]!r}")
            elif not (end["text"].startswith(done["content"]) or done["content"].startswith(end["text"])):
                self.say("A3", f"{name}: message {end['message']} was heard as {end['text'][:80]!r} and is {done['content'][:80]!r}")
            wanted = self.expected_text(end, asked)
            if wanted is not None and done["status"] == "complete" and done["content"] != wanted:
                self.say("A3", f"{name}: the model said {wanted[:80]!r}, message {end['message']} says {done['content'][:80]!r}")
            if (asked["way"] == "call" and done["status"] == "complete" and self.data["secrets"][name] not in done["content"]
                    and not done["content"].startswith('{"error"')):
                self.say("A3", f"{name}: message {end['message']} was made without what its tool found: {done['content'][:200]!r}")

    def check_usage(self):
        """A4"""
        for name, project in self.data["projects"].items():
            made = collections.defaultdict(lambda: {"requests": 0, "prompt": 0, "completion": 0, "lost": 0})
            for each in project["messages"]:
                if each["role"] != "assistant":
                    continue
                one = made[each["user"], each["model"]]
                one["requests"] += 1
                one["prompt"] += each["prompt_tokens"] or 0
                one["completion"] += each["completion_tokens"] or 0
                one["lost"] += each["prompt_tokens"] is None
            usage = {(each["user"], each["model"]): each for each in project["usage"]}
            for key in made.keys() | usage.keys():
                one, used = made[key], usage.get(key, {"requests": 0, "reserved": 0, "prompt": 0, "completion": 0})
                if used["requests"] != one["requests"]:
                    self.say("A4", f"{name}, {key}: {one['requests']} answers, {used['requests']} were counted")
                for kind in ("prompt", "completion"):
                    # A process that was away until its answer was given up counts the tokens it used, but no message shows them.
                    if used[kind] < one[kind] or (used[kind] > one[kind] and not one["lost"]):
                        self.say("A4", f"{name}, {key}: answers show {one[kind]} {kind} tokens, {used[kind]} were counted")
                if used["reserved"] < 0 or (used["reserved"] and not one["lost"]):
                    self.say("A4", f"{name}, {key}: {used['reserved']} tokens are reserved for {one['lost']} answers that were lost")

    def check_isolation(self):
        """A5"""
        for each in self.data["sent"]:
            if set(each["whispers"]) - {each["project"]}:
                self.say("A5", f"the model server of {each['project']} was sent the words of {each['whispers']}")
        for name, project in self.data["projects"].items():
            others = [words for other, words in self.data["secrets"].items() if other != name]
            for each in project["messages"]:
                if any(words in each["content"] for words in others):
                    self.say("A5", f"{name}: message {each['id']} has the words of another project")
        for end in self.ends:
            name = self.asked[end["mark"]]["project"]
            if any(words in (end.get("text") or "") for other, words in self.data["secrets"].items() if other != name):
                self.say("A5", f"{name}: question {end['mark']} was answered with the words of another project")


def check(folder):
    one = ChatCheck(folder)
    for part in (one.check_pairs, one.check_received, one.check_usage, one.check_isolation):
        part()
    return one.found
