"""A contract for import-linter: what a package may import, instead of a list of all that it may not."""

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OnlyContract(Contract):
    """A package imports itself, the standard library and the allowed top-level names, nothing else."""

    type_name = "only"

    package = fields.StringField()
    allowed = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        permitted = {self.package, *self.allowed, *sys.stdlib_module_names}
        links = [
            (importer, imported)
            for importer in sorted({self.package} | graph.find_descendants(self.package))
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported.split(".")[0] not in permitted
        ]
        return ContractCheck(kept=not links, metadata={"links": links})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["links"]:
            output.print_error(f"- {importer} -> {imported}", bold=False)
