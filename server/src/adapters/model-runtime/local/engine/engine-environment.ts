const inheritedVariables = /^(PATH|HOME|LANG|LC_ALL|TZ|TMPDIR|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|SYSTEMROOT)$/
const inheritedGpuVariables = /^(CUDA|NVIDIA|NCCL|GGML|VK|HIP|HSA|ROCR|VLLM|OMP|NODE_LLAMA_CPP)_/

/** Filters the server's environment for an engine, so that it never contains secrets. */
export function pickEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const picked: Record<string, string> = {}
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && (inheritedVariables.test(name) || inheritedGpuVariables.test(name)))
      picked[name] = value
  }
  return picked
}
