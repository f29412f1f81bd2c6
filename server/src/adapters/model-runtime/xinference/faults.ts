import type { EngineFailure, FailureCode, FailureStage } from '../../../ports/model-runtime.ts'

/** A supervisor that can't be reached, or whose answers make no sense; it may pass. `message` is one sentence. */
export class SupervisorFault extends Error {}

const longestText = 400

/** What a supervisor says, fit to be shown: without the actor's address that it begins with, on one line, not too long. */
export function cleanText(text: string): string {
  const plain = text
    .replace(/^(\s*\[address=[^\]]*\]\s*)+/, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return plain.length > longestText ? `${plain.slice(0, longestText - 1)}…` : plain
}

const causes: { pattern: RegExp; code: FailureCode; stage: FailureStage }[] = [
  {
    pattern: /no space left on device|disk quota exceeded/i,
    code: 'disk_full',
    stage: 'model_download',
  },
  {
    pattern:
      /out ?of ?memory|cannot allocate memory|no available memory for the cache blocks|stored in KV cache|\bOOM\b/i,
    code: 'out_of_memory',
    stage: 'model_launch',
  },
  { pattern: /model not found, name|unknown model/i, code: 'model_not_found', stage: 'model_launch' },
  {
    pattern: /no available slot|n_gpu`? must be greater than 0|requested gpus exceed/i,
    code: 'no_capacity',
    stage: 'model_launch',
  },
  {
    pattern:
      /cannot be run on engine|launch cancell?ed|invalid input|not enough permissions|api keys can only/i,
    code: 'launch_rejected',
    stage: 'model_launch',
  },
  {
    pattern: /download|snapshot|huggingface|modelscope|max retries exceeded|gated repo|client error/i,
    code: 'download_failed',
    stage: 'model_download',
  },
  {
    pattern:
      /process .*(died|exited|lost)|server ?closed|crash|actor.*(not exist|lost)|worker .*(died|lost|offline)/i,
    code: 'engine_crashed',
    stage: 'runtime',
  },
]

/** What a text about a failure means; `unknown` is the code of one that no rule knows. */
export function toFailure(text: string, unknown: 'launch_rejected' | 'engine_crashed'): EngineFailure {
  const cleaned = cleanText(text)
  const known = causes.find(({ pattern }) => pattern.test(cleaned))
  const code = known?.code ?? unknown
  const stage = known?.stage ?? (unknown === 'engine_crashed' ? 'runtime' : 'model_launch')
  const reason = cleaned === '' ? 'it gave no reason' : cleaned.replace(/\.$/, '')
  return { stage, code, message: `Xinference could not run the model: ${reason}.` }
}

/** No worker has joined the cluster, or none is left: a state that passes when one comes back. */
export function tellsNoWorker(text: string): boolean {
  return /no available worker/i.test(text)
}
