// Measures where conversations and other requests go with each INFERENCE_ROUTING: two real engines behind one
// name, whose caches tell how much of each prompt they had, and how long the first token took. `--engine
// embedded|llama-server|vllm`: llama-server is the one that LLAMA_SERVER_COMMAND names; vLLM has the
// requirements of `npm run test:vllm`.
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readCpuTime } from '../bench/processes.ts'
import { path, percentile, printRow, startMeasuredServer } from './measured-server.ts'
import type { Deployment, MeasuredServer } from './measured-server.ts'
import { prepareVllm } from './measured-vllm.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    conversations: { type: 'string', default: '6' },
    turns: { type: 'string', default: '8' },
    engine: { type: 'string', default: 'embedded' },
    engines: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
})
/**
 * So small that two engines on a machine with two cores are not busy all the time. Its cache takes 6 KiB a
 * token.
 */
const shape = {
  name: 'random-prefixes-small',
  layers: 6,
  width: 256,
  heads: 4,
  kvHeads: 4,
  inner: 1024,
  vocabulary: 4_416,
  isTied: true,
}

interface Message {
  role: 'system' | 'user' | 'assistant'
  content: string
}

interface Answer {
  text: string
  promptTokens: number
  cachedTokens: number
  firstTokenMilliseconds: number
}

type Chat = (messages: readonly Message[]) => Promise<Answer>

const vocabulary =
  'the berth is where a ship lies while it loads and what it carries is of no concern to the pilot who brings it in'.split(
    ' ',
  )

/** So many numbers below a limit that depend on the seed. */
function draw(seed: number, count: number, limit: number): number[] {
  let state = seed + 1
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state % limit
  })
}

/** So many words that depend on the seed. */
function write(seed: number, words: number): string {
  return draw(seed, words, vocabulary.length)
    .map((index) => vocabulary[index])
    .join(' ')
}

/** Conversations with one system prompt; their callers read for a moment before they go on. */
async function converse(chat: Chat): Promise<Answer[]> {
  const answers: Answer[] = []
  const talk = async (id: number) => {
    const messages: Message[] = [{ role: 'system', content: write(0, 100) }]
    await delay(id * 100)
    for (let turn = 0; turn < Number(values.turns); turn += 1) {
      messages.push({ role: 'user', content: write(1 + id * 100 + turn, 120) })
      const answer = await chat(messages)
      answers.push(answer)
      messages.push({ role: 'assistant', content: answer.text })
      await delay(1_000 + ((id * 7 + turn * 3) % 10) * 200)
    }
  }
  await Promise.all(Array.from({ length: Number(values.conversations) }, (_, id) => talk(id)))
  return answers
}

/** Single requests. Each shares 26 % of its prompt with a fifth of the others (SGLang's issue 21199). */
async function ask(chat: Chat): Promise<Answer[]> {
  const answers: Answer[] = []
  const waiting = draw(1, 128, 5).entries()
  const caller = async () => {
    for (const [id, prefix] of waiting) {
      answers.push(
        await chat([
          { role: 'system', content: write(prefix, 130) },
          { role: 'user', content: write(1_000 + id, 370) },
        ]),
      )
    }
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  return answers
}

async function measure(routing: string, workload: (chat: Chat) => Promise<Answer[]>): Promise<string[]> {
  await using cleanup = new AsyncDisposableStack()
  const { chat, readCpuSeconds } = await startServer(routing, cleanup)
  const cpuBefore = readCpuSeconds()
  const startedAt = performance.now()
  const answers = await workload(chat)
  const seconds = (performance.now() - startedAt) / 1000
  const cpu = (1000 * (readCpuSeconds() - cpuBefore)) / answers.length
  const sum = (read: (answer: Answer) => number) => answers.reduce((total, each) => total + read(each), 0)
  const times = answers.map((answer) => answer.firstTokenMilliseconds)
  const hits = sum((answer) => answer.cachedTokens) / sum((answer) => answer.promptTokens)
  return [
    `${(100 * hits).toFixed(1)} %`,
    `${percentile(times, 0.5)} ms`,
    `${percentile(times, 0.95)} ms`,
    `${(answers.length / seconds).toFixed(2)}/s`,
    `${cpu.toFixed(0)} ms`,
  ]
}

/**
 * Starts a server with engines of one model. The slots of both engines together hold all conversations, those
 * of one don't.
 */
async function startServer(routing: string, cleanup: AsyncDisposableStack) {
  const server = await startMeasuredServer(
    {
      model: shape,
      engines: Number(values.engines),
      settings: {
        LOCAL_CONTEXT_TOKENS: '8192',
        INFERENCE_ROUTING: routing,
        ...engineSettings,
      },
    },
    cleanup,
  )
  for (let count = 0; count < Number(values.engines); count += 1) {
    const { id } = await server.call<Deployment>('POST', path, { model_name: shape.name })
    cleanup.defer(async () => {
      await server.call('DELETE', `${path}/${id}`)
      await server.waitForStatus(id, 'terminated')
    })
    await server.waitForStatus(id, 'running')
  }
  return {
    chat: (messages: readonly Message[]) => chatOnce(server, messages),
    readCpuSeconds: () => readCpuTime(server.findEngines()),
  }
}

async function chatOnce({ url, cookie }: MeasuredServer, messages: readonly Message[]): Promise<Answer> {
  const body = {
    model: shape.name,
    messages,
    max_tokens: 16,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  }
  const startedAt = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const answer = { text: '', promptTokens: 0, cachedTokens: 0, firstTokenMilliseconds: 0 }
  let pending = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (pending + chunk).split('\n')
    pending = lines.pop()!
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue
      const { choices, usage } = JSON.parse(line.slice(6))
      const text: string = choices[0]?.delta?.content ?? ''
      if (text !== '' && answer.text === '') answer.firstTokenMilliseconds = performance.now() - startedAt
      answer.text += text
      answer.promptTokens = usage?.prompt_tokens ?? answer.promptTokens
      answer.cachedTokens = usage?.prompt_tokens_details?.cached_tokens ?? answer.cachedTokens
    }
  }
  return answer
}

/** Settings that make the server use the engine of `--engine`. */
async function prepareEngine(cleanup: AsyncDisposableStack): Promise<Record<string, string>> {
  if (values.engine === 'embedded') return {}
  if (values.engine === 'vllm') return prepareVllm(shape, cleanup)
  const { LLAMA_SERVER_COMMAND } = process.env
  if (values.engine !== 'llama-server') throw new Error('--engine must be embedded, llama-server or vllm.')
  if (LLAMA_SERVER_COMMAND === undefined) {
    throw new Error('Set LLAMA_SERVER_COMMAND to the path of llama-server.')
  }
  return { LLAMA_SERVER_COMMAND }
}

await using prepared = new AsyncDisposableStack()
const engineSettings = await prepareEngine(prepared)
const columns = ['workload', 'routing', 'cached', 'first token', '95 %', 'requests', 'CPU each']
const print = (cells: readonly string[]) => printRow(cells, 15)
print(columns)
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const [name, workload] of [
    ['conversations', converse],
    ['26 % shared', ask],
  ] as const) {
    if (values.only !== undefined && values.only !== name) continue
    for (const routing of ['least_busy', 'prefix'])
      print([name, routing, ...(await measure(routing, workload))])
  }
}
