import type { LlamaContext, LlamaContextSequence, Token } from 'node-llama-cpp'
import { invalid, overloaded } from '../base/errors.ts'
import { createBatchGate } from './batch-gate.ts'
import type { BatchGate } from './batch-gate.ts'
import { watchSampling } from './watch-sampling.ts'
import { observeLogprobs, scoreBatch } from './logprobs.ts'
import type { LogprobListener, TokenLogprob } from './logprobs.ts'
import type { StateCache } from './state-cache.ts'
import type { Threads } from './threads.ts'

/** The tokens of a prompt. Only prompts with the same salt share prefixes. */
export interface Prompt {
  tokens: readonly Token[]
  salt?: string | null | undefined
}

/** One sequence of the context, held by one request at a time. */
export interface Slot {
  readonly number: number
  readonly sequence: LlamaContextSequence
  /** The salt of the request that holds it */
  salt: string | null
  /** The tokens of a prompt that the sequence has already */
  countShared: (prompt: Prompt) => number
  /** Awaited before each token: backpressure from a slow reader */
  pace: () => Promise<void> | void
  /** Receives the log probabilities of generated tokens */
  logprobs: LogprobListener | null
  /** Keeps or restores the longest known prefix; resolves to its length. Starts empty without `reuse`. */
  align: (prompt: readonly Token[], options: { reuse: boolean }) => Promise<number>
  /** Appends prompt tokens in batches shared with other slots. Rejects with an abort's reason. */
  append: (tokens: readonly Token[], signal: AbortSignal) => Promise<void>
  /**
   * Appends tokens but the last to the empty sequence. Resolves to each log probability but the first, and
   * the `top` most likely. Rejects with an abort's reason.
   */
  score: (tokens: readonly Token[], top: number, signal: AbortSignal) => Promise<TokenLogprob[]>
}

/** Assigns sequences to requests; excess requests wait in order of arrival. */
export interface SequencePool {
  /**
   * Resolves to the free slot with the longest shared prefix, or the first if others share little more.
   * Rejects with an abort's reason while waiting, and with a 429 when the queue is full.
   */
  acquire: (prompt: Prompt, signal: AbortSignal) => Promise<Slot>
  release: (slot: Slot) => void
}

interface Waiter {
  resolve: (slot: Slot) => void
}

/** Prompt tokens scored at once. llama.cpp keeps a number for each of them and each vocabulary token. */
const maxScored = 32

/** Creates a pool of all sequences of the context with a queue of at most `maxWaiting` requests. */
export function createSequencePool(
  context: LlamaContext,
  { maxWaiting, states, threads }: { maxWaiting: number; states: StateCache | null; threads: Threads },
): SequencePool {
  const gate = createBatchGate(context.batchSize, threads.prepare)
  const free = Array.from({ length: context.totalSequences }, (_, number) =>
    createSlot(context, { gate, states, number }),
  )
  const waiting: Waiter[] = []

  return {
    acquire(prompt, signal) {
      signal.throwIfAborted()
      if (free.length > 0) return Promise.resolve(lend(takeBest(free, prompt), prompt))
      if (waiting.length >= maxWaiting) return Promise.reject(overloaded(waiting.length))
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.splice(waiting.indexOf(waiter), 1)
          reject(signal.reason as Error)
        }
        const waiter: Waiter = {
          resolve: (slot) => {
            signal.removeEventListener('abort', leave)
            resolve(lend(slot, prompt))
          },
        }
        waiting.push(waiter)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
    release(slot) {
      slot.pace = () => {}
      slot.logprobs = null
      const next = waiting.shift()
      if (next === undefined) free.splice(findPlace(free, slot), 0, slot)
      else next.resolve(slot)
    },
  }
}

function createSlot(
  context: LlamaContext,
  { gate, states, number }: { gate: BatchGate; states: StateCache | null; number: number },
): Slot {
  // A full context must end the answer; by default node-llama-cpp drops the oldest tokens, even the prompt.
  const strategy = (): never => {
    throw new Error('The context is full.')
  }
  const sequence = context.getSequence({ contextShift: { strategy } })
  /** The salt of the tokens in the sequence */
  let kept: string | null = null
  const slot: Slot = {
    number,
    sequence,
    salt: null,
    countShared: ({ tokens, salt = null }) =>
      salt === kept ? sequence.compareContextTokens([...tokens]).firstDifferentIndex : 0,
    pace: () => {},
    logprobs: null,
    align: async (prompt, { reuse }) => {
      const wanted = [...prompt]
      const { salt } = slot
      const shared = reuse ? slot.countShared({ tokens: wanted, salt }) : 0
      const next = { tokens: reuse ? wanted : [], salt }
      const isLoaded = await states?.exchange(sequence, { kept, shared }, next)
      if (!reuse || (salt !== kept && isLoaded !== true)) await sequence.clearHistory()
      kept = salt
      await sequence.adaptStateToTokens(wanted, false)
      return sequence.nextTokenIndex
    },
    append: async (tokens, signal) => {
      try {
        for (let start = 0; start < tokens.length;) {
          const end = start + (await gate.enter(number, tokens.length - start))
          signal.throwIfAborted()
          await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(start, end))
          start = end
        }
        signal.throwIfAborted()
      } finally {
        gate.leave(number)
      }
    },
    score: async (tokens, top, signal) => {
      const scores: TokenLogprob[] = []
      try {
        for (let start = 0; start < tokens.length - 1;) {
          const most = Math.min(maxScored, tokens.length - 1 - start)
          const end = start + (await gate.enter(number, most))
          signal.throwIfAborted()
          scores.push(...(await scoreBatch(sequence, tokens.slice(start, end + 1), top)))
          start = end
        }
        signal.throwIfAborted()
        return scores
      } finally {
        gate.leave(number)
      }
    },
  }
  observeLogprobs(sequence, context.model, () => slot.logprobs)
  shareBatches(slot, gate)
  return slot
}

/** The choice of a token may take so long; more means that its grammar has too many ways to read the text. */
const maxSamplingMs = 1000

const tooAmbiguous = () =>
  invalid(
    '',
    'The schema has so many ways to read the beginning of an answer that the choice of a token takes too long. Use fewer alternatives that overlap.',
    'schema_too_complex',
  )

/** Makes each token of an answer wait for its reader and for the running answers' shared batch. */
function shareBatches(slot: Slot, gate: BatchGate): void {
  const { number, sequence } = slot
  let hasGrammar = false
  let isSlow = false
  watchSampling(sequence, {
    isWatched: () => hasGrammar,
    milliseconds: maxSamplingMs,
    onSlow: () => {
      isSlow = true
      gate.leave(number)
    },
  })
  const evaluate = sequence.evaluate.bind(sequence)
  sequence.evaluate = async function* (tokens, options) {
    const generation = evaluate(tokens, options)
    hasGrammar = options?.grammarEvaluationState !== undefined
    isSlow = false
    try {
      let replacement: Token | Token[] | void = undefined
      while (true) {
        const drained = slot.pace()
        if (drained !== undefined) {
          gate.leave(number)
          await drained
        }
        await gate.enter(number, 1)
        const step: IteratorResult<Token, void> = await generation.next(replacement)
        if (step.done === true) return
        if (isSlow) throw tooAmbiguous()
        replacement = yield step.value
      }
    } finally {
      hasGrammar = false
      gate.leave(number)
      await generation.return()
    }
  }
}

/** Tokens that a longer prefix must save to justify a slot that is not consecutive, which splits batches. */
const leastGain = 64

/** Free slots are in the order of their numbers, because consecutive sequences share batches best. */
const findPlace = (free: readonly Slot[], { number }: Slot): number =>
  free.filter((other) => other.number < number).length

function lend(slot: Slot, { salt = null }: Prompt): Slot {
  slot.salt = salt
  return slot
}

function takeBest(free: Slot[], prompt: Prompt): Slot {
  const shared = (slot: Slot): number => slot.countShared(prompt)
  const best = free.reduce((left, right) => (shared(right) >= shared(left) + leastGain ? right : left))
  free.splice(free.indexOf(best), 1)
  return best
}
