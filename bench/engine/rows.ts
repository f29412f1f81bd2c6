import { embed, randomMessage, streamAnswer, type Answer } from './client.ts'
import type { Engine, Launch } from './engines.ts'

/** A line of the table: a measurement of one engine, and whether more or less is better. */
export interface Row {
  name: string
  unit: string
  better: 'more' | 'less'
  model: 'small' | 'tiny' | 'embedding'
  launch: Pick<Launch, 'type' | 'contextTokens' | 'parallel'>
  /** How many engines of a kind run at the same time; default one */
  engines?: number
  measure: (engine: Engine, ...others: Engine[]) => Promise<number>
}

const fourSlots = { type: 'chat', contextTokens: 4096, parallel: 4 } as const
const eightSlots = { ...fourSlots, parallel: 8 } as const
const embeddings = { type: 'embedding', contextTokens: 512, parallel: 1 } as const
const small = { model: 'small', launch: fourSlots } as const

const SMALL_ANSWERS = 16
const SMALL_WARM_UPS = 8

const SCHEMA = {
  type: 'object',
  properties: {
    numbers: {
      type: 'array',
      items: { type: 'integer', minimum: 0, maximum: 999 },
      minItems: 60,
      maxItems: 60,
    },
  },
  required: ['numbers'],
  additionalProperties: false,
}

export const rows: readonly Row[] = [
  {
    ...small,
    name: 'prompt',
    unit: 'tokens/s',
    better: 'more',
    measure: async (engine) => {
      // A single token can be a part of a character, which has no text yet.
      const { promptTokens, first } = await streamAnswer(engine, [randomMessage(1_900)], { max_tokens: 8 })
      return (promptTokens / first) * 1000
    },
  },
  {
    ...small,
    name: '1 stream',
    unit: 'tokens/s',
    better: 'more',
    measure: (engine) => throughput(engine, 1),
  },
  {
    ...small,
    name: '4 streams',
    unit: 'tokens/s',
    better: 'more',
    measure: (engine) => throughput(engine, 4),
  },
  {
    ...small,
    launch: eightSlots,
    name: '8 streams',
    unit: 'tokens/s',
    better: 'more',
    measure: (engine) => throughput(engine, 8),
  },
  {
    ...small,
    engines: 2,
    name: '2 engines, a prompt each',
    unit: 'tokens/s',
    better: 'more',
    measure: async (...engines) => {
      const began = performance.now()
      const answers = await Promise.all(
        engines.map((engine) => streamAnswer(engine, [randomMessage(1_900)], { max_tokens: 8 })),
      )
      const tokens = answers.reduce((sum, { promptTokens }) => sum + promptTokens, 0)
      return (tokens / (performance.now() - began)) * 1000
    },
  },
  {
    ...small,
    engines: 2,
    name: '2 engines, 2 streams each',
    unit: 'tokens/s',
    better: 'more',
    measure: async (...engines) => {
      const speeds = await Promise.all(engines.map((engine) => throughput(engine, 2)))
      return speeds.reduce((sum, speed) => sum + speed, 0)
    },
  },
  {
    ...small,
    name: '8 agents on 4 slots, later turns cached',
    unit: '%',
    better: 'more',
    measure: runAgents,
  },
  {
    ...small,
    name: 'late short request, first token',
    unit: 'ms',
    better: 'less',
    measure: async (engine) => {
      const { late } = await nextToStreams(engine, 10)
      return late.first
    },
  },
  {
    ...small,
    name: 'long prompt next to streams, their longest gap',
    unit: 'ms',
    better: 'less',
    measure: async (engine) => {
      const { streams } = await nextToStreams(engine, 1500)
      return Math.max(...streams.map(({ longestGap }) => longestGap))
    },
  },
  {
    ...small,
    name: '8 conversations on 4 slots, first token',
    unit: 'ms',
    better: 'less',
    measure: converse,
  },
  {
    model: 'tiny',
    launch: { ...fourSlots, contextTokens: 2048 },
    name: 'JSON schema, tiny model',
    unit: 'tokens/s',
    better: 'more',
    measure: (engine) =>
      repeat(engine, { type: 'json_schema', json_schema: { name: 'numbers', schema: SCHEMA } }),
  },
  {
    model: 'tiny',
    launch: { ...fourSlots, contextTokens: 2048 },
    name: '1 stream, tiny model',
    unit: 'tokens/s',
    better: 'more',
    measure: (engine) => repeat(engine),
  },
  {
    model: 'embedding',
    launch: embeddings,
    name: 'embeddings',
    unit: 'texts/s',
    better: 'more',
    measure: async (engine) => {
      const texts = Array.from({ length: 64 }, () => randomMessage(30).content)
      const began = performance.now()
      await embed(engine, texts)
      return (texts.length / (performance.now() - began)) * 1000
    },
  },
  { ...small, name: 'startup', unit: 'ms', better: 'less', measure: async ({ startMs }) => startMs },
  { ...small, name: 'memory', unit: 'MiB', better: 'less', measure: async (engine) => engine.memory() },
]

/** Tokens per second of all streams together, without their prompts. */
async function throughput(engine: Engine, count: number): Promise<number> {
  const stream = () => streamAnswer(engine, [randomMessage(8)], { max_tokens: 96 })
  const answers = await Promise.all(Array.from({ length: count }, stream))
  const tokens = answers.reduce((sum, answer) => sum + answer.tokens - 1, 0)
  return (tokens / Math.max(...answers.map(({ rest }) => rest))) * 1000
}

/** Tokens per second of several answers in sequence, without the first ones, while V8 compiles. */
async function repeat(engine: Engine, format?: unknown): Promise<number> {
  const options = format === undefined ? {} : { response_format: format }
  let tokens = 0
  let milliseconds = 0
  for (let answer = 0; answer < SMALL_ANSWERS + SMALL_WARM_UPS; answer++) {
    const timing = await streamAnswer(engine, [randomMessage(8)], { max_tokens: 256, ...options })
    if (answer < SMALL_WARM_UPS) continue
    tokens += timing.tokens - 1
    milliseconds += timing.rest
  }
  return (tokens / milliseconds) * 1000
}

/** Sends a request while three others stream. */
async function nextToStreams(engine: Engine, words: number): Promise<{ streams: Answer[]; late: Answer }> {
  const { promise: running, resolve } = Promise.withResolvers<void>()
  let tokens = 0
  const onToken = (): void => {
    if (++tokens === 30) resolve()
  }
  const streams = Array.from({ length: 3 }, () =>
    streamAnswer(engine, [randomMessage(8)], { max_tokens: 120, onToken }),
  )
  await Promise.race([running, Promise.all(streams)])
  const late = await streamAnswer(engine, [randomMessage(words)], { max_tokens: 4 })
  return { streams: await Promise.all(streams), late }
}

/** The cached share of the prompts of the later turns of eight agents, in percent. */
async function runAgents(engine: Engine): Promise<number> {
  let cached = 0
  let prompts = 0
  const run = async (): Promise<void> => {
    const messages = [randomMessage(790)]
    for (let turn = 0; turn < 6; turn++) {
      messages.push(randomMessage(100))
      const { promptTokens, cachedTokens, text } = await streamAnswer(engine, messages, { max_tokens: 30 })
      messages.push({ role: 'assistant', content: text })
      if (turn === 0) continue
      cached += cachedTokens
      prompts += promptTokens
    }
  }
  await Promise.all(Array.from({ length: 8 }, run))
  return (cached / prompts) * 100
}

/** The mean time to first token in the second and third turn of eight conversations, four at a time. */
async function converse(engine: Engine): Promise<number> {
  const conversations = Array.from({ length: 8 }, () => [randomMessage(250)])
  const later: number[] = []
  for (const turn of [1, 2, 3]) {
    const queue = [...conversations]
    const work = async (): Promise<void> => {
      for (let messages = queue.shift(); messages !== undefined; messages = queue.shift()) {
        const { first } = await streamAnswer(engine, messages, { max_tokens: 8 })
        if (turn > 1) later.push(first)
        messages.push({ role: 'assistant', content: 'bread' }, randomMessage(10))
      }
    }
    await Promise.all(Array.from({ length: 4 }, work))
  }
  return later.reduce((sum, first) => sum + first, 0) / later.length
}
