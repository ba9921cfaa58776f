"""Plants the fault of a campaign, or its counters, in a Python process that a test has started.

Python imports this file at its start, because the campaign puts this folder on PYTHONPATH. It costs next to nothing
before the module of a seam is imported. A sitecustomize that stands elsewhere on the path still runs.
"""

import os
import sys


class Planter:
    """An import hook that acts when one of the modules has been executed.

    Attributes:
        file: where calls are counted, and where a failure is told.
        place: the fault, or nothing where the calls are only counted.
        path: where the modules of the campaign are found.
        seams: of each module, numbered as the campaign numbers them.
    """

    def __init__(self, file, place, path, *seams):
        self.file, self.place, self.path = file, place, path.split(os.pathsep)
        self.seams = {}
        for number, seam in enumerate(seams):
            self.seams.setdefault(seam.partition(":")[0], {})[seam] = number

    def find_spec(self, name, path=None, target=None):
        """Leave the search to the others, and act behind what they find."""
        if name not in self.seams:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, found), None)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_plant(module):
                execute(module)
                # A loader may be one and the same for many modules, as that which rewrites assertions.
                if module.__name__ == name:
                    self.plant(name)

            spec.loader.exec_module = execute_and_plant
        return spec

    def plant(self, name):
        """Plant in one module, and tell the campaign if that fails: this process must run on all the same."""
        seams = self.seams.pop(name, {})
        kept = list(sys.path)
        # In front: the campaign's own code, even where another copy of it is installed.
        sys.path[:] = self.path + kept
        try:
            from faults._started import plant

            plant(self.file, self.place, seams)
        except BaseException as error:
            told = f"!{type(error).__name__}: {' '.join(str(error).split())}\n"
            out = os.open(self.file, os.O_WRONLY | os.O_APPEND)
            os.write(out, told.encode())
            os.close(out)
        finally:
            sys.path[:] = kept


def run_the_other():
    """Run the sitecustomize that would have been found without this one."""
    here = os.path.dirname(__file__)
    kept, mine = list(sys.path), sys.modules.pop(__name__)
    sys.path[:] = [folder for folder in kept if os.path.abspath(folder) != here]
    try:
        __import__(__name__)
    except ModuleNotFoundError as error:
        if error.name != mine.__name__:
            raise
    finally:
        sys.path[:] = kept
        sys.modules.setdefault(mine.__name__, mine)


def follow_orders(text):
    """Plant in what is imported already, and wait for the rest."""
    planter = Planter(*text.split("\n"))
    sys.meta_path.insert(0, planter)
    for name in [name for name in planter.seams if name in sys.modules]:
        planter.plant(name)


if "WEIGHBRIDGE_PLANTED" in os.environ:
    follow_orders(os.environ["WEIGHBRIDGE_PLANTED"])
run_the_other()
