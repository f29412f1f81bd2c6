"""Trains berth-tiny-embedding.gguf, which places sentences of equal meaning close together.

The model is a small llama with bidirectional attention. A text's vector is the mean of its last hidden states. The loss is InfoNCE
(van den Oord et al. 2018): each pair must be distinguished from the other pairs of the batch. Half of the pairs are paraphrases;
the others are word sets from one topic, which teach relatedness.
"""

import argparse
import json
import os
import random
import time
from pathlib import Path
from zlib import crc32

os.environ.setdefault('OMP_WAIT_POLICY', 'passive')
import torch
from torch.nn import functional

from model import Llama, create_optimizers, save_gguf, set_progress
from synonyms import *
from tokenizer import train_tokenizer

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / 'catalog' / 'weights'
SEED = 8
SIZE = dict(width=128, layers=2, heads=4, feed_forward=256, context=512, causal=False)
PAIRS = 256
TEMPERATURE = 0.05
HELD_OUT = 200
MEAN_POOLING = 1
DESCRIPTION = {
    'general.name': 'Berth Tiny Embedding',
    'general.description': 'A very small model for sentence embeddings, to try Berth out.',
    'llama.pooling_type': MEAN_POOLING,
}


# Each function returns a key for holding out pairs, the common meaning, and the two texts.


def scene(r):
    """A person's action at a place, in two wordings."""
    parts = r.choice(SUBJECTS), r.choice(ACTIONS), r.choice(PLACES)

    def tell():
        subject, (base, going), place = (r.choice(part) for part in parts)
        name = r.choice(['The ', 'The ', 'A ', 'My ', 'Our ', 'This ']) + subject
        return r.choice([f'{name} is {going} {place}.', f'{name} likes to {base} {place}.', f'{name} was {going} {place}.',
                         f'{place[0].upper() + place[1:]}, {name[0].lower() + name[1:]} is {going}.',
                         f'{name} {base}s {place}.' if ' ' not in base and base[-1] not in 'shy' else f'{name} is {going} {place}.'])
    return repr(parts), parts, tell(), tell()


def affair(r):
    """A rise or a fall, in two wordings."""
    parts = r.choice(AFFAIRS), r.choice(CHANGES), r.choice(TIMES)

    def tell():
        what, change, time = (r.choice(part) for part in parts)
        text = r.choice([f'{what} {change} {time}.', f'{time}, {what} {change}.', f'{what} {change} {time}, as we heard.'])
        return text[0].upper() + text[1:]
    return repr(parts), parts, tell(), tell()


def intent(r):
    """A question or a request, in two wordings. Training sees the sentences themselves, so only their pairing is held out."""
    lines = r.choice(INTENTS)
    first, second = r.sample(lines, 2)

    def dress(text):
        text = r.choice(['', '', '', 'please, ', 'hello, ', 'can you help me: ', 'okay, ', 'excuse me, ']) + text
        return (text[0].upper() + text[1:] if r.random() < 0.7 else text) + r.choice(['', '.', '?', '!'])
    return repr(sorted([first, second])), lines, dress(first), dress(second)


def topic(r):
    """Words of one topic in two loose sentences without a common word."""
    words = r.choice(TOPICS)
    chosen = r.sample(words, 6)
    forms = ['The {} and the {} with {}.', '{} or {}: {}.', 'I think of the {}, {} and {}.', 'This is about {}, about {} and {}.',
             'Is there a {} for the {} and the {}?', 'We had {} and {}, no {}.', 'They like the {} of the {} in {}.', 'A {} for {} {}.']
    texts = [r.choice(forms).format(*part) for part in (chosen[:3], chosen[3:])]
    return repr(sorted(chosen)), words, *(text[0].upper() + text[1:] if r.random() < 0.8 else text for text in texts)


def draw(r, held_out):
    """Draws a pair from the training part or the held-out part: the common meaning and the two texts."""
    while True:
        make = r.choices([scene, affair, intent, topic], [4, 2, 2, 0 if held_out else 5])[0]
        key, meaning, first, second = make(r)
        if (crc32(key.encode()) % 8 == 0) == held_out and first.lower() != second.lower():
            return meaning, first, second


def write_held_out(r, path):
    """Held-out paraphrases, each with an unrelated sentence."""
    with open(path, 'w') as file:
        for _ in range(HELD_OUT):
            meaning, text, paraphrase = draw(r, True)
            other = meaning
            while other == meaning:
                other, unrelated, _ = draw(r, True)
            file.write(json.dumps({'text': text, 'paraphrase': paraphrase, 'unrelated': unrelated}) + '\n')


def embed(model, tokenizer, texts):
    """Computes the unit vectors of texts."""
    rows = [tokenizer.encode(text) for text in texts]
    longest = max(map(len, rows))
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    real = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    hidden = model(tokens, real) * real[:, :, None]
    return functional.normalize(hidden.sum(1) / real.sum(1, keepdim=True), dim=1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--steps', type=int, default=200)
    arguments.add_argument('--threads', type=int, default=2)
    arguments.add_argument('--out', type=Path, default=WEIGHTS / 'berth-tiny-embedding.gguf')
    options = arguments.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(options.threads)
    r = random.Random(SEED)
    write_held_out(r, HERE / 'build' / 'held-out-pairs.jsonl')
    sample = [text for _ in range(20_000) for text in draw(r, False)[1:]]
    tokenizer = train_tokenizer(sample, 5)
    model = Llama(len(tokenizer.tokens), **SIZE)
    optimizers = create_optimizers(model, muon_rate=0.01, adam_rate=0.003)
    print(f'{sum(p.numel() for p in model.parameters())} parameters, {len(tokenizer.tokens)} tokens', flush=True)
    for step in range(options.steps):
        set_progress(optimizers, step / options.steps)
        drawn = [draw(r, False) for _ in range(PAIRS)]
        texts = [first for _, first, _ in drawn] + [second for _, _, second in drawn]
        vectors = embed(model, tokenizer, texts)
        scores = vectors[:PAIRS] @ vectors[PAIRS:].T / TEMPERATURE
        # Pairs with the same meaning are no negatives.
        same = torch.tensor([[a[0] == b[0] and a is not b for a in drawn] for b in drawn])
        scores = scores.masked_fill(same, -1e9)
        right = torch.arange(PAIRS)
        loss = (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right)) / 2
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        if (step + 1) % 50 == 0:
            print(f'step {step + 1}, loss {loss.item():.4f}, {time.process_time() / 2:.0f} s', flush=True)
    save_gguf(options.out, model, tokenizer, DESCRIPTION)


if __name__ == '__main__':
    main()
