"""Twenty rules with checks and three hundred tool calls, each with the rules that are expected to match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

RULES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Shared branches are not rewritten", {"commands": ["git push * --force", "git push * -f"], "action": "deny"}),
    ("Migrations are never edited", {"paths": ["db/migrations/*.sql"], "action": "deny"}),
    ("The lock file is written by the tool", {"paths": ["poetry.lock", "package-lock.json"], "action": "deny"}),
    ("No print in the product", {"paths": ["src/**/*.py"], "must_not": ["print("], "action": "ask"}),
    ("Installs use the constraints", {"commands": ["pip install"], "must": ["-c constraints.txt"], "action": "ask"}),
    ("Nothing is removed recursively from the root", {"commands": ["rm -rf /", "rm -rf ~"], "action": "deny"}),
    ("Secrets stay out", {"paths": [".env", "*.pem"], "action": "deny"}),
    ("Generated code is not edited", {"paths": ["gen/"], "action": "deny"}),
    ("Workflows are reviewed", {"paths": [".github/workflows/"], "action": "ask"}),
    ("The store is not dropped", {"commands": ["dropdb", 'psql * -c "*DROP TABLE*"'], "action": "deny"}),
    ("Production is deployed by CI", {"commands": ["kubectl apply", "helm upgrade"], "action": "ask"}),
    ("Hooks are not skipped", {"commands": ["git commit * --no-verify", "git push * --no-verify"], "action": "deny"}),
    ("The vendored tree is upstream's", {"paths": ["vendor/**"], "action": "deny"}),
    (
        "Tests name their reason to skip",
        {"paths": ["tests/**/*.py"], "must_not": ["@pytest.mark.skip\n"], "action": "ask"},
    ),
    ("History is kept", {"commands": ["git reset * --hard", "git clean * -fdx"], "action": "ask"}),
    ("Files carry the license", {"paths": ["lib/*.c"], "must": ["SPDX-License-Identifier"], "action": "ask"}),
    ("Packages are published by CI", {"commands": ["npm publish", "twine upload"], "action": "deny"}),
    ("The schema is versioned", {"paths": ["api/openapi.yaml"], "action": "inform"}),
    ("Downloads are not executed", {"commands": ['sh -c "*curl*"'], "action": "deny"}),
    ("Root is not needed", {"commands": ["chmod -R 777"], "action": "deny"}),
)
Deed = tuple[dict[str, Any], set[int]]

_COMMANDS: tuple[tuple[str, set[int]], ...] = (
    ("git push --force", {0}),
    ("git push origin main -f", {0}),
    ("cd api && git push origin --force", {0}),
    ("git push --force-with-lease", set()),
    ("git push -fq", set()),
    ("git push origin feature/--force-docs", set()),
    ("echo 'git push --force'", set()),
    ("git commit -m 'never git push --force'", set()),
    ("grep -rn 'rm -rf /' docs", set()),
    ("rm -rf build", set()),
    ("rm -rf ./~tmp", set()),
    ("rm -rf /", {5}),
    ("sudo rm -rf / --no-preserve-root", {5}),
    ("rm db/migrations/0001.sql", {1}),
    ("cat db/migrations/0001.sql", set()),
    ("cp db/migrations/0001.sql /tmp/x", set()),
    ("cp /tmp/x db/migrations/0001.sql", {1}),
    ("echo x > .env", {6}),
    ("cat .env.example", set()),
    ("cp .env.example /tmp/y", set()),
    ("sed -i s/a/b/ vendor/lib/x.c", {12}),
    ("sed -n 1,5p vendor/lib/x.c", set()),
    ("pip install requests", {4}),
    ("pip install -c constraints.txt requests", set()),
    ("python -m pip list", set()),
    ("pip download requests", set()),
    ("git commit -m x --no-verify", {11}),
    ("git commit -m '--no-verify is bad'", set()),
    ("git reset --hard HEAD~1", {14}),
    ("git reset HEAD~1", set()),
    ("git clean -n", set()),
    ("kubectl get pods", set()),
    ("kubectl apply -f k.yaml", {10}),
    ("helm upgrade api ./chart", {10}),
    ("helm list", set()),
    ("npm publish", {16}),
    ("npm run publish:dry", set()),
    ("npm install", set()),
    ("make test", set()),
    ("pytest -q", set()),
    ("dropdb shop", {9}),
    ("createdb shop", set()),
    ("psql shop -c 'SELECT 1'", set()),
    ("psql shop -c 'DROP TABLE users'", {9}),
    ("chmod -R 777 /srv", {19}),
    ("chmod 644 a", set()),
    ("bash -c 'git push --force'", {0}),
    ("python - <<'E'\nprint('rm -rf /')\nE", set()),
    ("ls -la && git status && git diff", set()),
    ("for f in *.py; do python $f; done", set()),
)
_EDITS: tuple[tuple[str, str, str, bool, set[int]], ...] = (
    ("db/migrations/0002.sql", "ALTER TABLE x", "", True, {1}),
    ("db/migrations/README.md", "text", "", True, set()),
    ("docs/db/migrations.md", "text", "", True, set()),
    ("db/migrations_old/1.sql", "x", "", True, set()),
    ("poetry.lock", "x", "", False, {2}),
    ("docs/poetry.lock.md", "x", "", True, set()),
    ("src/app/main.py", "print('x')", "", False, {3}),
    ("src/app/main.py", "log('x')", "", False, set()),
    ("src/app/main.py", "print('y')", "print('x')", False, set()),
    ("src/app/main.py", "pprint(x)", "", False, {3}),
    ("scripts/tool.py", "print('x')", "", False, set()),
    (".env", "A=1", "", True, {6}),
    (".env.example", "A=1", "", True, set()),
    ("certs/server.pem", "x", "", True, {6}),
    ("gen/api.py", "x", "", True, {7}),
    ("src/generator.py", "x", "", True, set()),
    (".github/workflows/ci.yml", "x", "", True, {8}),
    (".github/CODEOWNERS", "x", "", True, set()),
    ("vendor/a/b.c", "x", "", True, {12}),
    ("src/vendor.py", "x", "", True, set()),
    ("lib/a.c", "int x;", "", True, {15}),
    ("lib/a.c", "/* SPDX-License-Identifier: MIT */ int x;", "", True, set()),
    ("lib/a.c", "int y;", "int x;", False, set()),
    ("api/openapi.yaml", "x", "", False, {17}),
    ("README.md", "git push --force", "", False, set()),
)


def deeds(count: int) -> Iterator[Deed]:
    """Tool calls with the numbers of the rules that are expected to match, repeated until there are enough."""
    listed: list[Deed] = [({"tool": "command", "command": line}, meant) for line, meant in _COMMANDS]
    listed += [
        ({"tool": "edit", "paths": [path], "text": text, "before": before, "whole": whole}, meant)
        for path, text, before, whole, meant in _EDITS
    ]
    for number in range(count):
        yield listed[number % len(listed)]
