"""JSON Schema of scene files, generated from their tables, including shorthand notations.

The keywords also belong to draft 7, which most editors read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import no_info_before_validator_function

from pysim.scene.toml.plugin_keys import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pydantic_core.core_schema import CoreSchema, FloatSchema, NullableSchema, WithDefaultSchema

    Schema = dict[str, Any]

TEXT_NUMBER = {"type": "string", "pattern": r"^\s*(=|[+-]?(\d|\.\d)[^a-zA-Z°µ]*[a-zA-Z°µ])"}
_TOLD = ("title", "description", "unit", "default")


@dataclass(frozen=True)
class Shorthand:
    """A shorthand of a value: the function that expands it, and its schema derived from that of the long form."""

    opened: Callable[[object], object]
    short: Callable[[Schema], Schema]

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return no_info_before_validator_function(self._opened, handler(source))

    def _opened(self, value: object) -> object:
        """Expand a value, unless it is a valid table already."""
        return value if isinstance(value, BaseModel) else self.opened(value)

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> Schema:
        long = handler(core)
        return {"anyOf": [self.short(handler.resolve_ref_schema(long)), long]}


def demands(schema: Schema) -> Schema:
    """Return the constraints of a key's schema on its value, without descriptions."""
    return {word: value for word, value in schema.items() if word not in _TOLD}


def with_plugin_keys(
    word: str, built_in: Collection[str] = (), reserved: Collection[str] | None = None
) -> Callable[[Schema], None]:
    """Allow keys of the plugin that the table's key `word` names; without a plugin, reject unknown keys.

    Args:
        word: the key.
        built_in: its values that are not plugins.
        reserved: keys that plugins cannot use; by default all keys of the table.
    """

    def opened(schema: Schema) -> None:
        keys = schema["properties"]
        del keys[PARAMETERS]
        schema["additionalProperties"] = True
        shared = [name for name in keys if reserved is not None and name not in reserved]
        known = {"enum": [*built_in]} if built_in else False
        schema["if"] = {"properties": {word: known}, "additionalProperties": True}
        schema["then"] = {
            "propertyNames": {"enum": [*keys]},
            "properties": {name: demands(keys[name]) for name in shared},
            "additionalProperties": True,
        }
        any_table = {"additionalProperties": True}  # linters with a strict mode require it
        keys |= {
            name: {w: keys[name][w] for w in _TOLD if w in keys[name]} | any_table
            for name in shared
        }

    return opened


class SceneSchema(GenerateJsonSchema):
    """TOML has no null: a key that may be None may be left out."""

    def nullable_schema(self, schema: NullableSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: WithDefaultSchema) -> Schema:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def float_schema(self, schema: FloatSchema) -> Schema:
        """Return the schema of a number, which may also be an expression or a quantity with a unit."""
        return {"anyOf": [super().float_schema(schema), TEXT_NUMBER]}

    def encode_default(self, dft: object) -> object:
        """Return a default as a file writes it."""
        if isinstance(dft, BaseModel):
            return dft.model_dump(exclude_unset=True)
        return super().encode_default(dft)
