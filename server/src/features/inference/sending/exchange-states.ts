/**
 * The legal transitions of an exchange. A caller may leave in any state. An exchange fails if the engine
 * breaks off, the caller loses access, or no place becomes free; its caller gets an error, or a truncated
 * response if one has begun.
 */
export const transitions = {
  /** Waits for a place at a deployment */
  queued: ['sent', 'failed', 'ended'],
  /** Waits for the head of the engine's response. Returns to the queue once if the engine is gone. */
  sent: ['queued', 'body', 'failed', 'ended'],
  /** The relay takes the body */
  body: ['complete', 'failed', 'ended'],
  /** The engine's response is complete; the relay writes what is left of it */
  complete: ['failed', 'ended'],
  /** An error is being sent, or the response was truncated */
  failed: ['ended'],
  /** The caller's connection or the response has ended. The engine's last count may still come. */
  ended: ['settled'],
  /** The engine sends no more, so that what the request used can be recorded */
  settled: [],
} as const satisfies Record<string, readonly string[]>

export type ExchangeState = keyof typeof transitions

/** The states that may follow `From`, so that an illegal transition doesn't compile. */
export type NextState<From extends ExchangeState> = (typeof transitions)[From][number]

/** The states in which an exchange holds a place in admission and has a request at an engine. */
export function isAtEngine(state: ExchangeState): boolean {
  return state === 'sent' || state === 'body'
}
