"""Converts a GGUF file into the files of a Hugging Face repository: convert.py FOLDER FILE TARGET."""

import sys

from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

folder, file, target = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
# vLLM's reasoning parsers look them up. The model never writes them.
tokenizer.add_tokens(["<think>", "</think>"], special_tokens=True)
tokenizer.save_pretrained(target)
AutoModelForCausalLM.from_pretrained(
    folder, gguf_file=file, dtype="bfloat16", quantization_config=GgufConfig(dequantize=True)
).save_pretrained(target)
