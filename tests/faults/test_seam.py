"""A seam that is missing is named with what was asked for, however that is written."""

import pytest

from faults._seam import find


@pytest.mark.parametrize("library", [">=2", "[extra]"])
def test_a_requirement_without_a_name_is_named_as_it_is(library):
    with pytest.raises(LookupError) as told:
        find("no_such_module_here:name", library)

    assert str(told.value).startswith(f"{library}: {library} is not installed, so has no module no_such_module_here")
