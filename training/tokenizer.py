"""A byte-level BPE tokenizer whose merges build whole words only.

A word is a single token if it follows a space or starts with a capital letter. Every other letter, digit and sign is a token of its
own, so the model adds digit by digit and can spell a quoted word backwards. Each merge appends one letter to the start of a word
(" s", " sh", " shi", " ship"), so encoding follows the longest known prefix. llama.cpp derives the same tokens from the merges with
its pre-tokenizer "gpt-2".
"""

import re
from collections import Counter

CONTROL = ['<|endoftext|>', '<|im_end|>', '<|system|>', '<|user|>', '<|assistant|>', '<|tool|>']
# GPT-2's pattern, with \p{L} and \p{N} expanded because Python's re lacks them.
PATTERN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
CONTROL_PATTERN = re.compile('(' + '|'.join(map(re.escape, CONTROL)) + ')')
WORD = re.compile(r" [A-Za-z]+|[A-Z][a-z]*|'[a-z]+")


def _byte_characters():
    """GPT-2's printable character for each byte: the byte itself if printable, else the next free character from U+0100."""
    prints = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    hidden = iter(range(0x100, 0x200))
    return [chr(byte if byte in prints else next(hidden)) for byte in range(256)]


BYTES = _byte_characters()


class Tokenizer:
    """Builds a vocabulary with one token per given word; control tokens come last."""

    def __init__(self, words):
        self.tokens = list(BYTES)
        self.merges = []
        self.ids = {token: index for index, token in enumerate(self.tokens)}
        # Words with a leading space first: their merges must take precedence over those of capitalized words.
        for word in sorted(words, key=lambda word: (not word.startswith(' '), word)):
            letters = _stand_in(word)
            for length in range(2, len(letters) + 1):
                piece = letters[:length]
                if piece in self.ids:
                    continue
                self.ids[piece] = len(self.tokens)
                self.tokens.append(piece)
                self.merges.append(f'{piece[:-1]} {piece[-1]}')
        self.control = {name: len(self.tokens) + index for index, name in enumerate(CONTROL)}
        self.tokens += CONTROL
        self.ids.update(self.control)
        self.cache = {}

    def encode(self, text):
        """Encodes text, including control tokens, to token ids."""
        ids = []
        for part in CONTROL_PATTERN.split(text):
            if part in self.control:
                ids.append(self.control[part])
            else:
                for piece in PATTERN.findall(part):
                    ids.extend(self._encode_piece(piece))
        return ids

    def _encode_piece(self, piece):
        if piece in self.cache:
            return self.cache[piece]
        letters = _stand_in(piece)
        ids = []
        start = 0
        while start < len(letters):
            end = start + 1
            while end < len(letters) and letters[start:end + 1] in self.ids:
                end += 1
            ids.append(self.ids[letters[start:end]])
            start = end
        self.cache[piece] = ids
        return ids

    def decode(self, ids):
        """Decodes token ids to text, including control tokens."""
        back = {character: byte for byte, character in enumerate(BYTES)}
        text = b''
        for index in ids:
            token = self.tokens[index]
            text += token.encode() if index in self.control.values() else bytes(back[letter] for letter in token)
        return text.decode('utf-8', 'replace')


def train_tokenizer(texts, least, always=()):
    """Creates a tokenizer for the words that occur at least `least` times, plus the words in `always`."""
    counts = Counter()
    for text in texts:
        for part in CONTROL_PATTERN.split(text):
            counts.update(piece for piece in PATTERN.findall(part) if WORD.fullmatch(piece))
    frequent = {word for word, count in counts.items() if count >= least and len(word) > 1}
    return Tokenizer(frequent | set(always))


def _stand_in(text):
    return ''.join(BYTES[byte] for byte in text.encode())
