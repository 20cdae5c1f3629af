"""Teaches the small model that reads two statements as one text (`clew/memory/contradictions/pair_model.py`).

    pip install torch transformers safetensors          # a scratch environment; Clew itself needs none of them
    python benchmarks/fit_pair_model.py dump            # in Clew's environment: pairs and neighbours into a file
    python benchmarks/fit_pair_model.py teacher DIR     # DIR: all-mpnet-base-v2; about 40 minutes on two cores
    python benchmarks/fit_pair_model.py label DIR
    python benchmarks/fit_pair_model.py student DIR     # DIR: all-MiniLM-L6-v2; about 20 minutes
    python benchmarks/fit_pair_model.py write DIR       # pair_model.bin, eight bits a weight
    python -m benchmarks.fit_contradictions             # how much the model counts beside the observations

A model eight times as large learns the labelled pairs first. It then judges those and their neighbours, statements of
one hand that are near in meaning and were never put beside each other, and the small one learns what it said: of what
does not contradict there is far more in a memory than anybody writes down. The model that ships was made in two rounds:
the first teacher took every third neighbour for a contradiction, so readers judged 6,700 of those it was most sure or
most in doubt of (`n0` to `n8` in writers.tsv), and it went on with these for an epoch before the small one began. The
small one then went on with the labels alone for five epochs, and for two with plain denials made from the statements
(`is` and `is not`, `all` and `no`, another number), which nobody writes and everybody tries first.
The work lies in `build/pair_model`. What is measured on (`contradictions.UNSEEN`) is never looked at here.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path("build/pair_model")
NEIGHBOURS, LEAST_NEAR = 6, 0.3
"""Statements that each is put beside, and the least cosine of the two."""
EPOCHS, RATE, BATCH = {"teacher": 3, "student": 4}, {"teacher": 6e-5, "student": 2e-4}, 32
DECAY = 0.9
"""A layer learns so much slower than the one above it: what is far below was learned from far more text."""
LABEL_SHARE = 0.5
"""Of what the small model is to say of a labelled pair: the rest is what the large one says."""
MOST_TOKENS, PLACES, HEADS = 96, 128, 12


class Row(NamedTuple):
    one: str
    other: str
    target: float
    weight: float


def dump() -> None:
    """The labelled pairs that may be learned from, and their neighbours. Runs with Clew, not with torch."""
    import numpy as np

    from benchmarks.contradictions import learned
    from clew.recall.models import installed_model, load

    files = installed_model()
    assert files is not None, "the extra `semantic` is needed to find neighbours"
    model, sets, near = load(files), learned(), []
    for rows in sets.values():
        texts = list(dict.fromkeys(text for row in rows for text in row[1:]))
        known = {frozenset(row[1:]) for row in rows}
        vectors = model.embed(texts)
        cosines = vectors @ vectors.T
        for at, row in enumerate(np.argsort(-cosines, axis=1)[:, : NEIGHBOURS + 1]):
            found = [int(other) for other in row if other > at and cosines[at, other] > LEAST_NEAR]
            near += [(texts[at], texts[other]) for other in found if {texts[at], texts[other]} not in known]
    PLACE.mkdir(parents=True, exist_ok=True)
    labelled = [row for rows in sets.values() for row in rows]
    (PLACE / "pairs.json").write_text(json.dumps({"labelled": labelled, "near": near}))
    print(f"{len(labelled)} labelled pairs, {len(near)} neighbours")


def rows_of(role: str) -> list[Row]:
    held = json.loads((PLACE / "pairs.json").read_text())
    labelled = [(label == "C", one, other) for label, one, other in held["labelled"]]
    if role == "teacher":
        return [Row(one, other, float(real), 1.0) for real, one, other in labelled]
    said = json.loads((PLACE / "said.json").read_text())
    near = [Row(one, other, odds, 1.0) for (one, other), odds in zip(held["near"], said[len(labelled) :], strict=True)]
    own = zip(labelled, said, strict=False)
    mixed = [Row(one, other, LABEL_SHARE * real + (1 - LABEL_SHARE) * odds, 1.0) for (real, one, other), odds in own]
    return mixed + near


def judge_of(folder: str, state: str | None = None) -> tuple[Any, Any]:
    """The model with one number at its end, and its tokenizer."""
    import torch  # type: ignore[import-not-found]
    from transformers import AutoModel, AutoTokenizer  # type: ignore[import-not-found]

    class Judge(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.enc = AutoModel.from_pretrained(folder, add_pooling_layer=False)
            self.head = torch.nn.Linear(self.enc.config.hidden_size, 1)

        def forward(self, **given: Any) -> Any:
            mask = given["attention_mask"].unsqueeze(-1)
            known = self.enc(**given).last_hidden_state
            return self.head((known * mask).sum(1) / mask.sum(1)).squeeze(-1)

    model = Judge()
    if state is not None:
        model.load_state_dict(torch.load(PLACE / state))
    return model, AutoTokenizer.from_pretrained(folder)


def given(tokenizer: Any, firsts: list[str], seconds: list[str]) -> dict[str, Any]:
    read = tokenizer(firsts, seconds, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
    return dict(read)


def groups(model: Any, rate: float) -> list[dict[str, Any]]:
    """The weights with how fast they learn. The word table stays: most words occur in no pair."""
    layers = model.enc.encoder.layer
    model.enc.embeddings.word_embeddings.weight.requires_grad_(False)
    below = [item for name, item in model.enc.named_parameters() if ".layer." not in name and item.requires_grad]
    found = [{"params": below, "lr": rate * DECAY ** len(layers)}]
    found += [
        {"params": list(layer.parameters()), "lr": rate * DECAY ** (len(layers) - 1 - at)}
        for at, layer in enumerate(layers)
    ]
    return [*found, {"params": list(model.head.parameters()), "lr": rate * 5}]


def batches(rows: list[Row]) -> Iterator[list[Row]]:
    """In any order, but those of one length together, so that little is padded."""
    random.shuffle(rows)
    found = []
    for start in range(0, len(rows), BATCH * 20):
        part = sorted(rows[start : start + BATCH * 20], key=lambda row: len(row.one) + len(row.other))
        found += [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
    random.shuffle(found)
    yield from found


def teach(role: str, folder: str) -> None:
    import torch

    torch.manual_seed(1)
    random.seed(1)
    rows = rows_of(role)
    model, tokenizer = judge_of(folder)
    optimizer = torch.optim.AdamW(groups(model, RATE[role]), weight_decay=0.01)
    steps = EPOCHS[role] * math.ceil(len(rows) / BATCH)
    slope = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda at: min((at + 1) / (0.06 * steps), 1 - at / steps))
    for epoch in range(EPOCHS[role]):
        model.train()
        began, lost = time.time(), 0.0
        for batch in batches(rows):
            turned = [(row.other, row.one) if random.random() < 0.5 else (row.one, row.other) for row in batch]
            with torch.autocast("cpu", torch.bfloat16):
                odds = model(**given(tokenizer, [one for one, _ in turned], [other for _, other in turned]))
            target, weight = (torch.tensor([getattr(row, name) for row in batch]) for name in ("target", "weight"))
            loss = torch.nn.functional.binary_cross_entropy_with_logits(odds.float(), target, weight=weight)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            slope.step()
            optimizer.zero_grad()
            lost += float(loss)
        print(
            f"{role}: epoch {epoch + 1}, loss {lost * BATCH / len(rows):.3f}, {time.time() - began:.0f} s", flush=True
        )
        torch.save(model.state_dict(), PLACE / f"{role}.pt")


def label(folder: str) -> None:
    """What the teacher says of every pair, as a probability."""
    import torch

    model, tokenizer = judge_of(folder, "teacher.pt")
    held = json.loads((PLACE / "pairs.json").read_text())
    pairs = [row[1:] for row in held["labelled"]] + held["near"]
    order = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]) + len(pairs[at][1]))
    said = [0.0] * len(pairs)
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for start in range(0, len(order), 2 * BATCH):
            part = order[start : start + 2 * BATCH]
            odds = model(**given(tokenizer, [pairs[at][0] for at in part], [pairs[at][1] for at in part]))
            for at, probability in zip(part, odds.float().sigmoid().tolist(), strict=True):
                said[at] = probability
    (PLACE / "said.json").write_text(json.dumps(said))


class File:
    """The numbers of a model one behind the other, and where each stands."""

    def __init__(self) -> None:
        self.arrays: dict[str, dict[str, Any]] = {}
        self.data = bytearray()

    def put(self, name: str, array: Any, type: str = "<f4") -> None:
        self.data += bytes(-len(self.data) % 64)
        self.arrays[name] = {"at": len(self.data), "shape": list(array.shape), "type": type}
        self.data += array.astype(type).tobytes()

    def product(self, name: str, weights: Any, added: Any) -> None:
        whole, scales = rounded(weights.T, 0)
        self.put(f"{name}.whole", whole, "|i1")
        self.put(f"{name}.scales", scales)
        self.put(f"{name}.added", added)

    def norm(self, name: str, weights: dict[str, Any], at: str) -> None:
        self.put(f"{name}.scales", weights[f"{at}.weight"])
        self.put(f"{name}.added", weights[f"{at}.bias"])


def rounded(matrix: Any, axis: int) -> tuple[Any, Any]:
    """Whole numbers from -127 to 127, and a scale for each column or row."""
    import numpy as np

    scales = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True) / 127, 1e-12)
    return np.round(matrix / scales), scales.squeeze(axis)


def write(folder: str) -> None:
    """The student as `pair_model.bin`. Words in other letters than ours go: the model learned nothing about them."""
    import numpy as np

    from clew.memory.contradictions import pair_model

    model, tokenizer = judge_of(folder, "student.pt")
    weights = {name: item.float().numpy() for name, item in model.state_dict().items()}
    numbers = tokenizer.get_vocab()
    words = sorted((word for word in numbers if word.isascii() and not word.startswith("[unused")), key=numbers.get)
    file, below = File(), "enc.embeddings"
    whole, scales = rounded(weights[f"{below}.word_embeddings.weight"][[numbers[word] for word in words]], 1)
    file.put("words", whole, "|i1")
    file.put("word_scales", scales)
    file.put("places", weights[f"{below}.position_embeddings.weight"][:PLACES])
    file.put("sides", weights[f"{below}.token_type_embeddings.weight"])
    file.norm("begun", weights, f"{below}.LayerNorm")
    layers = len(model.enc.encoder.layer)
    for number in range(layers):
        at = f"enc.encoder.layer.{number}"
        asked = [
            [weights[f"{at}.attention.self.{name}.{part}"] for name in ("query", "key", "value")] for part in PARTS
        ]
        # The query is made small here, so that nothing is divided when the model runs.
        narrow = math.sqrt(asked[0][0].shape[0] / HEADS)
        joined = [np.concatenate([part[0] / narrow, *part[1:]]) for part in asked]
        file.product(f"{number}.asked", joined[0], joined[1])
        for name, place in (("joined", "attention.output"), ("wide", "intermediate"), ("narrow", "output")):
            file.product(f"{number}.{name}", *(weights[f"{at}.{place}.dense.{part}"] for part in PARTS))
        file.norm(f"{number}.attended", weights, f"{at}.attention.output.LayerNorm")
        file.norm(f"{number}.passed", weights, f"{at}.output.LayerNorm")
    file.put("judging", weights["head.weight"][0])
    told = {"layers": layers, "heads": HEADS, "judging_added": float(weights["head.bias"][0])}
    head = json.dumps({**told, "arrays": file.arrays, "words": words}, separators=(",", ":")).encode()
    pair_model.PLACE.write_bytes(head + b" " * (-(len(head) + 1) % 64) + b"\n" + bytes(file.data))


PARTS = ("weight", "bias")

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["dump"]:
            dump()
        case ["label", folder]:
            label(folder)
        case ["write", folder]:
            write(folder)
        case [("teacher" | "student") as role, folder]:
            teach(role, folder)
        case _:
            print(__doc__)
