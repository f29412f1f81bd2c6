import type { EngineFailure } from '../../../ports/model-runtime.ts'
import { findLastExit, findEngine, sentence } from './pods.ts'
import type { PodSnapshot } from './pods.ts'

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
const exitRules: ({ pattern: RegExp } & Diagnosis)[] = [
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

const crashesBeforeFailure = 3

/**
 * The failure behind an engine's last exit, or null if a restart may still succeed. The kubelet restarts a container that exits,
 * so an exit alone is no failure.
 */
export function diagnoseExit(snapshot: PodSnapshot): EngineFailure | null {
  const exit = findLastExit(snapshot.pod)
  const engine = findEngine(snapshot.pod)
  // An engine that has started since then has recovered, regardless of the number of restarts.
  if (exit === null || (engine?.state?.running !== undefined && engine.started === true)) return null
  if (exit.reason === 'OOMKilled') {
    const message = 'The engine was killed because it used more memory than its pod or node has.'
    return { stage: 'runtime', code: 'out_of_memory', message }
  }
  const probe = snapshot.events.findLast(
    ({ reason, message }) => reason === 'Killing' && /failed \w+ probe/.test(message ?? ''),
  )
  if (probe?.message?.includes('startup probe') === true) {
    const message =
      'The engine did not become ready within the time allowed for downloading and loading the model.'
    return { stage: 'health_check', code: 'readiness_timeout', message }
  }
  const isCrashLooping =
    engine?.state?.waiting?.reason === 'CrashLoopBackOff' ||
    (engine?.restartCount ?? 0) >= crashesBeforeFailure
  for (const { pattern, failure, message, isTransient } of exitRules) {
    const line = snapshot.lastLines.findLast((text) => pattern.test(text))
    if (line === undefined || (isTransient && !isCrashLooping)) continue
    return { ...failure, message: `${message} Engine log: ${sentence(line)}` }
  }
  if (!isCrashLooping) return null
  if (probe !== undefined) {
    const message = 'The engine repeatedly failed its health check.'
    return { stage: 'health_check', code: 'engine_unreachable', message }
  }
  const lastLine = snapshot.lastLines.at(-1)
  return {
    stage: 'model_launch',
    code: 'engine_crashed',
    message: `The engine keeps crashing with exit code ${exit.exitCode}. ${
      lastLine === undefined ? 'Its log is empty.' : `Last log line: ${sentence(lastLine)}`
    }`,
  }
}
