"""Trains berth-tiny.gguf on the corpus of write_corpus.py. An interrupted run resumes from its last checkpoint."""

import argparse
import collections
import copy
import gc
import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Small matrices gain little from a second BLAS thread. Splitting the batch between our own threads scales
# almost linearly.
os.environ['OMP_NUM_THREADS'] = '1'
import torch
from torch.nn import functional

from chat_format import TEMPLATE, render
from lexicon import CAPITALS, DAYS, MONTHS
from model import Llama, create_optimizers, save_gguf, set_progress
from tokenizer import train_tokenizer

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / 'catalog' / 'weights'
BUILD = HERE / 'build'
SEED = 8
SIZE = dict(width=128, layers=5, heads=4, feed_forward=384, context=2048)
# Tokens in one thread's part of a batch, and the row lengths it may consist of. Each dialogue goes into the
# shortest row that holds it.
PART = 1024
ROWS = (192, 512, 1024)
# Loss weight of an answer's first token, which decides the topic of the answer.
FIRST = 4
# Comparing a question with a sentence is a skill that emerges abruptly or never: a few examples per batch
# leave it at chance. For a stretch of the training, after the learning rates have halved, this share of the
# dialogues is of that kind. The other kinds recover afterwards, and this skill remains.
FOCUS = dict(kind='yes_no', share=0.8, begin=0.68, end=0.76)
# Rows filled concurrently, to reduce padding.
OPEN_ROWS = 32
# Words with at least this many occurrences become single tokens. So do names that people often type in
# lowercase.
LEAST = 225
IN_LOWER_CASE = {f' {name.lower()}' for name in [*DAYS, *MONTHS, *(country.split()[-1] for country, _ in CAPITALS)]}
DESCRIPTION = {
    'general.name': 'Berth Tiny',
    'general.description': 'A very small model for trying Berth out, trained on made-up dialogues.',
    'tokenizer.chat_template': TEMPLATE,
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--steps', type=int, default=11_500)
    arguments.add_argument('--threads', type=int, default=2)
    arguments.add_argument('--out', type=Path, default=WEIGHTS / 'berth-tiny.gguf')
    options = arguments.parse_args()
    torch.manual_seed(SEED)
    threads = ThreadPoolExecutor(options.threads)

    checkpoint = BUILD / 'checkpoint.pt'
    saved = torch.load(checkpoint) if checkpoint.exists() else None
    dialogues = [json.loads(line) for line in open(BUILD / 'corpus.jsonl')]
    texts = [render(dialogue['messages'], dialogue.get('tools', ())) for dialogue in dialogues]
    tokenizer = saved['tokenizer'] if saved else \
        train_tokenizer((''.join(part for part, _ in text) for text in texts), LEAST, IN_LOWER_CASE)
    documents = [encode(tokenizer, text) for text in texts]
    batches = make_course(documents, [dialogue['kind'] for dialogue in dialogues], options.steps, options.threads)
    validation = [json.loads(line) for line in open(BUILD / 'validation.jsonl')]
    model = Llama(len(tokenizer.tokens), **SIZE)
    optimizers = create_optimizers(model, muon_rate=0.012, adam_rate=0.004, threads=threads)
    print(f'{sum(p.numel() for p in model.parameters())} parameters, {len(tokenizer.tokens)} tokens, '
          f'{len(batches)} batches of {len(dialogues)} dialogues', flush=True)

    first, spent = 0, 0.0
    if saved:
        model.load_state_dict(saved['model'])
        for optimizer, state in zip(optimizers, saved['optimizers']):
            optimizer.load_state_dict(state)
        first, spent = saved['step'], saved['spent']
    replicas = [model, *(replicate(model) for _ in range(options.threads - 1))]

    # Exclude millions of permanent lists from garbage collection.
    gc.freeze()
    begun = time.process_time()
    total = 0.0
    for step in range(first, options.steps):
        set_progress(optimizers, step / options.steps)
        loss = train_on(replicas, batches[step], threads)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        total += loss
        if (step + 1) % 100 == 0:
            seconds = spent + time.process_time() - begun
            print(f'step {step + 1}, loss {total / 100:.4f}, {seconds:.0f} s of CPU time', flush=True)
            total = 0.0
        last = step + 1 == options.steps
        if (step + 1) % 250 == 0 or last:
            torch.save({'model': model.state_dict(), 'optimizers': [optimizer.state_dict() for optimizer in optimizers],
                        'tokenizer': tokenizer, 'step': step + 1, 'spent': spent + time.process_time() - begun},
                       BUILD / 'checkpoint.new')
            (BUILD / 'checkpoint.new').replace(checkpoint)
        if (step + 1) % 1000 == 0 or last:
            print(report(model, tokenizer, validation), flush=True)
    save_gguf(options.out, model, tokenizer, DESCRIPTION)
    checkpoint.unlink()


def encode(tokenizer, parts):
    """Encodes a dialogue to tokens and loss weights. The weight is zero for text that the model does not generate."""
    tokens, weights = [], []
    for text, own in parts:
        ids = tokenizer.encode(text)
        tokens += ids
        weights += [FIRST, *[1] * (len(ids) - 1)] if own and ids else [0] * len(ids)
    return tokens, weights


def make_course(documents, kinds, steps, parts):
    """Plans the batches of the whole training: all dialogues shuffled, except the stretch described by FOCUS."""
    begin, end = (round(steps * FOCUS[name]) for name in ('begin', 'end'))
    of_kind = [document for document, kind in zip(documents, kinds) if kind == FOCUS['kind']]
    others = [document for document, kind in zip(documents, kinds) if kind != FOCUS['kind']]
    few = others[:round(len(of_kind) * (1 / FOCUS['share'] - 1))]
    batches = make_batches(documents, steps - end + begin, parts)
    return batches[:begin] + make_batches(of_kind + few, end - begin, parts) + batches[begin:]


def make_batches(documents, steps, parts):
    """Packs documents into batches of `parts` lists of (tokens, documents, weights) rows with PART tokens each. The seed alone decides the order."""
    r = random.Random(SEED)
    made = []
    while len(made) < steps:
        rows = {length: [] for length in ROWS}
        open_rows = {length: [] for length in ROWS}
        for number in r.sample(range(len(documents)), len(documents)):
            tokens, weights = documents[number]
            length = next((length for length in ROWS if len(tokens) <= length), ROWS[-1])
            size = min(len(tokens), length)
            row = next((row for row in open_rows[length] if len(row[0]) + size <= length), None)
            if row is None:
                row = ([], [], [])
                open_rows[length].append(row)
            for part, values in zip(row, (tokens[:size], [number + 1] * size, weights[:size])):
                part.extend(values)
            if len(open_rows[length]) > OPEN_ROWS:
                rows[length].append(open_rows[length].pop(0))
        epoch = []
        for length, filled in rows.items():
            # Long rows take longer, so all parts of a batch use rows of the same length. No thread waits for
            # another.
            count = PART // length
            whole = [filled[start:start + count] for start in range(0, len(filled) - count + 1, count)]
            epoch += [whole[start:start + parts] for start in range(0, len(whole) - parts + 1, parts)]
        r.shuffle(epoch)
        made += epoch
    return made[:steps]


def replicate(model):
    """Creates a model that shares the weights' memory but has separate gradients."""
    replica = copy.deepcopy(model)
    for own, shared in zip(replica.parameters(), model.parameters()):
        own.data = shared.data
    return replica


def train_on(replicas, batch, threads):
    """Accumulates the gradients of one batch in the first replica. Returns the weighted mean loss."""
    total_weight = sum(sum(sum(weights[1:]) for _, _, weights in rows) for rows in batch)
    loss = sum(threads.map(lambda replica, rows: train_on_part(replica, rows, total_weight), replicas, batch))
    for replica in replicas[1:]:
        for total, own in zip(replicas[0].parameters(), replica.parameters()):
            total.grad += own.grad
    return loss


def train_on_part(model, rows, total_weight):
    """Computes the gradients of a part of a batch, normalized by `total_weight`."""
    length = next(length for length in ROWS if max(len(row[0]) for row in rows) <= length)
    tokens, documents, weights = (torch.tensor([part + [0] * (length - len(part)) for part in column]) for column in zip(*rows))
    model.zero_grad(set_to_none=True)
    own = weights[:, 1:] > 0
    hidden = model(tokens, documents)[:, :-1][own]
    losses = functional.cross_entropy(model.output(hidden), tokens[:, 1:][own], reduction='none')
    loss = losses @ weights[:, 1:][own].float() / total_weight
    loss.backward()
    return loss.item()


@torch.no_grad()
def report(model, tokenizer, validation):
    """Reports per kind the share of validation prompts that greedy decoding answers exactly."""
    right = collections.defaultdict(list)
    for record in validation:
        messages = [*record['messages'], {'role': 'assistant', 'content': record['answer']}]
        tokens, _ = encode(tokenizer, render(messages, record.get('tools', ())))
        length = len(tokenizer.encode(record['answer'])) + 1
        ids = torch.tensor([tokens])
        guesses = model.output(model(ids, torch.ones_like(ids))[0, -length - 1:-1]).argmax(-1)
        right[record['kind']].append(guesses.tolist() == tokens[-length:])
    return ', '.join(f'{kind} {sum(found) / len(found):.0%}' for kind, found in right.items())


if __name__ == '__main__':
    main()
