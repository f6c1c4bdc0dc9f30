import random

NAME = "寻宝"
SUMMARY = "在网格里按方位走到宝藏。"
SKILL = "spatial reasoning"
MAX_TURNS = 12
ACTION_FORMAT = "text"
方向 = {"东": (1, 0), "西": (-1, 0), "北": (0, 1), "南": (0, -1)}


class TreasureEnv:
    """走到宝藏。"""

    def reset(self, *, seed):
        随机 = random.Random(seed)
        self.x = self.y = 0
        self.目标 = (随机.choice([-3, -2, 2, 3]), 随机.choice([-4, -3, 3, 4]))
        self.步 = 0
        self.完 = False
        return self._看("可走：东、西、北、南。东增加横坐标，北增加纵坐标。"), {}

    def _看(self, 话=""):
        return f"{话}你在({self.x}, {self.y})，宝藏在{self.目标}。"

    def step(self, action):
        if self.完:
            return "结束了。", 0, True, False, {}
        self.步 += 1
        if action.strip() not in 方向:
            return "没有这个方向。" + self._看(), 0, False, self.步 >= MAX_TURNS, {}
        横, 纵 = 方向[action.strip()]
        self.x, self.y = self.x + 横, self.y + 纵
        self.完 = (self.x, self.y) == self.目标
        return self._看(), int(self.完), self.完, self.步 >= MAX_TURNS, {}

    def solution(self):
        横, 纵 = self.目标
        return ["东" if 横 > 0 else "西"] * abs(横) + ["北" if 纵 > 0 else "南"] * abs(纵)

    def hint(self):
        return "先走横的，再走纵的，总共不超过七步。"
