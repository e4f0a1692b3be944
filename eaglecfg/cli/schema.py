"""``eaglecfg schema``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from eaglecfg.cli.output import traceback_option
from eaglecfg.errors import UsageError
from eaglecfg.schema.export import json_schemas

SUFFIX = ".schema.json"


@click.command("schema")
@click.argument("name", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "markdown"]),
    default="json",
    show_default=True,
    help="markdown is a reference of every key, the tables of docs/config-reference.md.",
)
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write all of them, as JSON Schemas, to a folder.",
)
@traceback_option
def command(name: str | None, form: str, folder: Path | None) -> int:
    """Print the JSON Schema NAME (a file name of schemas/), or list the names.

    As markdown, without NAME, all of them.
    """
    schemas = json_schemas()
    if name is not None and name not in schemas and f"{name}{SUFFIX}" not in schemas:
        raise UsageError(f"there is no schema {name!r}; there are {', '.join(schemas)}")
    if name is not None and folder is not None:
        raise UsageError(f"--write writes all schemas; leave out {name}")
    if form == "markdown":
        from eaglecfg.schema.reference import reference

        chosen = schemas.values() if name is None else (schemas.get(name) or schemas[f"{name}{SUFFIX}"],)
        click.echo("\n\n".join("\n".join(reference(schema)) for schema in chosen))
        return 0
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
    else:
        click.echo(texts.get(name) or texts[f"{name}{SUFFIX}"], nl=False)
    return 0
