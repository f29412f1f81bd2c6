"""Makes a model of the family Qwen2 with random weights: make_qwen2.py FOLDER-WITH-TOKENIZER TARGET SHAPE-AS-JSON."""

import json
import sys

import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

source, target, shape = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
tokenizer = AutoTokenizer.from_pretrained(source)
tokenizer.save_pretrained(target)
torch.manual_seed(7)
config = Qwen2Config(
    vocab_size=shape["vocabulary"],
    hidden_size=shape["width"],
    num_hidden_layers=shape["layers"],
    num_attention_heads=shape["heads"],
    num_key_value_heads=shape["kvHeads"],
    intermediate_size=shape["inner"],
    tie_word_embeddings=shape["isTied"],
    max_position_embeddings=32_768,
    bos_token_id=tokenizer.bos_token_id,
    eos_token_id=tokenizer.eos_token_id,
)
Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(target)
