"""Teaches the small model that reads two statements as one text (`clew/model/pair.py`).

    pip install torch transformers safetensors          # a scratch environment; Clew itself needs none of them
    python benchmarks/fit_pair_model.py dump            # with Clew: all that may be learned from
    python benchmarks/fit_pair_model.py teach DIR       # DIR: all-MiniLM-L6-v2; about an hour on two cores
    python benchmarks/fit_pair_model.py write DIR       # pairs.bin, eight bits a weight
    python -m benchmarks.contradictions thresholds      # from which odds on it is sure, by writers it never saw

`teach` goes on from the model that ships; `teach DIR anew` begins from all-MiniLM-L6-v2. The one that ships was begun
from that, learned from the pairs first (and from what a model eight times as large, begun from all-mpnet-base-v2,
said of their neighbours), and then from the groups. A group is worth more than its pairs: the same statement stands
beside what contradicts it, what says the same and what only looks like a contradiction, so nothing but the meaning
tells them apart. The model learns all three, of which Clew uses the first: what it learned to tell from `the same` it
does not mistake for a contradiction.
Of what neither contradicts nor agrees there is far more in a memory than in any set of pairs: without more of it, one
in seventeen neighbours in a project's memory was taken for a contradiction. So memories of invented projects were
written whose records hold together, and neighbours among them are learned as apart; so are statements that have
nothing to do with each other, which the model otherwise never meets and takes for anything, and, with little weight,
statements of one writer that are near in meaning and stand in different groups, at which nobody looked.
The work lies in `build/pair_model`. What is measured on (`contradictions.UNSEEN`) is never looked at here, nor are the
writers by whom its thresholds are chosen (`contradictions.WEIGHING`).
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from benchmarks.training.export import WeightWriter

PLACE = Path("build/pair_model")
NEIGHBOURS, LEAST_NEAR = 4, 0.35
"""The number of statements of other groups that each is compared with, and their minimum cosine."""
PASSES, RATE, BATCH = 8, 1.2e-4, 32
LEVEL = 0.35
"""Share of the steps at the full rate; after it the rate decreases to zero."""
NEW_SHARE = 0.6
"""Of the weights: the mean of the model that ships and of what became of it ranks pairs that neither saw better (.919)
than either alone (.908, .910)."""
SHARES = {"pairs": 0.2, "groups": 0.25, "neighbours": 0.25}
"""Of what the model that ships has learned already, so much comes again in each pass; all where a new one begins."""
DECAY = 0.9
"""A layer learns so much slower than the one above it: what is far below was learned from far more text."""
SMOOTHED = 0.04
"""Of each label: a few are wrong, and nothing is certain."""
NEAR_SHARE, NEAR_WEIGHT = 0.08, 0.5
"""Unreviewed neighbours in addition to the others, and the weight of each."""
PAIR_KINDS = {"C": 0, "E": 1, "N": 2}
"""Rows of the model's head. What is only known not to contradict (R) is learned as either of the last two."""
EITHER = 3
MOST_TOKENS, POSITIONS, HEADS = 96, 128, 12


class Row(NamedTuple):
    one: str
    other: str
    kind: int
    weight: float


def dump() -> None:
    """Write the training data, and the neighbours in it. Runs with Clew, not with torch."""
    from benchmarks.contradictions import WEIGHING, Group, groups, learned, memories, strangers, weighing
    from clew.recall.models import installed_model, load

    def near(found: list[Group]) -> list[tuple[str, str]]:
        texts = [(at, text) for at, group in enumerate(found) for text in group.statements]
        vectors = model.embed([text for _, text in texts])
        cosines = vectors @ vectors.T
        pairs = []
        for at, row in enumerate((-cosines).argsort(axis=1)):
            others = [int(other) for other in row[: 4 * NEIGHBOURS] if texts[other][0] != texts[at][0]]
            pairs += [(at, other) for other in others[:NEIGHBOURS] if cosines[at, other] > LEAST_NEAR]
        return [(texts[one][1], texts[other][1]) for one, other in pairs]

    model = load(installed_model())
    written = {name: found for name, found in groups().items() if name not in WEIGHING}
    kept = [memory for name, found in memories().items() if name not in WEIGHING for memory in found]
    apart = [pair for found in written.values() for pair in strangers([group.statements for group in found])]
    apart += [pair for memory in kept for pair in strangers([(text,) for text in memory.records])]
    held: dict[str, list[Any]] = {
        "pairs": [row for rows in learned().values() for row in rows],
        "neighbours": [pair for memory in kept for pair in memory.neighbours()] + apart,
        "memories": [group.marked() for memory in kept for group in memory.groups],
        "groups": [group.marked() for found in written.values() for group in found],
        "weighing": [row for rows in weighing().values() for row in random.Random(1).sample(rows, min(400, len(rows)))],
        "near": [pair for found in written.values() for pair in near(found)],
    }
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "learned.json").write_text(json.dumps(held))
    print(", ".join(f"{len(rows)} {name}" for name, rows in held.items()))


def rows_of_a_pass(held: dict[str, Any], anew: bool) -> list[Row]:
    """What is learned from in one pass: all of what was written about the records of memories, and of the rest all or
    some. In other words (not the base) a group has most of its pairs, which are much alike, so of those some are
    taken."""

    def some(name: str) -> list[Any]:
        return held[name] if anew else random.sample(held[name], int(SHARES[name] * len(held[name])))

    rows = [Row(one, other, PAIR_KINDS["C"] if label == "C" else EITHER, 1.0) for label, one, other in some("pairs")]
    rows += [Row(one, other, PAIR_KINDS[mark], 1.0) for mark, one, other in some("neighbours")]
    for group in [*held["memories"], *some("groups")]:
        base = group[0][1]
        rows += [Row(one, other, PAIR_KINDS[mark], 1.0) for mark, one, other in group if one == base]
        rephrased = [pair for pair in group if pair[1] != base]
        for mark, most in (("C", 4), ("N", 3)):
            chosen = [(one, other) for known, one, other in rephrased if known == mark]
            sample = random.sample(chosen, min(most, len(chosen)))
            rows += [Row(one, other, PAIR_KINDS[mark], 1.0) for one, other in sample]
    near = random.sample(held["near"], min(len(held["near"]), int(NEAR_SHARE * len(rows))))
    return rows + [Row(one, other, PAIR_KINDS["N"], NEAR_WEIGHT) for one, other in near]


def judge_of(folder: str, state: Path | None = None, anew: bool = False) -> tuple[Any, Any]:
    """The model with three numbers at its end, and its tokenizer. Only a new one needs the weights in the folder."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer  # type: ignore[import-not-found]

    class Judge(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            if anew:
                self.enc = AutoModel.from_pretrained(folder, add_pooling_layer=False)
            else:
                self.enc = AutoModel.from_config(AutoConfig.from_pretrained(folder), add_pooling_layer=False)
            self.head = torch.nn.Linear(self.enc.config.hidden_size, len(PAIR_KINDS))

        def forward(self, **given: Any) -> Any:
            mask = given["attention_mask"].unsqueeze(-1)
            rows = self.enc(**given).last_hidden_state
            return self.head((rows * mask).sum(1) / mask.sum(1))

    model = Judge()
    if state is not None:
        model.load_state_dict(torch.load(state))
    return model, AutoTokenizer.from_pretrained(folder)


def shipped(weights: dict[str, Any], vocabulary: dict[str, int]) -> None:
    """Load the weights of the shipped model instead of the initial ones."""
    import torch

    from clew.model.pair import pair_model
    from clew.model.transformer import LayerNorm, Linear

    def put(name: str, numbers: Any) -> None:
        weights[name][: len(numbers)] = torch.tensor(numbers)

    def put_linear(name: str, linear: Linear) -> None:
        put(f"{name}.weight", (linear.weights * linear.scales).T)
        put(f"{name}.bias", linear.bias)

    def put_norm(name: str, norm: LayerNorm) -> None:
        put(f"{name}.weight", norm.scales)
        put(f"{name}.bias", norm.bias)

    judge, below = pair_model(), "enc.embeddings"
    known = judge.transformer
    for word, row in zip(known.words.numbers, known.words.rows * known.words.scales[:, None], strict=True):
        weights[f"{below}.word_embeddings.weight"][vocabulary[word]] = torch.tensor(row)
    put(f"{below}.position_embeddings.weight", known.positions)
    put(f"{below}.token_type_embeddings.weight", known.segments)
    put_norm(f"{below}.LayerNorm", known.embedding_norm)
    for number, layer in enumerate(known.layers):
        at, asked = f"enc.encoder.layer.{number}", layer.query_key_value
        size = len(asked.bias) // 3
        for part, name in enumerate(("query", "key", "value")):
            # The query was scaled down when the model was written.
            scale, columns = (math.sqrt(size / HEADS) if part == 0 else 1.0), slice(part * size, (part + 1) * size)
            put(f"{at}.attention.self.{name}.weight", (asked.weights * asked.scales)[:, columns].T * scale)
            put(f"{at}.attention.self.{name}.bias", asked.bias[columns] * scale)
        put_linear(f"{at}.attention.output.dense", layer.attention_output)
        put_linear(f"{at}.intermediate.dense", layer.feed_up)
        put_linear(f"{at}.output.dense", layer.feed_down)
        put_norm(f"{at}.attention.output.LayerNorm", layer.attention_norm)
        put_norm(f"{at}.output.LayerNorm", layer.output_norm)
    put("head.weight", judge.head)
    put("head.bias", judge.head_bias)


def parameter_groups(model: Any) -> list[dict[str, Any]]:
    """The weights with their learning rates. The word table is frozen: most words occur in no pair."""
    layers = model.enc.encoder.layer
    model.enc.embeddings.word_embeddings.weight.requires_grad_(False)
    below = [item for name, item in model.enc.named_parameters() if ".layer." not in name and item.requires_grad]
    found = [{"params": below, "lr": RATE * DECAY ** len(layers)}]
    found += [
        {"params": list(layer.parameters()), "lr": RATE * DECAY ** (len(layers) - 1 - at)}
        for at, layer in enumerate(layers)
    ]
    return [*found, {"params": list(model.head.parameters()), "lr": RATE * 2}]


def batches(rows: list[Row]) -> Iterator[list[Row]]:
    """In any order, but those of one length together, so that little is padded."""
    random.shuffle(rows)
    found = []
    for start in range(0, len(rows), BATCH * 20):
        part = sorted(rows[start : start + BATCH * 20], key=lambda row: len(row.one) + len(row.other))
        found += [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
    random.shuffle(found)
    yield from found


def loss_of(model: Any, tokenizer: Any, batch: list[Row]) -> Any:
    import torch

    turned = [(row.other, row.one) if random.random() < 0.5 else (row.one, row.other) for row in batch]
    firsts, seconds = ([pair[at] for pair in turned] for at in (0, 1))
    given = tokenizer(firsts, seconds, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
    with torch.autocast("cpu", torch.bfloat16):
        scores = model(**given)
    logs = torch.nn.functional.log_softmax(scores.float(), 1)
    kinds, weights = (torch.tensor([getattr(row, name) for row in batch]) for name in ("kind", "weight"))
    exact = logs.gather(1, kinds.clamp(max=EITHER - 1)[:, None]).squeeze(1)
    said = torch.where(kinds == EITHER, torch.logsumexp(logs[:, 1:], 1), exact)
    return -((1 - SMOOTHED) * said + SMOOTHED * logs.mean(1)).mul(weights).mean()


def teach(folder: str, anew: bool) -> None:
    import torch

    torch.manual_seed(1)
    random.seed(1)
    model, tokenizer = judge_of(folder, anew=anew)
    if not anew:
        weights = model.state_dict()
        shipped(weights, tokenizer.get_vocab())
        model.load_state_dict(weights)
    before = {name: item.clone() for name, item in model.state_dict().items()}
    optimizer = torch.optim.AdamW(parameter_groups(model), weight_decay=0.01)
    rates = [group["lr"] for group in optimizer.param_groups]
    for number in range(PASSES):
        # Read again for each pass: data written since the last one counts too.
        held = json.loads((PLACE / "learned.json").read_text())
        rows = rows_of_a_pass(held, anew)
        model.train()
        began, losses = time.time(), []
        for at, batch in enumerate(batches(rows)):
            done = (number + at * BATCH / len(rows)) / PASSES
            pace = min((done * PASSES + 0.01) / 0.2, 1.0, (1 - done) / (1 - LEVEL))
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * pace
            loss = loss_of(model, tokenizer, batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(float(loss.detach()))
        ranked = ranking(model, tokenizer, held["weighing"])
        told = f"pass {number + 1}: {len(rows)} pairs, loss {sum(losses) / len(losses):.3f}, ranking {ranked:.3f}"
        print(f"{told}, {time.time() - began:.0f} s", flush=True)
        torch.save(model.state_dict(), PLACE / "model.pt")
    if not anew:
        torch.save(mean_of(before, model.state_dict()), PLACE / "model.pt")


def mean_of(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: item.lerp(after[name], NEW_SHARE) for name, item in before.items()}


def ranking(model: Any, tokenizer: Any, pairs: list[Any]) -> float:
    """How often a contradiction ranks above another pair, among those that the model never learned from."""
    import torch

    model.eval()
    odds = []
    for start in range(0, len(pairs), BATCH):
        firsts, seconds = ([pair[at] for pair in pairs[start : start + BATCH]] for at in (1, 2))
        given = tokenizer(firsts, seconds, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            scores = model(**given).float()
        odds += (scores[:, 0] - torch.logsumexp(scores[:, 1:], 1)).tolist()
    ranks = {at: rank for rank, at in enumerate(sorted(range(len(odds)), key=odds.__getitem__))}
    real = [at for at, pair in enumerate(pairs) if pair[0] == "C"]
    below = sum(ranks[at] for at in real) - len(real) * (len(real) - 1) / 2
    return below / (len(real) * (len(pairs) - len(real)))


def write(folder: str, state: Path) -> None:
    """The model as `pairs.bin`. Words in other letters than ours go: the model learned nothing about them."""
    from benchmarks.training.export import WeightWriter, rounded
    from clew_memory_model import PAIRS

    model, tokenizer = judge_of(folder, state)
    weights = {name: item.float().numpy() for name, item in model.state_dict().items()}
    numbers = tokenizer.get_vocab()
    words = sorted((word for word in numbers if word.isascii() and not word.startswith("[unused")), key=numbers.get)
    file, below = WeightWriter(), "enc.embeddings"
    whole, scales = rounded(weights[f"{below}.word_embeddings.weight"][[numbers[word] for word in words]], 1)
    file.put("words", whole, "|i1")
    file.put("word_scales", scales)
    file.put("positions", weights[f"{below}.position_embeddings.weight"][:POSITIONS])
    file.put("segments", weights[f"{below}.token_type_embeddings.weight"])
    file.norm("embedding_norm", *norm_of(weights, f"{below}.LayerNorm"))
    layers = len(model.enc.encoder.layer)
    for number in range(layers):
        write_layer(file, number, weights)
    file.put("head", weights["head.weight"])
    file.put("head_bias", weights["head.bias"])
    file.write(PAIRS, layers=layers, heads=HEADS, words=words)


def norm_of(weights: dict[str, Any], at: str) -> tuple[Any, Any]:
    return weights[f"{at}.weight"], weights[f"{at}.bias"]


def write_layer(file: WeightWriter, number: int, weights: dict[str, Any]) -> None:
    import numpy as np

    at, parts = f"enc.encoder.layer.{number}", ("weight", "bias")
    asked = [[weights[f"{at}.attention.self.{name}.{part}"] for name in ("query", "key", "value")] for part in parts]
    # The query is scaled down here, so that no division is needed at inference.
    narrow = math.sqrt(asked[0][0].shape[0] / HEADS)
    joined = [np.concatenate([part[0] / narrow, *part[1:]]) for part in asked]
    file.linear(f"{number}.query_key_value", *joined)
    for name, place in (("attention_output", "attention.output"), ("feed_up", "intermediate"), ("feed_down", "output")):
        file.linear(f"{number}.{name}", *(weights[f"{at}.{place}.dense.{part}"] for part in parts))
    file.norm(f"{number}.attention_norm", *norm_of(weights, f"{at}.attention.output.LayerNorm"))
    file.norm(f"{number}.output_norm", *norm_of(weights, f"{at}.output.LayerNorm"))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["dump"]:
            dump()
        case ["teach", folder, *more]:
            teach(folder, anew=more == ["anew"])
        case ["write", folder, *more]:
            write(folder, Path(*more) if more else PLACE / "model.pt")
        case _:
            print(__doc__)
