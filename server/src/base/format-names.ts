/** Names of model formats for people. The console has the same (`text/variants.ts`). */
export const formatNames: Readonly<Record<string, string>> = {
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
  endpoint: 'Endpoint',
  archive: 'Archive',
  other: 'Another format',
}

/** The name of a model format in sentences, such as GGUF for `ggufv2`; by default the format itself. */
export function nameFormat(format: string): string {
  return formatNames[format] ?? format
}
