"""A llama decoder in PyTorch, its optimizers, and the mapping of its tensors to GGUF names."""

import math

import torch
from torch import nn
from torch.nn import functional

from gguf import write_gguf


class Llama(nn.Module):
    """A decoder with RMS norms, SwiGLU, and rotary positions in adjacent pairs, as in llama.cpp."""

    def __init__(self, vocabulary, width, layers, heads, feed_forward, context, causal=True):
        super().__init__()
        self.size = dict(vocabulary=vocabulary, width=width, layers=layers, heads=heads, feed_forward=feed_forward,
                         context=context, causal=causal)
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, heads, feed_forward) for _ in range(layers))
        self.norm = Norm(width)
        nn.init.normal_(self.embedding.weight, std=0.3)
        # The output needs its own matrix. If it shared the embedding, tokens that never occur would drag all
        # embeddings in one direction.
        self.output = nn.Linear(width, vocabulary, bias=False) if causal else None
        if causal:
            nn.init.zeros_(self.output.weight)
        angles = torch.outer(torch.arange(context), 10_000 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
        self.register_buffer('cosine', angles.cos(), persistent=False)
        self.register_buffer('sine', angles.sin(), persistent=False)

    def forward(self, tokens, documents):
        """Computes the hidden states after the last norm. A token attends only to its own document, numbered by `documents`."""
        hidden = self.embedding(tokens)
        length = tokens.shape[1]
        seen = documents[:, :, None] == documents[:, None, :]
        if self.size['causal']:
            seen = seen & torch.ones(length, length, dtype=torch.bool).tril()
        mask = torch.zeros(seen.shape).masked_fill(~seen, -1e9)[:, None]
        rotation = self.cosine[:length], self.sine[:length]
        for layer in self.layers:
            hidden = layer(hidden, mask, rotation)
        return self.norm(hidden)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, hidden):
        return hidden * torch.rsqrt(hidden.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class Layer(nn.Module):
    def __init__(self, width, heads, feed_forward):
        super().__init__()
        self.heads = heads
        self.attn_norm, self.ffn_norm = Norm(width), Norm(width)
        matrix = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.attn_q, self.attn_k, self.attn_v, self.attn_output = (matrix(width, width) for _ in range(4))
        self.ffn_gate, self.ffn_up = matrix(width, feed_forward), matrix(width, feed_forward)
        self.ffn_down = matrix(feed_forward, width)
        for start in (self.attn_output, self.ffn_down):
            nn.init.zeros_(start.weight)

    def forward(self, hidden, mask, rotation):
        rows, length, width = hidden.shape
        split = lambda tensor: tensor.view(rows, length, self.heads, -1).transpose(1, 2)
        normed = self.attn_norm(hidden)
        query, key = rotate(split(self.attn_q(normed)), rotation), rotate(split(self.attn_k(normed)), rotation)
        scores = query @ key.transpose(2, 3) / math.sqrt(width // self.heads) + mask
        mixed = scores.softmax(-1) @ split(self.attn_v(normed))
        hidden = hidden + self.attn_output(mixed.transpose(1, 2).reshape(rows, length, width))
        normed = self.ffn_norm(hidden)
        return hidden + self.ffn_down(functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed))


def rotate(heads, rotation):
    """Rotary position embedding (Su et al. 2021) of adjacent pairs."""
    cosine, sine = rotation
    even, odd = heads[..., 0::2], heads[..., 1::2]
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), -1).flatten(-2)


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for matrices: momentum orthogonalized by five Newton-Schulz iterations."""

    def __init__(self, matrices, lr, momentum=0.95, weight_decay=0.01, threads=None):
        super().__init__(matrices, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))
        self.map = threads.map if threads else map

    def step(self):
        for group in self.param_groups:
            list(self.map(lambda matrix: self.step_of(matrix, group), group['params']))

    @torch.no_grad()
    def step_of(self, matrix, group):
        state = self.state[matrix]
        if not state:
            state['momentum'] = torch.zeros_like(matrix)
        state['momentum'].lerp_(matrix.grad, 1 - group['momentum'])
        step = orthogonalize(matrix.grad.lerp(state['momentum'], group['momentum']))
        matrix.mul_(1 - group['lr'] * group['weight_decay'])
        matrix.add_(step, alpha=-group['lr'] * max(1, matrix.shape[0] / matrix.shape[1]) ** 0.5)


def orthogonalize(matrix):
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix) / (matrix.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


def create_optimizers(model, muon_rate, adam_rate, threads=None):
    """Creates Muon for the layers' matrices and AdamW for the rest. The pool `threads` runs Muon's steps in parallel."""
    matrices = [parameter for parameter in model.layers.parameters() if parameter.dim() == 2]
    others = [parameter for parameter in model.parameters() if all(parameter is not matrix for matrix in matrices)]
    return [Muon(matrices, muon_rate, threads=threads), torch.optim.AdamW(others, adam_rate, betas=(0.9, 0.95), weight_decay=0.0)]


def set_progress(optimizers, progress):
    """Sets the learning rates for a progress from 0 to 1: a short warm-up, a plateau, a linear decay to zero."""
    factor = min(1, (progress + 0.001) / 0.01, (1 - progress) / 0.6)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group['lr'] = group.setdefault('highest', group['lr']) * factor


def save_gguf(path, model, tokenizer, description):
    """Writes the model and its tokenizer to a Q8_0 GGUF file; `description` holds additional metadata."""
    size = model.size
    metadata = {
        'general.architecture': 'llama', 'general.license': 'apache-2.0', 'general.file_type': 7,
        'llama.block_count': size['layers'], 'llama.context_length': size['context'], 'llama.embedding_length': size['width'],
        'llama.feed_forward_length': size['feed_forward'], 'llama.attention.head_count': size['heads'],
        'llama.attention.head_count_kv': size['heads'], 'llama.attention.layer_norm_rms_epsilon': 1e-5,
        'llama.rope.dimension_count': size['width'] // size['heads'], 'llama.rope.freq_base': 10_000.0,
        'llama.vocab_size': size['vocabulary'], 'llama.attention.causal': size['causal'],
        'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.pre': 'gpt-2', 'tokenizer.ggml.tokens': tokenizer.tokens,
        'tokenizer.ggml.token_type': [3 if index in tokenizer.control.values() else 1 for index in range(len(tokenizer.tokens))],
        'tokenizer.ggml.merges': tokenizer.merges, 'tokenizer.ggml.bos_token_id': tokenizer.control['<|endoftext|>'],
        'tokenizer.ggml.eos_token_id': tokenizer.control['<|im_end|>'], 'tokenizer.ggml.add_bos_token': False,
        'tokenizer.ggml.add_eos_token': False, **description,
    }
    tensors = {'token_embd.weight': model.embedding.weight}
    for index, layer in enumerate(model.layers):
        for name, parameter in layer.named_parameters():
            tensors[f'blk.{index}.{name}'] = parameter
    tensors['output_norm.weight'] = model.norm.weight
    if model.output is not None:
        tensors['output.weight'] = model.output.weight
    write_gguf(path, metadata, {name: tensor.detach().numpy() for name, tensor in tensors.items()})
