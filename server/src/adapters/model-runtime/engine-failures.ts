import type { EngineFailure } from '../../ports/model-runtime.ts'

/** What a line of an engine's log means. */
interface Diagnosis {
  failure: Omit<EngineFailure, 'message'>
  message: string
  /** A restart may succeed */
  isTransient?: true
}

const downloadDenied: Diagnosis = {
  failure: { stage: 'model_download', code: 'download_failed' },
  message:
    "The download of the model's weights was denied. If the model is gated on Hugging Face, accept its license there and set HF_TOKEN.",
}
const modelNotFound: Diagnosis = {
  failure: { stage: 'model_download', code: 'model_not_found' },
  message: "The model's weights were not found at the download source.",
}
const downloadFailed: Diagnosis = {
  failure: { stage: 'model_download', code: 'download_failed' },
  message: "The model's weights could not be downloaded.",
  isTransient: true,
}

/** Maps an engine's last log lines to a failure. The first matching rule applies. */
export const exitRules: ({ pattern: RegExp } & Diagnosis)[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    failure: { stage: 'model_download', code: 'disk_full' },
    message: 'The disk for model weights is full.',
  },
  {
    pattern:
      /401 client error|403 client error|gatedrepoerror|access to model .* is restricted|(status|http|error)\D{0,12}40[13]\b/i,
    ...downloadDenied,
  },
  {
    pattern:
      /404 client error|repositorynotfounderror|revisionnotfounderror|entrynotfounderror|(status|http|error)\D{0,12}404\b/i,
    ...modelNotFound,
  },
  {
    pattern:
      /torch\.(cuda\.)?outofmemoryerror|cuda (error: )?out of memory|cudamalloc failed: out of memory|no available memory for the cache blocks|free memory on device .* is less than|kv cache .* (larger|needed).* than/i,
    failure: { stage: 'model_launch', code: 'out_of_memory' },
    message: 'The model needs more GPU memory than the instance has.',
  },
  {
    pattern: /failed to allocate (\w+ )?buffer/i,
    failure: { stage: 'model_launch', code: 'out_of_memory' },
    message: 'The model needs more memory than its node has.',
  },
  {
    pattern:
      /model architectures? .* (is|are) not supported|does not recognize this architecture|unknown model architecture/i,
    failure: { stage: 'model_launch', code: 'launch_rejected' },
    message: "The engine does not support the model's architecture.",
  },
  {
    pattern:
      /must be divisible by tensor parallel size|is only supported on gpus with compute capability|quantization method .* is not supported|max_model_len .* is greater than|unrecognized arguments|error: (invalid|unknown) argument/i,
    failure: { stage: 'model_launch', code: 'launch_rejected' },
    message: 'The engine does not support this configuration of the model.',
  },
  {
    pattern:
      /cuda driver version is insufficient|no cuda-capable device|failed to infer device type|nvml.*(not found|can't communicate)/i,
    failure: { stage: 'engine_startup', code: 'provider_error' },
    message: 'The engine found no usable GPU on its node.',
  },
  // llama.cpp also logs errors of the Hugging Face API before it loads a cached file, so errors of loading come first.
  {
    pattern: /get failed \(40[13]\)/i,
    ...downloadDenied,
  },
  {
    pattern: /get failed \(404\)|file '.*' not found in repository|no gguf files found in repository/i,
    ...modelNotFound,
  },
  {
    pattern:
      /temporary failure in name resolution|could not resolve host|max retries exceeded|connection ?error.*(hugging|hub|resolve)|localentrynotfounderror|failed to download|get failed \(\d+\)|httplib failed/i,
    ...downloadFailed,
  },
]

const startStages: readonly EngineFailure['stage'][] = ['model_launch', 'engine_startup']
const unreadableWeights = /error loading model|failed to load model|error while deserializing/i

/** The permanent failure behind the exit of an engine that has local weights and was never ready; null if a restart may succeed. */
export function diagnoseStart(lines: readonly string[]): EngineFailure | null {
  for (const { pattern, failure, message } of exitRules) {
    const line = startStages.includes(failure.stage)
      ? lines.findLast((text) => pattern.test(text))
      : undefined
    if (line !== undefined) return { ...failure, message: `${message} Engine log: ${line.slice(0, 300)}` }
  }
  const line = lines.find((text) => unreadableWeights.test(text))
  if (line === undefined) return null
  const message = `The engine can't load the model's weights. Engine log: ${line.slice(0, 300)}`
  return { stage: 'model_launch', code: 'launch_rejected', message }
}
