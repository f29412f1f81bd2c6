/**
 * Starts evaluations together, so that a decode of llama.cpp holds the tokens of all running sequences.
 * Without it, node-llama-cpp decodes as soon as one sequence has tokens, and the others miss it.
 */
export interface BatchGate {
  /** Joins the gate until `leave`. Resolves once all members wait: 1 to `tokens` tokens may be evaluated. */
  enter: (sequence: number, tokens: number) => Promise<number>
  /** Ends the membership of a sequence that does not wait. The other members no longer wait for it. */
  leave: (sequence: number) => void
}

interface Waiting {
  sequence: number
  tokens: number
  start: (tokens: number) => void
}

/**
 * Creates a gate for batches of at most `batchSize` tokens, which must exceed the number of sequences. Calls
 * `onBatch` with the tokens of a batch before it starts.
 */
export function createBatchGate(batchSize: number, onBatch: (tokens: number) => void = () => {}): BatchGate {
  const members = new Set<number>()
  let waiting: Waiting[] = []

  const startIfComplete = (): void => {
    if (waiting.length < members.size) return
    // Shortest first: a running answer needs one token, and a short prompt must not wait for a long one.
    let room = batchSize
    const turns = waiting
      .toSorted((left, right) => left.tokens - right.tokens)
      .map((turn) => {
        const granted = Math.min(turn.tokens, room)
        room -= granted
        return { ...turn, granted }
      })
    waiting = turns.filter(({ granted }) => granted === 0)
    // llama.cpp splits a batch wherever the numbers of its sequences are not consecutive.
    const started = turns.filter(({ granted }) => granted > 0)
    if (started.length > 0) onBatch(batchSize - room)
    for (const { start, granted } of started.toSorted((left, right) => left.sequence - right.sequence))
      start(granted)
  }

  return {
    enter: (sequence, tokens) => {
      members.add(sequence)
      return new Promise((start) => {
        waiting.push({ sequence, tokens, start })
        // A promise that is already resolved when its caller awaits it would continue after all others.
        queueMicrotask(startIfComplete)
      })
    },
    leave: (sequence) => {
      members.delete(sequence)
      startIfComplete()
    },
  }
}
