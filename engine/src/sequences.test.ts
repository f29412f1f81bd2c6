import type { LlamaContext, Token } from 'node-llama-cpp'
import { expect, test } from 'vitest'
import { createSequencePool } from './sequences.ts'

/** A context of sequences that share as many tokens with any prompt as given. */
function fakeContext(shared: readonly number[]): LlamaContext {
  let next = 0
  const getSequence = () => {
    const firstDifferentIndex = shared[next++]
    return { compareContextTokens: () => ({ firstDifferentIndex }), evaluate: async function* () {} }
  }
  return { totalSequences: shared.length, getSequence } as unknown as LlamaContext
}

const prompt: Token[] = []
const never = new AbortController().signal

test('lends the sequence that knows most of the prompt', async () => {
  const pool = createSequencePool(fakeContext([1, 9, 4]), 8)
  const lent = [await pool.acquire(prompt, never), await pool.acquire(prompt, never)]
  expect(lent.map((slot) => slot.sequence.compareContextTokens([]).firstDifferentIndex)).toEqual([9, 4])
})

test('serves those who wait in order, but for those who left', async () => {
  const pool = createSequencePool(fakeContext([0]), 8)
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

test('refuses what is one too many, and takes it again later', async () => {
  const pool = createSequencePool(fakeContext([0]), 1)
  const slot = await pool.acquire(prompt, never)
  const waiting = pool.acquire(prompt, never)
  await expect(pool.acquire(prompt, never)).rejects.toMatchObject({ status: 503, retryAfter: 5 })
  pool.release(slot)
  pool.release(await waiting)
  expect(await pool.acquire(prompt, never)).toBe(slot)
})

test('lends nothing to a caller who has left already', () => {
  const pool = createSequencePool(fakeContext([0]), 1)
  expect(() => pool.acquire(prompt, AbortSignal.abort(new Error('left')))).toThrow('left')
})
