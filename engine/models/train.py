"""Trains berth-tiny.gguf on the dialogues that write_corpus.py made. A run that was cut goes on from its last checkpoint."""

import argparse
import collections
import json
import os
import random
import time
from pathlib import Path

# Threads that spin while they wait for each other are ruinous on cores that other work uses too.
os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
import torch
from torch.nn import functional

from chat_format import TEMPLATE, render
from model import Llama, create_optimizers, save_gguf, set_progress
from tokenizer import train_tokenizer

HERE = Path(__file__).parent
BUILD = HERE / 'build'
SEED = 8
SIZE = dict(width=128, layers=5, heads=4, feed_forward=384, context=2048)
# Tokens of one batch, and the rows of dialogues that it may be made of: each dialogue goes into the shortest that can hold it.
BATCH = 2048
ROWS = (192, 1024)
# Rows that are filled at the same time, so that few places stay empty.
OPEN_ROWS = 32
# Words become single tokens from this many occurrences on.
LEAST = 150
DESCRIPTION = {
    'general.name': 'Berth Tiny',
    'general.description': 'A very small model for trying Berth out, trained on made-up dialogues.',
    'tokenizer.chat_template': TEMPLATE,
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--steps', type=int, default=7000)
    arguments.add_argument('--threads', type=int, default=2)
    arguments.add_argument('--out', type=Path, default=HERE / 'berth-tiny.gguf')
    options = arguments.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(options.threads)

    checkpoint = BUILD / 'checkpoint.pt'
    saved = torch.load(checkpoint) if checkpoint.exists() else None
    dialogues = [json.loads(line) for line in open(BUILD / 'corpus.jsonl')]
    texts = [render(dialogue['messages'], dialogue.get('tools', ())) for dialogue in dialogues]
    tokenizer = saved['tokenizer'] if saved else train_tokenizer((''.join(part for part, _ in text) for text in texts), LEAST)
    batches = make_batches([encode(tokenizer, text) for text in texts], options.steps)
    held_out = [json.loads(line) for line in open(HERE / 'held-out.jsonl')]
    model = Llama(len(tokenizer.tokens), **SIZE)
    optimizers = create_optimizers(model, muon_rate=0.012, adam_rate=0.004)
    print(f'{sum(p.numel() for p in model.parameters())} parameters, {len(tokenizer.tokens)} tokens, '
          f'{len(batches)} batches of {len(dialogues)} dialogues', flush=True)

    first, spent = 0, 0.0
    if saved:
        model.load_state_dict(saved['model'])
        for optimizer, state in zip(optimizers, saved['optimizers']):
            optimizer.load_state_dict(state)
        first, spent = saved['step'], saved['spent']

    begun = time.process_time()
    total = 0.0
    for step in range(first, options.steps):
        set_progress(optimizers, step / options.steps)
        loss = train_on(model, batches[step])
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        total += loss
        if (step + 1) % 100 == 0:
            seconds = spent + time.process_time() - begun
            print(f'step {step + 1}, loss {total / 100:.4f}, {seconds:.0f} s of CPU time', flush=True)
            total = 0.0
        if (step + 1) % 250 == 0 or step + 1 == options.steps:
            print(report(model, tokenizer, held_out), flush=True)
            torch.save({'model': model.state_dict(), 'optimizers': [optimizer.state_dict() for optimizer in optimizers],
                        'tokenizer': tokenizer, 'step': step + 1, 'spent': spent + time.process_time() - begun},
                       BUILD / 'checkpoint.new')
            (BUILD / 'checkpoint.new').replace(checkpoint)
    save_gguf(options.out, model, tokenizer, DESCRIPTION)
    checkpoint.unlink()


def encode(tokenizer, parts):
    """The dialogue's tokens, and for each of them whether the model is to write it."""
    tokens, learned = [], []
    for text, own in parts:
        ids = tokenizer.encode(text)
        tokens += ids
        learned += [own] * len(ids)
    return tokens, learned


def make_batches(documents, steps):
    """Batches of (tokens, documents, learned), each of BATCH tokens, in an order that the seed alone decides."""
    r = random.Random(SEED)
    batches = []
    while len(batches) < steps:
        rows = {length: [] for length in ROWS}
        open_rows = {length: [] for length in ROWS}
        for number in r.sample(range(len(documents)), len(documents)):
            tokens, learned = documents[number]
            length = next((length for length in ROWS if len(tokens) <= length), ROWS[-1])
            size = min(len(tokens), length)
            row = next((row for row in open_rows[length] if len(row[0]) + size <= length), None)
            if row is None:
                row = ([], [], [])
                open_rows[length].append(row)
            for part, values in zip(row, (tokens[:size], [number + 1] * size, learned[:size])):
                part.extend(values)
            if len(open_rows[length]) > OPEN_ROWS:
                rows[length].append(open_rows[length].pop(0))
        epoch = []
        for length, filled in rows.items():
            padded = [[part + [0] * (length - len(part)) for part in row] for row in filled]
            count = BATCH // length
            epoch += [padded[start:start + count] for start in range(0, len(padded) - count + 1, count)]
        r.shuffle(epoch)
        batches += epoch
    return batches[:steps]


def train_on(model, rows):
    """Adds up the gradients of one batch; gives its mean loss for a token that the model is to write."""
    tokens, documents, learned = (torch.tensor(part) for part in zip(*rows))
    model.zero_grad(set_to_none=True)
    wanted = learned[:, 1:].bool()
    hidden = model(tokens, documents)[:, :-1][wanted]
    loss = functional.cross_entropy(model.output(hidden), tokens[:, 1:][wanted])
    loss.backward()
    return loss.item()


@torch.no_grad()
def report(model, tokenizer, held_out):
    """The share of held-out prompts of each kind that greedy decoding answers word for word."""
    right = collections.defaultdict(list)
    for record in held_out:
        messages = [*record['messages'], {'role': 'assistant', 'content': record['answer']}]
        tokens, _ = encode(tokenizer, render(messages, record.get('tools', ())))
        length = len(tokenizer.encode(record['answer'])) + 1
        ids = torch.tensor([tokens])
        guesses = model.output(model(ids, torch.ones_like(ids))[0, -length - 1:-1]).argmax(-1)
        right[record['kind']].append(guesses.tolist() == tokens[-length:])
    return ', '.join(f'{kind} {sum(found) / len(found):.0%}' for kind, found in right.items())


if __name__ == '__main__':
    main()
