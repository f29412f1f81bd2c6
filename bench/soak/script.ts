/** The upstream's action for a request. The caller sends it, so it knows the expected outcome. */
export interface Script {
  does: WholeAct | StreamAct
  /** Stream events before the end, the break or the wait */
  events: number
}

export type WholeAct = keyof typeof wholeActs
export type StreamAct = keyof typeof streamActs

/** The expected outcome: a complete response, an incomplete one, or none because the caller leaves. */
type Outcome = 'answer' | 'error' | 'leave'

/** Actions for complete responses, in parts per thousand. */
const wholeActs = {
  answer: { outcome: 'answer', share: 940 },
  'answer late': { outcome: 'answer', share: 20 },
  'break before': { outcome: 'error', share: 5 },
  'break amid': { outcome: 'error', share: 5 },
  'send garbage': { outcome: 'error', share: 5 },
  'fail with HTML': { outcome: 'error', share: 5 },
  'fail with JSON': { outcome: 'error', share: 5 },
  'wait for the caller to leave': { outcome: 'leave', share: 15 },
} as const satisfies Record<string, { outcome: Outcome; share: number }>

/** Actions for streams, in parts per thousand. */
const streamActs = {
  stream: { outcome: 'answer', share: 700 },
  'stream with events cut in two': { outcome: 'answer', share: 50 },
  'stream with CRLF and comments': { outcome: 'answer', share: 50 },
  'end amid': { outcome: 'error', share: 30 },
  'reset amid': { outcome: 'error', share: 30 },
  'send an error amid': { outcome: 'error', share: 40 },
  'hold for the caller to leave': { outcome: 'leave', share: 100 },
} as const satisfies Record<string, { outcome: Outcome; share: number }>

/** Draws a random script; streams have 20 to 200 events. */
export function drawScript(streams: boolean): Script {
  const acts = Object.entries(streams ? streamActs : wholeActs) as [Script['does'], { share: number }][]
  let left = Math.random() * 1000
  const [does] = acts.find(([, { share }]) => (left -= share) < 0) ?? acts[0] ?? ['answer' as const]
  return { does, events: streams ? 20 + Math.floor(Math.random() * 181) : 0 }
}

export function outcomeOf({ does }: Script): Outcome {
  return { ...wholeActs, ...streamActs }[does].outcome
}
