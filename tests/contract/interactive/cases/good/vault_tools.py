import json
import random

NAME = "Vault"
SUMMARY = "Read two registers with tools, then enter their sum."
SKILL = "Causal Inference"
MAX_TURNS = 6
ACTION_FORMAT = "tool_call"


class VaultEnv:
    def reset(self, *, seed):
        rng = random.Random(seed)
        self.values = {"left": rng.randint(100, 999), "right": rng.randint(100, 999)}
        self.read, self.open, self.turn = set(), False, 0
        return "Tools: read(register) with left or right; enter(code). The code is the sum of both registers.", {}

    def tool_read(self, register=None):
        if not isinstance(register, str) or register not in self.values:
            return "no such register"
        self.read.add(register)
        return f"{register} holds {self.values[register]}"

    def tool_enter(self, code=None):
        self.open = code == sum(self.values.values()) and not isinstance(code, bool)
        return "open" if self.open else "closed"

    def step(self, action):
        if self.open:
            return "over", 0.0, True, False, {}
        self.turn += 1
        call = json.loads(action)
        tool = getattr(self, "tool_" + call["name"], None)
        try:
            text = tool(**call["arguments"]) if tool else "no such tool"
        except TypeError:
            text = "wrong arguments"
        return text, float(self.open), self.open, self.turn >= MAX_TURNS, {}

    def solution(self):
        calls = [("read", {"register": "left"}), ("read", {"register": "right"}), ("enter", {"code": sum(self.values.values())})]
        return [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]

    def hint(self):
        return "Look at both registers before you enter anything."
