"""The modules of the package import each other in one direction, also for annotations and within functions."""

import ast
import graphlib
from pathlib import Path

import pytest
import tarn_data as tarn

PACKAGE = Path(tarn.__file__).parent


def modules_imported(source, package, modules):
    """Modules of the package, "__init__" for the package itself, that a source imports."""
    found = set()
    for statement in ast.walk(ast.parse(source)):
        if isinstance(statement, ast.Import):
            paths = [name.name for name in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            base = ".".join(filter(None, (package if statement.level else "", statement.module)))
            paths = [f"{base}.{name.name}" if base == package else base for name in statement.names]
        else:
            continue
        for path in paths:
            top, _, rest = path.partition(".")
            if top == package:
                module = rest.partition(".")[0]
                found.add(module if module in modules else "__init__")
    return found


def circle(folder):
    """Modules of a circle of imports, the first one again at the end; [] if there is none."""
    modules = {file.stem for file in folder.glob("*.py")}
    graph = {name: modules_imported((folder / f"{name}.py").read_text(), folder.name, modules) for name in modules}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_the_modules_import_each_other_in_one_direction():
    assert circle(PACKAGE) == []


@pytest.mark.parametrize(
    "line",
    [
        "from planted.b import thing",
        "import planted.b",
        "from planted import b",
        "from . import b",
        "from .b import thing",
        "from planted import thing",
        "if TYPE_CHECKING:\n    from planted.b import thing",
        "def late():\n    from planted.b import thing",
    ],
)
def test_a_circle_is_found(tmp_path, line):
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "__init__.py").write_text("from planted.b import thing\n")
    (folder / "a.py").write_text("import os\n")
    (folder / "b.py").write_text("from planted.a import other\n")
    assert circle(folder) == []
    (folder / "a.py").write_text(line)
    assert {"a", "b"} <= set(circle(folder))
