"""Candidates and policies drawn by chance: few values, so that ties and bounds that are just met are frequent."""

from decimal import Decimal

from oracle import Candidate

MAIN = {"README.md": b"base", "data/train.csv": b"1,2", "artifacts/model.pkl": b"nobody"}
DATA = {**MAIN, "data/train.csv": b"1,2,3"}
# Commits that others brought to main since most candidates left it.
THEIRS = {"notes/n": b"theirs", "x.md": b"theirs", "config/z.json": b"{}"}
LATER = {**MAIN, **THEIRS}
# Of an event that does not come here.
ACTION = "name: NAME\non:\n  post-delete-tag:\nhooks:\n  - id: print\n    type: lua\n    properties: {script: 'print(1)'}\n"
METRICS = ("accuracy", "loss", "latency")
NUMBERS = [
    Decimal(text)
    for text in (
        "0",
        "0.1",
        "0.2",
        "0.3",
        "0.5",
        "0.55",
        "0.6",
        "0.7",
        "0.8",
        "0.895",
        "0.9",
        "0.905",
        "1",
        "1.5",
        "-0.1",
        "-0.5",
        "-1",
        "80",
        "100",
    )
]
NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
GLOBS = (
    "artifacts/model.pkl",
    "artifacts/**",
    "**/*.pkl",
    "config/*.json",
    "{data,config}/**",
    "README.m?",
    "notes/**",
    "**",
    "secret/[a-m]*",
    "*.md",
    "absent/**",
)
BOUNDS = (
    "min_delta",
    "max_delta",
    "min_relative_delta",
    "max_increase",
    "max_decrease",
    "max_relative_increase",
    "max_relative_decrease",
)
TRUST = (
    ["api"],
    ["commit-metadata"],
    ["file"],
    ["api", "file"],
    ["file", "commit-metadata", "api"],
    ["commit-metadata", "api"],
    ["file:metrics/a.json"],
    ["file:metrics/{a,b}.json"],
    ["check:bench"],
    ["check", "api"],
    ["check"],
    ["api:admin"],
    ["file", "api:admin"],
)

# Asked first, so that each code is met whatever chance brings.
WAITS = {
    "name": "gate",
    "destination": "main",
    "candidates": "exp-*",
    "require_ancestor": "data-v3",
    "checks": {"required": ["bench"]},
    "approvals": {"count": 1},
    "metrics": [{"name": "accuracy", "goal": "max", "from": "check:bench"}],
}
COMPARES = {
    "name": "gate",
    "destination": "main",
    "alias": "champion",
    "metrics": [
        {"name": "accuracy", "goal": "max", "min": 0.2, "max": 0.9, "vs_champion": {"min_delta": 0.005, "max_delta": 0.1}},
        {"name": "loss", "trust": ["api"]},
    ],
    "objects": {"required": ["artifacts/model.pkl"], "unchanged": ["README.md"], "forbid": ["secret/**"], "max_total_bytes": 30},
}
KEEPS = {
    "name": "gate",
    "destination": "main",
    "unchanged_since": {"ref": "data-v3", "paths": ["data/**"]},
    "require_up_to_date": True,
    "metrics": [{"name": "accuracy", "goal": "max"}],
    "objects": {"required": ["artifacts/model.pkl"], "min_bytes": 9, "keep": ["README.md", "artifacts/*"]},
}
# Nothing else fails, so that all merges are tried.
MERGES = {"name": "gate", "destination": "main"}
REMOVES = [
    {**MERGES, "objects": {"unchanged": [], "keep": [glob]}} for glob in ("**", "README.md", "{artifacts/**,*.md}", "[!x]*")
]
REQUIRED = {**MERGES, "objects": {"unchanged": [], "required": ["config/*.json"]}}
RESULTS = {**MERGES, "objects": {"required": ["{config,data}/**"], "max_total_bytes": 60}}
FIRST = (WAITS, COMPARES, {**COMPARES, "alias": "nobody"}, KEEPS, MERGES, RESULTS, REQUIRED, *REMOVES)


def value(random):
    return random.choice(NO_NUMBERS) if random.random() < 0.05 else random.choice(NUMBERS)


def candidate(random, number_of):
    name = f"{'other' if random.random() < 0.1 else 'exp'}-{number_of:03}"
    up_to_date = random.random() < 0.25
    has_ancestor = not up_to_date and random.random() < 0.7
    files = dict(LATER if up_to_date else DATA if has_ancestor else MAIN)
    files["artifacts/model.pkl"] = b"" if random.random() < 0.05 else b"m" * random.choice((1, 1, 2, 3)) + name.encode()
    for path in ("config/a.json", "config/b.txt", "notes/n", "secret/a", "secret/z", "x.md"):
        if random.random() < 0.12:
            files[path] = name.encode()
        elif path in THEIRS and random.random() < 0.1:
            files[path] = THEIRS[path]
    if random.random() < 0.08:
        files["_lakefs_actions/a.yaml"] = ACTION.replace("NAME", name).encode()
    for path, missing in (
        ("README.md", number_of % 7 == 3 or random.random() < 0.03),
        ("artifacts/model.pkl", random.random() < 0.06),
    ):
        if missing:
            del files[path]
    made = Candidate(name, number_of, files, has_ancestor, base=LATER if up_to_date else MAIN, up_to_date=up_to_date)
    for metric in METRICS:
        if random.random() < 0.93:
            origins = random.choice(
                (
                    ["commit-metadata"],
                    ["api"],
                    ["file:metrics/a.json"],
                    ["api", "commit-metadata"],
                    ["file:metrics/b.json", "commit-metadata"],
                    ["api", "commit-metadata", "file:metrics/a.json"],
                    ["api", "api#2"],
                    ["bare"],
                    ["commit-metadata", "bare"],
                    ["file:metrics/a.json", "file:metrics/b.json"],
                )
            )
            agree = number_of == 0 or random.random() < 0.8
            number = value(random)
            made.measured[metric, ""] = {origin: number if agree else value(random) for origin in origins}
        if random.random() < 0.3:
            made.measured[metric, "test"] = {"api": value(random)}
    if number_of == 0:  # the champion
        made.measured["accuracy", ""] = {"commit-metadata": Decimal("0.5")}
    return made


def some(random, things, most):
    return random.sample(things, random.randint(0, most))


def bound(random, goal):
    names = BOUNDS if goal else [name for name in BOUNDS if "crease" in name]
    chosen = {
        name: float(random.choice(("0", "0.005", "0.05", "0.1", "0.3", "0.5", "1")))
        for name in random.sample(names, random.randint(1, 2))
    }
    if chosen.keys() >= {"min_delta", "max_delta"}:
        chosen["min_delta"], chosen["max_delta"] = sorted((chosen["min_delta"], chosen["max_delta"]))
    if "min_delta" in chosen and random.random() < 0.3:
        chosen["min_delta"] = -chosen["min_delta"]
    return chosen


def metric_rule(random, name, split, alias):
    rule = {"name": name}
    if split:
        rule["split"] = split
    if random.random() < 0.85:
        rule["goal"] = random.choice(("max", "min"))
    if random.random() < 0.4:
        rule["min"] = float(random.choice(("-0.1", "0", "0.1", "0.5", "0.6")))
    if random.random() < 0.4:
        rule["max"] = float(random.choice(("0.8", "0.9", "1", "1.5", "100")))
    if alias and random.random() < 0.4:
        rule["vs_champion"] = bound(random, rule.get("goal"))
    if random.random() < 0.35:
        trust = random.choice(TRUST)
        rule.update({"from": trust[0]} if len(trust) == 1 and random.random() < 0.5 else {"trust": trust})
    return rule


def policy(random):
    alias = random.choice(("champion", "champion", "nobody", None))
    made = {"name": "gate", "destination": "main"}
    if alias:
        made["alias"] = alias
    if random.random() < 0.6:
        made["candidates"] = random.choice(("exp-*", "exp-0[0-4]*", "{exp,other}-*", "**", "exp-0?[!5]", "*-001"))
    if random.random() < 0.15:
        made["require_ancestor"] = "data-v3"
    if random.random() < 0.12:
        made["unchanged_since"] = {"ref": "data-v3", "paths": random.sample(GLOBS, random.randint(1, 2))}
    if random.random() < 0.07:
        made["require_up_to_date"] = True
    places = [(name, split) for name in METRICS for split in ("", "test") if not split or random.random() < 0.15]
    rules = [metric_rule(random, *place, alias) for place in random.sample(places, random.randint(0, min(3, len(places))))]
    goals = [rule for rule in rules if "goal" in rule]
    if goals and random.random() < 0.6:
        random.choice(goals)["primary"] = True
    if rules:
        made["metrics"] = rules
    objects = {}
    if random.random() < 0.3:
        objects["required"] = random.sample(GLOBS[:5], random.randint(1, 2))
        if random.random() < 0.5:
            objects["min_bytes"] = random.choice((0, 2, 8, 9))
    for name in ("unchanged", "forbid", "keep"):
        if random.random() < 0.2:
            objects[name] = some(random, GLOBS, 2)
    if random.random() < 0.15:
        objects["max_total_bytes"] = random.choice((20, 30, 40, 50, 60))
    if objects:
        made["objects"] = objects
    # A tie is broken by the first rule of a name.
    firsts = {rule["name"]: rule for rule in reversed(rules)}
    ties = (
        [name for name, rule in firsts.items() if "goal" in rule]
        + ["created_at"]
        + (["model_bytes"] if objects.get("required") else [])
    )
    if random.random() < 0.4:
        made["tie_break"] = some(random, ties, min(2, len(ties)))
    if random.random() < 0.15:
        made["checks"] = {"required": random.choice((["bench"], ["bench", "lint"]))}
    if random.random() < 0.1:
        made["approvals"] = {"count": random.choice((1, 2))}
    return made
