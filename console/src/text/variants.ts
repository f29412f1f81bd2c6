/** Names of model formats and quantizations. */
export const variants = {
  formatNames: {
    ggufv2: 'GGUF',
    pytorch: 'PyTorch',
    awq: 'AWQ',
    gptq: 'GPTQ',
    fp8: 'FP8',
    fp4: 'FP4',
    compressed: 'compressed-tensors',
    'lora-gguf': 'GGUF LoRA',
    'lora-peft': 'PEFT LoRA',
    mlx: 'MLX',
    pickle: 'Pickle',
    onnx: 'ONNX',
    litert: 'LiteRT',
    coreml: 'Core ML',
    tensorflow: 'TensorFlow',
    nemo: 'NeMo',
    archive: 'Archive',
    other: 'Another format',
  } as Record<string, string>,
  notQuantized: 'unquantized',
}
