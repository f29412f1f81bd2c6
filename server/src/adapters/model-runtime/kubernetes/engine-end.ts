import type { EngineFailure } from '../../../ports/model-runtime.ts'
import { findEnd, findEngine, sentence, shorten } from './pods.ts'
import type { PodSight } from './pods.ts'

/** What an engine writes before it ends, and what it means; the first that matches counts. */
const meanings: {
  pattern: RegExp
  failure: Omit<EngineFailure, 'message'>
  message: string
  /** It may go well the next time */
  mayPass?: true
}[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    failure: { stage: 'model_download', code: 'disk_full' },
    message: 'The disk for model weights is full.',
  },
  {
    pattern:
      /401 client error|403 client error|gatedrepoerror|access to model .* is restricted|(status|http|error)\D{0,12}40[13]\b/i,
    failure: { stage: 'model_download', code: 'download_failed' },
    message: "The hub refused the model's weights: its license must be accepted there and HF_TOKEN be set.",
  },
  {
    pattern:
      /404 client error|repositorynotfounderror|revisionnotfounderror|entrynotfounderror|(status|http|error)\D{0,12}404\b/i,
    failure: { stage: 'model_download', code: 'model_not_found' },
    message: "The hub does not have the model's weights.",
  },
  {
    pattern:
      /torch\.(cuda\.)?outofmemoryerror|cuda (error: )?out of memory|cudamalloc failed: out of memory|no available memory for the cache blocks|free memory on device .* is less than|kv cache .* (larger|needed).* than/i,
    failure: { stage: 'model_launch', code: 'out_of_memory' },
    message: "The GPU's memory is too small for the model.",
  },
  {
    pattern:
      /model architectures? .* (is|are) not supported|does not recognize this architecture|unknown model architecture/i,
    failure: { stage: 'model_launch', code: 'launch_rejected' },
    message: "The engine does not know the model's architecture.",
  },
  {
    pattern:
      /must be divisible by tensor parallel size|is only supported on gpus with compute capability|quantization method .* is not supported|max_model_len .* is greater than|unrecognized arguments|error: (invalid|unknown) argument/i,
    failure: { stage: 'model_launch', code: 'launch_rejected' },
    message: 'The engine refused to run the model this way.',
  },
  {
    pattern:
      /cuda driver version is insufficient|no cuda-capable device|failed to infer device type|nvml.*(not found|can't communicate)/i,
    failure: { stage: 'engine_startup', code: 'provider_error' },
    message: 'The engine found no GPU that it can use on its node.',
  },
  {
    pattern:
      /temporary failure in name resolution|could not resolve host|max retries exceeded|connection ?error.*(hugging|hub|resolve)|localentrynotfounderror|failed to download/i,
    failure: { stage: 'model_download', code: 'download_failed' },
    message: "The model's weights could not be downloaded.",
    mayPass: true,
  },
]

const crashesBeforeFailure = 3

/**
 * What the end of an engine means, where it means a failure: its node starts it again by itself, which is waited for while
 * nothing says that it would end the same way.
 */
export function judgeEnd(sight: PodSight): EngineFailure | null {
  const end = findEnd(sight.pod)
  const engine = findEngine(sight.pod)
  // What has started since has survived its end, however often and long ago that was.
  if (end === null || (engine?.state?.running !== undefined && engine.started === true)) return null
  if (end.reason === 'OOMKilled') {
    const message = 'The engine was killed because it took more memory than its pod or node has.'
    return { stage: 'runtime', code: 'out_of_memory', message }
  }
  const probe = sight.events.findLast(
    ({ reason, message }) => reason === 'Killing' && /failed \w+ probe/.test(message ?? ''),
  )
  if (probe?.message?.includes('startup probe') === true) {
    const message = 'The engine was not ready in the time that downloading and loading may take.'
    return { stage: 'health_check', code: 'readiness_timeout', message }
  }
  const keepsEnding =
    engine?.state?.waiting?.reason === 'CrashLoopBackOff' ||
    (engine?.restartCount ?? 0) >= crashesBeforeFailure
  for (const { pattern, failure, message, mayPass } of meanings) {
    const words = sight.lastWords.findLast((line) => pattern.test(line))
    if (words === undefined || (mayPass && !keepsEnding)) continue
    return { ...failure, message: `${message} It said: ${sentence(words)}` }
  }
  if (!keepsEnding) return null
  if (probe !== undefined) {
    const message = 'The engine stopped answering its health check again and again.'
    return { stage: 'health_check', code: 'engine_unreachable', message }
  }
  const words = sight.lastWords.at(-1)
  return {
    stage: 'model_launch',
    code: 'engine_crashed',
    message: `The engine keeps ending with exit code ${end.exitCode}${
      words === undefined ? '.' : `; it last said: ${shorten(words)}`
    }`,
  }
}
