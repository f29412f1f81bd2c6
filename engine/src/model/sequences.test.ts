import type { LlamaContext } from 'node-llama-cpp'
import { expect, test } from 'vitest'
import { createSequencePool } from './sequences.ts'

/** A context whose sequences share the given numbers of tokens with every prompt. */
function fakeContext(shared: readonly number[]): LlamaContext {
  let next = 0
  const getSequence = () => {
    const firstDifferentIndex = shared[next++]
    return {
      compareContextTokens: () => ({ firstDifferentIndex }),
      evaluate: async function* () {},
      _decodeTokens: async () => {},
    }
  }
  return { model: {}, totalSequences: shared.length, getSequence } as unknown as LlamaContext
}

const prompt = { tokens: [] }
const never = new AbortController().signal

const threads = { prepare: () => {} }

test('assigns the sequence that shares the longest prefix', async () => {
  const pool = createSequencePool(fakeContext([100, 900, 400]), { maxWaiting: 8, states: null, threads })
  const lent = [await pool.acquire(prompt, never), await pool.acquire(prompt, never)]
  expect(lent.map((slot) => slot.sequence.compareContextTokens([]).firstDifferentIndex)).toEqual([900, 400])
})

test('a prefix as short as that of a chat template does not keep sequences from being consecutive', async () => {
  const pool = createSequencePool(fakeContext([9, 40, 0, 50]), { maxWaiting: 8, states: null, threads })
  const lent = [await pool.acquire(prompt, never), await pool.acquire(prompt, never)]
  expect(lent.map(({ number }) => number)).toEqual([0, 1])
})

test('serves waiting requests in order and skips cancelled ones', async () => {
  const pool = createSequencePool(fakeContext([0]), { maxWaiting: 8, states: null, threads })
  const slot = await pool.acquire(prompt, never)
  const served: string[] = []
  const leaving = new AbortController()
  const wait = async (name: string, signal = never): Promise<void> => {
    const own = await pool.acquire(prompt, signal)
    served.push(name)
    pool.release(own)
  }
  const first = wait('first')
  const second = wait('second', leaving.signal)
  const third = wait('third')
  leaving.abort(new Error('left'))
  await expect(second).rejects.toThrow('left')
  pool.release(slot)
  await Promise.all([first, third])
  expect(served).toEqual(['first', 'third'])
})

test('rejects a request when the queue is full and accepts it later', async () => {
  const pool = createSequencePool(fakeContext([0]), { maxWaiting: 1, states: null, threads })
  const slot = await pool.acquire(prompt, never)
  const waiting = pool.acquire(prompt, never)
  await expect(pool.acquire(prompt, never)).rejects.toMatchObject({ status: 429, retryAfter: 5 })
  pool.release(slot)
  pool.release(await waiting)
  expect(await pool.acquire(prompt, never)).toBe(slot)
})

test('assigns nothing to a cancelled request', () => {
  const pool = createSequencePool(fakeContext([0]), { maxWaiting: 1, states: null, threads })
  expect(() => pool.acquire(prompt, AbortSignal.abort(new Error('left')))).toThrow('left')
})
