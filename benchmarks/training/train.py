"""Trains the encoder: `python -m benchmarks.training.train FOLDER OUT [name=value ...]`.

FOLDER holds what `prepare` wrote, OUT gets the weights in half precision (`weights.npz`). One step takes questions of
three projects and compares them with all records of the three (contrastive). Similarities between records are held
near those of the base model, so that what it learned from far more text is not lost. With the same options, data and
version of PyTorch the same weights come out on one machine.
"""

from __future__ import annotations

import copy
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.training.network import LAYERS, PASSAGE, QUESTION, Network, network_from
from benchmarks.training.prepare import words_of

Numbers = NDArray[Any]
BUCKET = 32
"""Texts of like length that are read together."""


@dataclass(frozen=True)
class Options:
    steps: int = 200
    rate: float = 1e-4
    decay: float = 0.9
    """A layer learns so much slower than the one above it."""
    temperature: float = 0.05
    anchor: float = 4.0
    """Weight of staying near the base model."""
    projects: int = 3
    """Of a step."""
    questions: int = 40
    """Of each project in a step."""
    word_dropout: float = 0.1
    """Share of a question's word pieces that are left out."""
    threads: int = 0
    seed: int = 1


class Data:
    """Texts as numbers of word pieces; projects with their records and questions."""

    def __init__(self, folder: Path, options: Options) -> None:
        held = dict(np.load(folder / "texts.npz"))
        words = words_of(folder)
        self.begin, self.end = words.index("[CLS]"), words.index("[SEP]")
        self.random = np.random.default_rng(options.seed)
        self._texts = np.split(held["pieces"].astype(np.int64), held["ends"][:-1])
        records, questions = held["records"], held["questions"]
        self.projects = int(records[:, 0].max()) + 1
        self.record_texts, self.question_texts = records[:, 1], questions[:, 1]
        self.records_of = [np.flatnonzero(records[:, 0] == at) for at in range(self.projects)]
        self.questions_of = [np.flatnonzero(questions[:, 0] == at) for at in range(self.projects)]
        self.evidence = _lists(held["evidence"], len(questions))
        self.ignored = _lists(held["ignored"], len(questions))

    def length(self, text: int) -> int:
        return len(self._texts[text])

    def batch(self, texts: Numbers, segment: int, dropped: float) -> tuple[Tensor, Tensor, Tensor]:
        """Word pieces, segments and the mask of some texts, as the network takes them."""
        rows = [np.r_[self.begin, self._kept(self._texts[text], dropped), self.end] for text in texts]
        length = -(-max(map(len, rows)) // 8) * 8
        ids = np.zeros((len(rows), length), np.int64)
        mask = np.zeros((len(rows), length), bool)
        for at, row in enumerate(rows):
            ids[at, : len(row)], mask[at, : len(row)] = row, True
        segments = np.full_like(ids, segment)
        return torch.from_numpy(ids), torch.from_numpy(segments), torch.from_numpy(mask)

    def _kept(self, row: Numbers, dropped: float) -> Numbers:
        if not dropped or len(row) < 4:
            return row
        kept = row[self.random.random(len(row)) >= dropped]
        return kept if len(kept) > 1 else row


def _lists(table: Numbers, count: int) -> list[Numbers]:
    """The second column's values for each value of the first, from 0 to `count`."""
    order = np.argsort(table[:, 0], kind="stable")
    ends = np.searchsorted(table[order, 0], np.arange(1, count))
    return list(np.split(table[order, 1], ends))


def embedded(network: Network, data: Data, texts: Numbers, segment: int, dropped: float = 0.0) -> Tensor:
    """Vectors of texts, read in buckets of like length so that little is padded."""
    device = network.words.device
    order = np.argsort([data.length(text) for text in texts], kind="stable")
    found = []
    for bucket in np.array_split(order, max(1, len(order) // BUCKET)):
        batch = data.batch(texts[bucket], segment, dropped)
        found.append(network.embed(*(part.to(device) for part in batch)))
    return torch.cat(found)[torch.from_numpy(np.argsort(order)).to(device)]


def loss_of_step(network: Network, base: Network, data: Data, options: Options) -> Tensor:
    """Questions among the records of their projects and of the others in the step."""
    count = min(options.projects, data.projects)
    chosen = data.random.choice(data.projects, count, replace=False)
    records = np.concatenate([data.records_of[at] for at in chosen])
    drawn = [data.random.permutation(data.questions_of[at])[: options.questions] for at in chosen]
    questions = np.concatenate(drawn)
    found = embedded(network, data, data.record_texts[records], PASSAGE)
    asked = embedded(network, data, data.question_texts[questions], QUESTION, options.word_dropout)
    wanted, hidden = _marks(data, questions, records)
    loss = contrastive(asked @ found.T / options.temperature, wanted, hidden)
    with torch.no_grad():
        before = embedded(base, data, data.record_texts[records], PASSAGE)
    return loss + options.anchor * F.mse_loss(found @ found.T, before @ before.T)


def _marks(data: Data, questions: Numbers, records: Numbers) -> tuple[Numbers, Numbers]:
    """Which records answer each question, and which must not count against it (older versions of what answers)."""
    place = {int(record): at for at, record in enumerate(records)}
    wanted = np.zeros((len(questions), len(records)), bool)
    hidden = np.zeros_like(wanted)
    for row, question in enumerate(questions):
        wanted[row, [place[int(record)] for record in data.evidence[question]]] = True
        hidden[row, [place[int(record)] for record in data.ignored[question]]] = True
    return wanted, hidden


def contrastive(scores: Tensor, wanted: Numbers, hidden: Numbers) -> Tensor:
    """Each wanted record against all that are neither wanted nor hidden."""
    positive = torch.from_numpy(wanted).to(scores.device)
    ignored = torch.from_numpy(hidden).to(scores.device)
    others = scores.masked_fill(positive | ignored, -1e4).logsumexp(1, keepdim=True)
    losses = torch.logaddexp(others, scores) - scores
    return (losses * positive).sum() / positive.sum()


def optimizer_of(network: Network, options: Options) -> torch.optim.AdamW:
    below = [item for name, item in network.named_parameters() if not name.startswith("layers.")]
    groups = [{"params": below, "lr": options.rate * options.decay**LAYERS}]
    for at, layer in enumerate(network.layers):
        rate = options.rate * options.decay ** (LAYERS - 1 - at)
        groups.append({"params": list(layer.parameters()), "lr": rate})
    return torch.optim.AdamW(groups, weight_decay=0.01)


def pace(done: float) -> float:
    """Share of the full rate: it rises over the first twentieth and then falls to zero."""
    return max(min(done / 0.05, 1.0, (1 - done) / 0.9), 1e-3)


def train(folder: Path, out: Path, options: Options) -> None:
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)
    out.mkdir(parents=True, exist_ok=True)
    data = Data(folder, options)
    network = network_from(folder / "base.npz").to("cuda" if torch.cuda.is_available() else "cpu")
    base = copy.deepcopy(network).eval()
    optimizer = optimizer_of(network, options)
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: pace(step / options.steps))
    network.train()
    losses, began = list[float](), time.monotonic()
    for step in range(1, options.steps + 1):
        loss = loss_of_step(network, base, data, options)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        rates.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        if step % 10 == 0:
            mean, seconds = np.mean(losses[-10:]), time.monotonic() - began
            print(f"step {step} of {options.steps}: loss {mean:.3f}, {seconds:.0f} s", flush=True)
        if step % 50 == 0 or step == options.steps:
            save(network, out)


def save(network: Network, out: Path) -> None:
    state = {name: item.detach().half().cpu().numpy() for name, item in network.state_dict().items()}
    np.savez(out / "weights.npz", **state)


def main(folder: str, out: str, *changes: str) -> None:
    options = Options()
    for change in changes:
        name, value = change.split("=")
        options = replace(options, **{name: type(getattr(options, name))(value)})
    train(Path(folder), Path(out), options)


if __name__ == "__main__":
    main(*sys.argv[1:])
