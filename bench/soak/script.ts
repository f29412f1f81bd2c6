/** What the upstream does with a request; the caller sends it along and so knows what must come of it. */
export interface Script {
  does: WholeAct | StreamAct
  /** Events of a stream before it ends, breaks or waits */
  events: number
}

export type WholeAct = keyof typeof wholeActs
export type StreamAct = keyof typeof streamActs

/** What the caller must see: all of the answer, anything but a whole answer, or nothing, because it leaves. */
type Outcome = 'answer' | 'error' | 'leave'

/** Of whole answers, with how many in a thousand of each. */
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

/** Of streams, with how many in a thousand of each. */
const streamActs = {
  stream: { outcome: 'answer', share: 700 },
  'stream with events cut in two': { outcome: 'answer', share: 50 },
  'stream with CRLF and comments': { outcome: 'answer', share: 50 },
  'end amid': { outcome: 'error', share: 30 },
  'reset amid': { outcome: 'error', share: 30 },
  'send an error amid': { outcome: 'error', share: 40 },
  'hold for the caller to leave': { outcome: 'leave', share: 100 },
} as const satisfies Record<string, { outcome: Outcome; share: number }>

/** A random script; streams have between 20 and 200 events. */
export function drawScript(streams: boolean): Script {
  const acts = Object.entries(streams ? streamActs : wholeActs) as [Script['does'], { share: number }][]
  let left = Math.random() * 1000
  const [does] = acts.find(([, { share }]) => (left -= share) < 0) ?? acts[0] ?? ['answer' as const]
  return { does, events: streams ? 20 + Math.floor(Math.random() * 181) : 0 }
}

export function outcomeOf({ does }: Script): Outcome {
  return { ...wholeActs, ...streamActs }[does].outcome
}
