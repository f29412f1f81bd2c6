import type { EngineFailure } from '../../ports/engine-failures.ts'

/** What a text about an engine means. The first matching rule applies. */
type FailureRule = { pattern: RegExp } & Omit<EngineFailure, 'message'> &
  (
    | {
        /** The lines of an engine's log, or also the error that a cluster reports for an engine */
        appliesTo: 'log' | 'both'
        message: string
        /** A restart may succeed */
        isTransient?: true
      }
    // The reported text itself is the message.
    | { appliesTo: 'report' }
  )

const downloadDenied = {
  stage: 'model_download',
  code: 'download_failed',
  message:
    "The download of the model's weights was denied. If the model is gated on Hugging Face, accept its license there and set HF_TOKEN.",
} as const
const modelNotFound = {
  stage: 'model_download',
  code: 'model_not_found',
  message: "The model's weights were not found at the download source.",
} as const

const failureRules: FailureRule[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    appliesTo: 'both',
    stage: 'model_download',
    code: 'disk_full',
    message: 'The disk for model weights is full.',
  },
  {
    pattern:
      /401 client error|403 client error|gatedrepoerror|access to model .* is restricted|(status|http|error)\D{0,12}40[13]\b/i,
    appliesTo: 'log',
    ...downloadDenied,
  },
  {
    pattern:
      /404 client error|repositorynotfounderror|revisionnotfounderror|entrynotfounderror|(status|http|error)\D{0,12}404\b/i,
    appliesTo: 'log',
    ...modelNotFound,
  },
  {
    pattern:
      /torch\.(cuda\.)?outofmemoryerror|cuda (error: )?out of memory|cudamalloc failed: out of memory|no available memory for the cache blocks|free memory on device .* is less than|kv cache .* (larger|needed).* than/i,
    appliesTo: 'both',
    stage: 'model_launch',
    code: 'out_of_memory',
    message: 'The model needs more GPU memory than the instance has.',
  },
  {
    pattern: /failed to allocate (\w+ )?buffer/i,
    appliesTo: 'log',
    stage: 'model_launch',
    code: 'out_of_memory',
    message: 'The model needs more memory than its node has.',
  },
  {
    pattern: /out ?of ?memory|cannot allocate memory|stored in KV cache|\bOOM\b/i,
    appliesTo: 'report',
    stage: 'model_launch',
    code: 'out_of_memory',
  },
  {
    pattern: /model not found, name|unknown model/i,
    appliesTo: 'report',
    stage: 'model_launch',
    code: 'model_not_found',
  },
  {
    pattern: /no available slot|n_gpu`? must be greater than 0|requested gpus exceed/i,
    appliesTo: 'report',
    stage: 'model_launch',
    code: 'no_capacity',
  },
  {
    pattern:
      /model architectures? .* (is|are) not supported|does not recognize this architecture|unknown model architecture/i,
    appliesTo: 'log',
    stage: 'model_launch',
    code: 'launch_rejected',
    message: "The engine does not support the model's architecture.",
  },
  {
    pattern:
      /must be divisible by tensor parallel size|is only supported on gpus with compute capability|quantization method .* is not supported|max_model_len .* is greater than|unrecognized arguments|error: (invalid|unknown) argument/i,
    appliesTo: 'log',
    stage: 'model_launch',
    code: 'launch_rejected',
    message: 'The engine does not support this configuration of the model.',
  },
  {
    pattern:
      /cannot be run on engine|launch cancell?ed|invalid input|not enough permissions|api keys can only/i,
    appliesTo: 'report',
    stage: 'model_launch',
    code: 'launch_rejected',
  },
  {
    pattern: /compiled with an unsupported toolchain|no kernel image is available for execution/i,
    appliesTo: 'log',
    stage: 'engine_startup',
    code: 'provider_error',
    message:
      'The engine was not built for this GPU and its driver. Update the driver, or use another build of the engine.',
  },
  {
    pattern:
      /cuda driver version is insufficient|no cuda-capable device|failed to infer device type|no usable gpu found|invalid device: |nvml.*(not found|can't communicate)/i,
    appliesTo: 'log',
    stage: 'engine_startup',
    code: 'provider_error',
    message: 'The engine found no usable GPU on its node.',
  },
  // llama.cpp logs errors of the Hugging Face API even for cached files, so errors of loading come first.
  { pattern: /get failed \(40[13]\)/i, appliesTo: 'log', ...downloadDenied },
  {
    pattern: /get failed \(404\)|file '.*' not found in repository|no gguf files found in repository/i,
    appliesTo: 'log',
    ...modelNotFound,
  },
  {
    pattern:
      /temporary failure in name resolution|could not resolve host|max retries exceeded|connection ?error.*(hugging|hub|resolve)|localentrynotfounderror|failed to download|get failed \(\d+\)|httplib failed/i,
    appliesTo: 'log',
    stage: 'model_download',
    code: 'download_failed',
    message: "The model's weights could not be downloaded.",
    isTransient: true,
  },
  {
    pattern: /download|snapshot|huggingface|modelscope|max retries exceeded|gated repo|client error/i,
    appliesTo: 'report',
    stage: 'model_download',
    code: 'download_failed',
  },
  {
    pattern:
      /process .*(died|exited|lost)|server ?closed|remote server \S+ closed|connect call failed|crash|actor.*(not exist|lost)|worker .*(died|lost|offline)/i,
    appliesTo: 'report',
    stage: 'runtime',
    code: 'engine_crashed',
  },
]

/** The rules for the last lines of an engine's log. */
export const logRules = failureRules.filter((rule) => rule.appliesTo !== 'report')

/** Classifies the error that a cluster reports for an engine; null if no rule matches. */
export function classifyReport(text: string): Omit<EngineFailure, 'message'> | null {
  const rule = failureRules.find(({ appliesTo, pattern }) => appliesTo !== 'log' && pattern.test(text))
  return rule === undefined ? null : { stage: rule.stage, code: rule.code }
}

const startStages: readonly EngineFailure['stage'][] = ['model_launch', 'engine_startup']
const unreadableWeights = /error loading model|failed to load model|error while deserializing/i

/** The permanent failure of an engine with local weights that was never ready; null if a restart may help. */
export function diagnoseStart(lines: readonly string[]): EngineFailure | null {
  for (const { pattern, stage, code, message } of logRules) {
    const line = startStages.includes(stage) ? lines.findLast((text) => pattern.test(text)) : undefined
    if (line !== undefined) return { stage, code, message: `${message} Engine log: ${line.slice(0, 300)}` }
  }
  const line = lines.find((text) => unreadableWeights.test(text))
  if (line === undefined) return null
  const message = `The engine can't load the model's weights. Engine log: ${line.slice(0, 300)}`
  return { stage: 'model_launch', code: 'launch_rejected', message }
}
