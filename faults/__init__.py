"""What can be wrong in a training stack: one small file per fault, in a folder per library.

The name of a fault is the name of its file. Listing them needs the standard library alone; a library is imported when
a fault of it is switched on.
"""

from ._catalogue import collect
from ._fault import Fault
from ._plant import Hits, counted, planted
from ._strength import Weakened

CATALOGUE: dict[str, Fault] = collect(list(__path__), __name__)
WEAKENED = Weakened(CATALOGUE)

__all__ = ["CATALOGUE", "WEAKENED", "Fault", "Hits", "counted", "planted"]
