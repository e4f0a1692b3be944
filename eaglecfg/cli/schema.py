"""``eaglecfg schema``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from eaglecfg.cli.output import traceback_option
from eaglecfg.errors import UsageError
from eaglecfg.schema.export import json_schemas


@click.command("schema")
@click.argument("name", required=False)
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write all of them to a folder.",
)
@traceback_option
def command(name: str | None, folder: Path | None) -> int:
    """Print the JSON Schema NAME (a file name of schemas/), or list the names."""
    schemas = json_schemas()
    texts = {
        file: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for file, schema in schemas.items()
    }
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
            click.echo(f"wrote {folder / file}")
    elif name is None:
        click.echo("\n".join(texts))
    elif name in texts or f"{name}.schema.json" in texts:
        click.echo(texts.get(name) or texts[f"{name}.schema.json"], nl=False)
    else:
        raise UsageError(f"there is no schema {name!r}; there are {', '.join(texts)}")
    return 0
