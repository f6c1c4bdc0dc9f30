"""仓库机器人：看地图，自己记住位置和朝向。"""

import random

NAME = "仓库机器人"
SUMMARY = "按照地图指挥机器人到达货架；机器人不报告位置和朝向，必须自己推算。"
SKILL = "Spatial Reasoning"
MAX_TURNS = 14
ACTION_FORMAT = "text"
LEVEL = 3
HEADINGS = {"北": (-1, 0), "东": (0, 1), "南": (1, 0), "西": (0, -1)}
State = tuple[int, int, int]


class WarehouseRobotEnv:
    def reset(self, *, seed: int) -> tuple[str, dict[str, object]]:
        rng = random.Random(seed)
        self.path: list[str] = []
        while len(self.path) != 2 * LEVEL + 2:
            self.draw(rng)
        rows = "\n".join("".join(row) for row in self.map)
        self.left = len(self.path) + 2
        return (
            f"仓库地图（上北下南，左西右东；# 是墙，. 是空地，R 是机器人，G 是货架）：\n{rows}\n"
            f"机器人面朝{list(HEADINGS)[self.state[2]]}。每回合只写一个指令：前进、左转或右转。"
            f"转向在原地进行。机器人不报告位置和朝向。让它到达 G。你有{self.left}个回合。",
            {},
        )

    def draw(self, rng: random.Random) -> None:
        size = 4 + LEVEL
        self.map = [["#" if rng.random() < 0.25 else "." for _ in range(size)] for _ in range(size)]
        start = (rng.randrange(size), rng.randrange(size), rng.randrange(4))
        self.state, self.goal = start, (rng.randrange(size), rng.randrange(size))
        self.map[start[0]][start[1]] = "R"
        self.map[self.goal[0]][self.goal[1]] = "G"
        paths: dict[State, list[str]] = {start: []}
        queue = [start]
        for state in queue:
            for command in ("前进", "左转", "右转"):
                reached = self.move(state, command)
                if reached not in paths:
                    paths[reached] = [*paths[state], command]
                    queue.append(reached)
        ends = [path for state, path in paths.items() if state[:2] == self.goal]
        self.path = min(ends, key=len, default=[])

    def move(self, state: State, command: str) -> State:
        row, column, heading = state
        if command != "前进":
            return row, column, (heading + (1 if command == "右转" else -1)) % 4
        down, right = list(HEADINGS.values())[heading]
        row, column = row + down, column + right
        free = 0 <= row < len(self.map) and 0 <= column < len(self.map) and self.map[row][column] != "#"
        return (row, column, heading) if free else state

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
        action = action.strip()
        if self.left < 1:
            return "任务已经结束。", 0.0, False, True, {}
        self.left -= 1
        text = "听不懂，请写：前进、左转或右转。"
        if action in ("前进", "左转", "右转"):
            before, self.state = self.state, self.move(self.state, action)
            text = "被墙挡住了，没有动。" if before == self.state else f"已{action}。"
        if self.state[:2] == self.goal:
            self.left = 0
            return "到达货架！", 1.0, True, False, {}
        return f"{text}还剩{self.left}个回合。", 0.0, False, self.left == 0, {}

    def solution(self) -> list[str]:
        return self.path

    def hint(self) -> str:
        turns = sum(command != "前进" for command in self.path)
        return f"先在地图上找出最短路线，其中一共要改变{turns}次方向；每做一步都记下朝向。"
