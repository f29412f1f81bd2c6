"""Makes a reranking model with random weights: make_reranker.py FOLDER-WITH-TOKENIZER TARGET."""

import sys

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

source, target = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(source)
tokenizer.save_pretrained(target)
torch.manual_seed(7)
config = BertConfig(
    vocab_size=len(tokenizer),
    hidden_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=256,
    max_position_embeddings=512,
    initializer_range=0.5,
    num_labels=1,
)
BertForSequenceClassification(config).save_pretrained(target)
