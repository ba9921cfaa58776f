"""The files that a campaign is turned into, and the schema of the first."""

import json
from pathlib import Path

import jsonschema
import pytest

import mutation.export
from mutation.status import Effect, Status
from tests.mutation.folder import exported, mixed, read


@pytest.fixture
def folder(tmp_path):
    return mixed(tmp_path / "out")


def test_the_four_files_lie_beside_the_cells(folder):
    exported(folder)

    assert {"cells.jsonl", "summary.json", "matrix.json", "matrix.html", "junit.xml", "elements.json"} == {
        file.name for file in folder.iterdir()
    }


@pytest.fixture
def schema():
    return json.loads(Path(mutation.export.__file__).with_name("matrix.schema.json").read_text())


def test_the_schema_is_one(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("mode", ["first", "matrix"])
def test_the_matrix_is_what_its_schema_says(folder, schema, mode):
    summary = read(folder, "summary.json")
    (folder / "summary.json").write_text(json.dumps(summary | {"mode": mode}))
    exported(folder)

    assert [] == list(jsonschema.Draft202012Validator(schema).iter_errors(read(folder, "matrix.json")))


def test_the_schema_knows_no_other_field(folder, schema):
    exported(folder)

    with pytest.raises(jsonschema.ValidationError, match="'more'"):
        jsonschema.validate(read(folder, "matrix.json") | {"more": 1}, schema)


def test_every_object_of_the_schema_is_closed(schema):
    objects = [schema, *schema["$defs"].values(), schema["$defs"]["fault"]["properties"]["cells"]["items"]]
    listed = [each for each in objects if "properties" in each]

    assert 5 == len(listed)
    assert [] == [each for each in listed if set(each["required"]) != set(each["properties"])]
    assert [] == [each for each in listed if each["additionalProperties"] is not False]


def test_the_schema_names_every_status(schema):
    assert {str(status) for status in Status} == set(schema["$defs"]["status"]["enum"])


def test_the_schema_names_every_effect(schema):
    assert {str(effect) for effect in Effect} == set(schema["$defs"]["fault"]["properties"]["effect"]["enum"])
