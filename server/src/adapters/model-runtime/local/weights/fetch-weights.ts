import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineFailure } from '../../../../ports/engine-failures.ts'
import type { FetchOptions } from '../../../../ports/model-runtime.ts'
import type { StoredWeights, WeightStore } from './weights.ts'

const pollMs = 200

/** Downloads a model that no engine waits for. Resolves to the failure; to null once all files are there. */
export async function fetchWeights(
  store: Pick<WeightStore, 'ensure' | 'observe' | 'cancel'>,
  model: StoredWeights,
  { hubToken, onProgress }: FetchOptions,
): Promise<EngineFailure | null> {
  const id = randomUUID()
  try {
    while ((await store.ensure(id, model, hubToken)) === null) {
      const state = store.observe(id)
      if (state?.phase === 'failed') return state
      if (state?.phase === 'downloading') onProgress(state.message)
      await sleep(pollMs)
    }
    return null
  } finally {
    await store.cancel(id)
  }
}
