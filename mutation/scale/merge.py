"""Put the parts of one campaign together: the folders that its shards have filled, into one folder like any other."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mutation.record import parsed, text

Summary = Mapping[str, Any]


def merge(folders: Sequence[Path], out: Path) -> dict[str, Any]:
    """Merge the files of all shards of a campaign.

    Args:
        folders: one per shard, each of a finished campaign, in any order.
        out: another folder. What an earlier campaign left there is replaced, as a new campaign would; the journals are
            added to its own, so that it serves the next one as a cache.

    Returns:
        The summary.

    Raises:
        ValueError: a folder that no shard has finished; shards that are missing, twice there, or of different
            campaigns; the output folder is one of them.
    """
    if out.resolve() in [folder.resolve() for folder in folders]:
        raise ValueError(f"{out} is the folder of a shard: give another one with --out")
    for folder, count in Counter(folder.resolve() for folder in folders).items():
        if count > 1:
            raise ValueError(f"{folder} was given {count} times: give the folder of each shard once")
    summaries = [parsed(folder / "summary.json", text(folder / "summary.json")) for folder in folders]
    told = united(dict(zip(map(str, folders), summaries)))
    cells = joined(text(folder / "cells.jsonl") for folder in folders)
    journal = "".join(text(folder / "journal.jsonl") for folder in folders)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "journal.jsonl").open("a") as kept:
        kept.write(journal)
    texts = {"cells.jsonl": cells, "summary.json": json.dumps(told, indent=1) + "\n"}
    for name, written in texts.items():
        (out / f"{name}.part").write_text(written)
    for name in texts:
        (out / f"{name}.part").rename(out / name)
    return told


def united(summaries: Mapping[str, Summary]) -> dict[str, Any]:
    """The summary of the whole campaign, from those of its shards by their folder; errors as for `merge`."""
    if not summaries:
        raise ValueError("there is nothing to merge: give the folder of each shard")
    unsharded = [folder for folder, one in summaries.items() if not one.get("shard")]
    if unsharded:
        raise ValueError(f"{unsharded[0]} holds a campaign without --shard: merge takes the parts of one campaign")
    (first, model), *others = summaries.items()
    for folder, other in others:
        for what in ("mode", "asked", "tests", "versions"):
            if other[what] != model[what]:
                raise ValueError(
                    f"{folder} and {first} are of different campaigns, their {what} differ: run all shards on the same "
                    "checkout, with the same options and versions"
                )
    refuse_gaps([tuple(one["shard"]) for one in summaries.values()])
    faults = {name: verdict for one in summaries.values() for name, verdict in one["faults"].items()}
    if sorted(faults) != sorted(model["asked"]) or len(faults) != sum(len(one["faults"]) for one in summaries.values()):
        raise ValueError("the shards do not have each fault of the campaign once: run all of them on the same checkout")
    caches = [one["cache"] for one in summaries.values()]
    return {
        **model,
        "shard": None,
        "faults": dict(sorted(faults.items())),
        "counts": dict(Counter(verdict["status"] for verdict in faults.values())),
        # Each shard draws by its own seed what it verifies.
        "cache": {**added(caches), "share": caches[0]["share"], "seed": [cache["seed"] for cache in caches]},
        "audited": sum(one["audited"] for one in summaries.values()),
        "seconds": added(one["seconds"] for one in summaries.values()),
    }


def refuse_gaps(shards: Sequence[tuple[int, int]]) -> None:
    """Raise unless each part came once.

    Raises:
        ValueError: a part is missing or came twice, or the campaign was parted in two ways.
    """
    parts = shards[0][1]
    if sorted(shards) != [(part, parts) for part in range(1, parts + 1)]:
        came = ", ".join(f"{part}/{of}" for part, of in sorted(shards))
        raise ValueError(f"the shards {came} came: give each of 1/{parts} to {parts}/{parts} once")


def added(columns: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Sums by name."""
    sums: Counter[str] = Counter()
    for column in columns:
        sums.update(column)
    return dict(sums)


def joined(texts: Iterable[str]) -> str:
    """The cells of all shards; what each of them measured without a fault is kept from the first that measured it."""
    seen: set[tuple[str, str, str]] = set()
    kept = []
    for cells in texts:
        for line in cells.splitlines():
            row = json.loads(line)
            ident = (row["fault"], row["part"], row["test"])
            if ident not in seen:
                seen.add(ident)
                kept.append(line + "\n")
    return "".join(kept)
