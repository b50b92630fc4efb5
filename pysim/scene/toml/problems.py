"""Collection of a scene's problems, which are reported together, one line each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pysim.errors import JointError, SceneError, did_you_mean
from pysim.scene.toml.plugin_keys import PARAMETERS, keys_of
from pysim.scene.toml.records.keys import ALL_JOINTS
from pysim.scene.toml.records.table import Table, table_in
from pysim.scene.toml.source import key_text
from pysim.scene.toml.union_errors import KINDS, choose

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from pysim.errors import PysimError
    from pysim.scene.toml.source import Source, Step

_MOST_LISTED = 20
_KEYS_LISTED = 6


@dataclass
class Problems:
    """Problems of one file that have been found so far."""

    source: Source
    entries: list[tuple[tuple[int, int, int], str, str]] = field(default_factory=list)
    _places: set[str] = field(default_factory=set)
    _steps: dict[tuple[int, int, int], tuple[Step, ...]] = field(default_factory=dict)  # of values

    def add(
        self, path: Iterable[Step], problem: str, *, of_key: bool = False, offset: int | None = None
    ) -> None:
        """Note what is wrong with a value, or with a key; of several at one place the first is kept.

        An offset is the number of characters of a text before the place that is meant.
        """
        steps = tuple(path)
        where = self.source.where(steps, of_key=of_key)
        if offset is not None:
            within = self.source.where_within(steps, offset)
            if within != where:
                self._places.add(where)  # the text itself is not reported again
            where = within
        position = self.source.position(steps, of_key=of_key)
        before = self._steps.get(position)
        if where in self._places or (before is not None and steps[: len(before)] == before):
            return  # of a shorthand, what its long form lacks is not reported again
        self._places.add(where)
        if not of_key:
            self._steps[position] = steps
        self.entries.append((position, where, problem))

    def add_from(self, path: Iterable[Step], error: PysimError) -> None:
        """Note the problems of another file that the table at a path names, at their places in that file."""
        if error.where not in self._places:
            self._places.add(error.where)
            self.entries.append((self.source.position(path), error.where, error.problem))

    def add_unknown(
        self,
        path: Iterable[Step],
        noun: str,
        name: str,
        known: Iterable[str],
        *,
        of_key: bool = False,
    ) -> None:
        """Note a name that nothing of a kind has, such as noun "joint", with the known one that is meant.

        Only as long as it would be shown, because a suggestion is slow among thousands of names.
        """
        hint = did_you_mean(name, known) if len(self.entries) < _MOST_LISTED else ""
        self.add(path, f"unknown {noun} {name!r}{hint}", of_key=of_key)

    def unset(self, *path: Step) -> str:
        """Return the option that removes a key of the file; "" without overrides."""
        return f" (--unset {key_text(path)})" if self.source.overridden else ""

    def add_invalid(self, error: ValidationError, table: type[Table]) -> None:
        """Add the errors that pydantic found."""
        errors = choose(error.errors(include_url=False), self.source.values)
        for steps, details, demand in errors:
            path = tuple(step for step in steps if step != ALL_JOINTS)
            of_key = details["type"] == "extra_forbidden"
            try:
                own = keys_of(self.source.values, path[:-1]) if of_key else ()
            except JointError as unknown:
                self.add((*path[:-1], "type"), unknown.problem)
                continue
            problem = _problem(details, steps, table, own, demand) + self._excluded(path, details)
            self.add(path, problem, of_key=of_key)

    def _excluded(self, path: tuple[Step, ...], details: ErrorDetails) -> str:
        """Return the option that removes a key of the file which excludes one set on the command line."""
        _, got, kinds = str(details.get("ctx", {}).get("text", "")).partition(", got ")
        if not (got and self.source.overridden):
            return ""
        set_ = {steps[: len(path) + 1] for steps in self.source.overridden}
        in_file = [kind for kind in kinds.split(" and ") if (*path, kind) not in set_]
        return self.unset(*path, in_file[0]) if kinds.count(" and ") and in_file else ""

    def check(self) -> None:
        """Raise the collected errors, in the order of the file.

        Raises:
            SceneError: there are errors; one line for each.
        """
        if not self.entries:
            return
        (_, where, problem), *others = sorted(self.entries)
        lines = [problem, *(f"{w}: {p}" for _, w, p in others[: _MOST_LISTED - 1])]
        left = len(self.entries) - _MOST_LISTED
        if left > 0:
            lines.append(f"{self.source.name}: {left} more errors; fix these first")
        raise SceneError(where, "\n".join(lines)) from None


def shown(value: object) -> str:
    """Return a value as TOML writes it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _problem(
    error: ErrorDetails,
    path: tuple[Step, ...],
    table: type[Table],
    own_keys: tuple[str, ...] = (),
    demand: str = "",
) -> str:
    kind, got, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        owner, _ = field_at(table, path[:-1])
        known = {*own_keys, *(owner.model_fields if owner else ())} - {PARAMETERS}
        return f"unknown key{did_you_mean(str(path[-1]), known)}"
    inner, info = field_at(table, path)
    unit = _unit(info)
    if demand:
        return f"must be {demand}{unit}, got {shown(got)}" + _quotes(table, path, got)
    if kind == "missing":
        return f"is missing; add it: {info.description if info else ''}{unit}"
    if kind == "pysim":
        return str(context["text"])
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error" and info is not None:
        return f"unknown value {shown(got)}{did_you_mean(str(got), _choices(info.annotation))}"
    if kind == "list_type" and isinstance(got, dict) and inner is not None:
        name = ".".join(step for step in path if isinstance(step, str))
        return f"must be a list of tables; write [[{name}]]"
    if kind == "model_type" and inner is not None:
        name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
        if isinstance(got, list) and got and all(isinstance(item, dict) for item in got):
            return f"must be one table, not a list of tables; write [{name}]"
        table_text = corrected(inner, got)
        remedy = f"; write {name} = {table_text}" if table_text else ""
        return f"must be a table, {_outlined(inner)}, got {shown(got)}{remedy}"
    problem = f"must {_demand(kind, got, context)}{unit}, got {_got(kind, got, context)}"
    return problem + _quotes(table, path, got)


def _choices(annotation: Any) -> list[str]:  # noqa: ANN401, a type
    """Return the values of the literals in a type, such as a list of them."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return [value for part in get_args(annotation) for value in _choices(part)]


def _quotes(table: type[Table], path: tuple[int | str, ...], got: object) -> str:
    """Return a hint that a name with a dot needs quotes if TOML parsed it as a table."""
    _, info = field_at(table, path[:-1])
    if not isinstance(got, dict) or not got or info is None or "dict[" not in str(info.annotation):
        return ""
    name = f"{path[-1]}.{next(iter(got))}"
    return f'; a name with a dot needs quotes: "{name}" = {shown(next(iter(got.values())))}'


def corrected(table: type[Table], got: object) -> str:
    """Return the table that a list of numbers, or a signal's name, was probably meant to be, "" if there is none."""
    if isinstance(got, str) and "signal" in table.model_fields:
        return f'{{ signal = "{got}" }}'
    if not isinstance(got, list) or not all(type(item) in {int, float} for item in got):
        return ""
    fields = table.model_fields
    keys = {3: ("xx", "yy", "zz"), 2: ("lower", "upper")}.get(len(got), ())
    if len(got) == 3 and "xyz" in fields:
        return f"{{ xyz = {shown(got)} }}"
    if not keys or not set(keys) <= set(fields):
        return ""
    pairs = ", ".join(f"{key} = {shown(item)}" for key, item in zip(keys, got, strict=True))
    return f"{{ {pairs} }}"


def _outlined(table: type[Table]) -> str:
    """Return a table's required keys as they would be written, or optional ones if none is required."""
    fields = table.model_fields
    listed = [name for name, info in fields.items() if info.is_required()] or list(fields)[
        :_KEYS_LISTED
    ]
    more = ", …" if len(listed) < len(fields) else ""
    return f"{{ {', '.join(f'{name} = …' for name in listed)}{more} }}"


def _demand(kind: str, got: object, context: Mapping[str, Any]) -> str:
    if kind in KINDS:
        return f"be {KINDS[kind]}"
    if kind == "greater_than":
        return "be positive"
    if kind == "greater_than_equal":
        return f"be at least {context['ge']:g}" if context.get("ge") else "not be negative"
    if kind in {"less_than", "less_than_equal"}:
        word = "below" if kind == "less_than" else "at most"
        return f"be {word} {context.get('lt', context.get('le')):g}"
    if kind in {"too_short", "too_long"}:
        if got in ([], {}):
            return "not be empty"
        names = isinstance(got, list) and any(isinstance(item, str) for item in got)
        count = context.get("min_length", context.get("max_length"))
        if isinstance(got, list) and got and isinstance(got[0], dict):
            return f"have at most {count} tables"
        return f"have {count} {'names' if names else 'numbers'}"
    if kind == "string_too_short":
        return "not be empty"
    return f"be valid ({kind.replace('_', ' ')})"


def _got(kind: str, got: object, context: Mapping[str, Any]) -> str:
    if kind in {"too_short", "too_long"} and got not in ([], {}):
        return "more" if context["actual_length"] is None else str(context["actual_length"])
    return shown(got)


def _unit(info: FieldInfo | None) -> str:
    extra = info.json_schema_extra if info else None
    unit = extra.get("unit") if isinstance(extra, dict) else ""
    return f" [{unit}]" if unit else ""


def field_at(
    table: type[Table], path: Iterable[Step]
) -> tuple[type[Table] | None, FieldInfo | None]:
    """Return the table below a path, and the last field before it."""
    owner: type[Table] | None = table
    info: FieldInfo | None = None
    for step in path:
        if owner is not None and step in owner.model_fields:
            info = owner.model_fields[str(step)]
            owner = table_in(info.annotation)
    return owner, info


def is_list_of_tables(info: FieldInfo) -> bool:
    """Return whether a key is written as [[name]]."""
    return get_origin(info.annotation) is list and table_in(info.annotation) is not None
