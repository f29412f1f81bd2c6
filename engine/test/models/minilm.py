"""Writes all-MiniLM-L6-v2 as a GGUF file, and prints its vectors of texts, computed in double precision.

Usage: minilm.py ARCHIVE GGUF < TEXTS, a JSON list. Prints a list of {"tokens", "vector"}.
"""

import io
import json
import sys
import zipfile

import gguf
import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

archive = zipfile.ZipFile(sys.argv[1])
config = json.loads(archive.read("config.json"))
weights = load(archive.read("model.safetensors"))
weights = {name.removeprefix("bert."): value for name, value in weights.items()}
tokenizer_json = archive.read("tokenizer.json")
layers, heads = config["num_hidden_layers"], config["num_attention_heads"]

parts = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
tensors = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}
for layer in range(layers):
    for theirs, ours in parts.items():
        for kind in ("weight", "bias"):
            tensors[f"encoder.layer.{layer}.{theirs}.{kind}"] = f"blk.{layer}.{ours}.{kind}"


def write_gguf(path: str) -> None:
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    vocabulary = json.loads(tokenizer_json)["model"]["vocab"]
    names = sorted(vocabulary, key=vocabulary.get)
    is_special = [name.startswith("[") and name.endswith("]") and len(name) > 2 for name in names]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    # llama.cpp marks the start of a word, where BERT marks its continuation.
    writer.add_token_list(
        [
            name if special else name[2:] if name.startswith("##") else "\u2581" + name
            for name, special in zip(names, is_special)
        ]
    )
    writer.add_token_types([3 if special else 1 for special in is_special])
    writer.add_token_type_count(2)
    for add, name in (
        (writer.add_bos_token_id, "[CLS]"),
        (writer.add_sep_token_id, "[SEP]"),
        (writer.add_eos_token_id, "[SEP]"),
        (writer.add_unk_token_id, "[UNK]"),
        (writer.add_pad_token_id, "[PAD]"),
        (writer.add_mask_token_id, "[MASK]"),
    ):
        add(vocabulary[name])
    for theirs, ours in tensors.items():
        writer.add_tensor(ours, weights[theirs].astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def norm(x, name):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    scaled = (x - mean) / np.sqrt(variance + config["layer_norm_eps"])
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, name):
    return x @ weights[f"{name}.weight"].T.astype(np.float64) + weights[f"{name}.bias"]


def gelu(x):
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def embed(tokens):
    """The mean of the last layer, of length 1 (Devlin et al. 2018; Reimers and Gurevych 2019)."""
    x = weights["embeddings.word_embeddings.weight"][tokens].astype(np.float64)
    x = x + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(layers):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            linear(x, f"{at}.attention.self.{name}").reshape(len(tokens), heads, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = mixed.swapaxes(0, 1).reshape(len(tokens), -1)
        x = norm(x + linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = gelu(linear(x, f"{at}.intermediate.dense"))
        x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


write_gguf(sys.argv[2])
tokenizer = Tokenizer.from_str(tokenizer_json.decode())
tokenizer.no_truncation()
tokenizer.no_padding()
answers = []
for text in json.load(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8")):
    tokens = tokenizer.encode(text).ids
    answers.append({"tokens": len(tokens), "vector": embed(tokens).tolist()})
print(json.dumps(answers))
