import type { EngineFailure, FailureCode, FailureStage } from '../../../ports/model-runtime.ts'

/** A supervisor is unreachable or sent an invalid response. Transient: retry later. `message` has no period at the end. */
export class SupervisorError extends Error {}

const maxMessageLength = 400

/** Makes a supervisor's error text presentable: removes the actor's address, joins lines, and limits the length. */
export function cleanText(text: string): string {
  const plain = text
    .replace(/^(\s*\[address=[^\]]*\]\s*)+/, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return plain.length > maxMessageLength ? `${plain.slice(0, maxMessageLength - 1)}…` : plain
}

/** The failure code for an error text that no rule matches: of a launch, or of a model that has run. */
export type DefaultFailureCode = 'launch_rejected' | 'engine_crashed'

/** The first matching rule applies. */
const failureRules: { pattern: RegExp; code: FailureCode; stage: FailureStage }[] = [
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
      /process .*(died|exited|lost)|server ?closed|remote server \S+ closed|connect call failed|crash|actor.*(not exist|lost)|worker .*(died|lost|offline)/i,
    code: 'engine_crashed',
    stage: 'runtime',
  },
]

/** Classifies an error text; `defaultCode` applies if no rule matches. */
export function toEngineFailure(text: string, defaultCode: DefaultFailureCode): EngineFailure {
  const cleaned = cleanText(text)
  const rule = failureRules.find(({ pattern }) => pattern.test(cleaned))
  const code = rule?.code ?? defaultCode
  const stage = rule?.stage ?? (defaultCode === 'engine_crashed' ? 'runtime' : 'model_launch')
  const reason = cleaned === '' ? 'no reason given' : cleaned.replace(/\.$/, '')
  return { stage, code, message: `Xinference could not run the model: ${reason}.` }
}

/** True if the cluster has no worker at the moment. */
export function isNoWorkerError(text: string): boolean {
  return /no available worker/i.test(text)
}
