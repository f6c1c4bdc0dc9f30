"""谁偷了玉佩：用是非题逐步排除嫌疑人。"""

import random

NAME = "玉佩失窃案"
SUMMARY = "向证人询问窃贼的特征，用尽量少的问题从众多嫌疑人中找出窃贼。"
SKILL = "Logical Deduction"
MAX_TURNS = 12
ACTION_FORMAT = "text"
LEVEL = 3
SURNAMES = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张"
FEATURES = ("戴帽", "戴眼镜", "留胡子", "穿长衫", "拿折扇", "提灯笼", "骑马")


class JadeThiefEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        count = 4 * (LEVEL + 1)
        looks = rng.sample(range(1, 2 ** len(FEATURES)), count)
        self.suspects = {
            f"{surname}掌柜": [feature for i, feature in enumerate(FEATURES) if look >> i & 1]
            for surname, look in zip(SURNAMES, looks, strict=False)
        }
        self.thief = rng.choice(list(self.suspects))
        self.left = len(self.solution()) + 1
        table = "\n".join(f"{name}：{'、'.join(looks)}" for name, looks in self.suspects.items())
        return (
            f"玉佩被这{count}人中的一人偷走。每人的全部特征如下：\n{table}\n"
            "每回合只写一个特征（如：骑马），证人会回答窃贼有没有这个特征；或只写一个人名来指认窃贼（如："
            f"赵掌柜）。指认错误即告失败。你有{self.left}个回合。",
            {},
        )

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        if self.left < 1:
            return "案子已经结束。", 0.0, False, True, {}
        self.left -= 1
        text, won = self.answer(action.strip())
        if won is not None:
            self.left = 0
            return text, float(won), True, False, {}
        return f"{text}还剩{self.left}个回合。", 0.0, False, self.left == 0, {}

    def answer(self, action: str) -> tuple[str, bool | None]:
        if action in FEATURES:
            return f"证人：窃贼{'确实' if action in self.suspects[self.thief] else '没有'}{action}。", None
        if action not in self.suspects:
            return "请只写一个特征，或一个嫌疑人的名字。", None
        right = action == self.thief
        return f"{action}{'正是窃贼，破案了！' if right else '是清白的，窃贼逃走了。'}", right

    def solution(self) -> list[str]:
        left, questions = list(self.suspects), []
        while len(left) > 1:
            counts = {f: sum(f in self.suspects[name] for name in left) for f in FEATURES}
            question = min(FEATURES, key=lambda f: abs(2 * counts[f] - len(left)))
            questions.append(question)
            seen = question in self.suspects[self.thief]
            left = [name for name in left if (question in self.suspects[name]) == seen]
        return [*questions, self.thief]

    def hint(self) -> str:
        return "每次都问最能把剩下的嫌疑人分成人数相近两半的特征，只剩最后一人时再指认。"
