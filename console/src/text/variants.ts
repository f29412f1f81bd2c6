/** Names of model formats and quantizations. */
export const variants = {
  formatNames: {
    ggufv2: 'GGUF',
    pytorch: 'PyTorch',
    awq: 'AWQ',
    gptq: 'GPTQ',
    fp8: 'FP8',
    mlx: 'MLX',
  } as Record<string, string>,
  notQuantized: 'unquantized',
}
