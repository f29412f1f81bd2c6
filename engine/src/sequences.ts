import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp'
import { overloaded } from './errors.ts'

/** One sequence of the context, held by one request at a time. */
export interface Slot {
  readonly sequence: LlamaContextSequence
  /** Awaited before each token: backpressure from a slow reader */
  pace: () => Promise<void> | void
}

/** Assigns sequences to requests; excess requests wait in order of arrival. */
export interface SequencePool {
  /**
   * Resolves to the free slot that shares the longest prefix with the prompt. Rejects with the signal's reason when the caller
   * disconnects while waiting, and with a 503 when the queue is full.
   */
  acquire: (prompt: readonly Token[], signal: AbortSignal) => Promise<Slot>
  release: (slot: Slot) => void
}

interface Waiter {
  resolve: (slot: Slot) => void
}

/** Creates a pool of all sequences of the context with a queue of at most `maxWaiting` requests. */
export function createSequencePool(context: LlamaContext, maxWaiting: number): SequencePool {
  const free = Array.from({ length: context.totalSequences }, () => createSlot(context))
  const waiting: Waiter[] = []

  return {
    acquire(prompt, signal) {
      signal.throwIfAborted()
      if (free.length > 0) return Promise.resolve(takeBest(free, prompt))
      if (waiting.length >= maxWaiting) return Promise.reject(overloaded(waiting.length))
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.splice(waiting.indexOf(waiter), 1)
          reject(signal.reason as Error)
        }
        const waiter: Waiter = {
          resolve: (slot) => {
            signal.removeEventListener('abort', leave)
            resolve(slot)
          },
        }
        waiting.push(waiter)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
    release(slot) {
      slot.pace = () => {}
      const next = waiting.shift()
      if (next === undefined) free.push(slot)
      else next.resolve(slot)
    },
  }
}

function createSlot(context: LlamaContext): Slot {
  // A full context must end the answer. By default node-llama-cpp drops the oldest tokens, including the prompt.
  const strategy = (): never => {
    throw new Error('The context is full.')
  }
  const sequence = context.getSequence({ contextShift: { strategy } })
  const slot: Slot = { sequence, pace: () => {} }
  const evaluate = sequence.evaluate.bind(sequence)
  sequence.evaluate = async function* (tokens, options) {
    const generation = evaluate(tokens, options)
    try {
      let replacement: Token | Token[] | void = undefined
      while (true) {
        await slot.pace()
        const step: IteratorResult<Token, void> = await generation.next(replacement)
        if (step.done === true) return
        replacement = yield step.value
      }
    } finally {
      await generation.return()
    }
  }
  return slot
}

function takeBest(free: Slot[], prompt: readonly Token[]): Slot {
  const shared = (slot: Slot): number => slot.sequence.compareContextTokens([...prompt]).firstDifferentIndex
  const best = free.reduce((left, right) => (shared(right) > shared(left) ? right : left))
  free.splice(free.indexOf(best), 1)
  return best
}
