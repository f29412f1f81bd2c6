// Measures where conversations and other requests go with each INFERENCE_ROUTING: two real engines behind one name, embedded ones or those of
// LLAMA_SERVER_COMMAND, whose caches tell how much of each prompt they had, and how long the first token took.
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import getPort from 'get-port'
import { prepareRandomModel } from '../bench/engine/random-model.ts'
import { findByCommandLine, readCpuTime } from '../bench/processes.ts'
import { describeRandomModel } from '../server/test/support/random-models.ts'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    conversations: { type: 'string', default: '6' },
    turns: { type: 'string', default: '8' },
    engines: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
})
/** So small that two engines on a machine with two cores are not busy all the time. Its cache takes 6 KiB a token. */
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

/** So many words that depend on the seed. */
function write(seed: number, words: number): string {
  let state = seed + 1
  return Array.from({ length: words }, () => {
    state = (state * 48_271) % 2_147_483_647
    return vocabulary[state % vocabulary.length]
  }).join(' ')
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
  let next = 0
  const caller = async () => {
    for (let id = (next += 1); id <= 64; id = next += 1) {
      answers.push(
        await chat([
          { role: 'system', content: write(id % 5, 130) },
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
  const times = answers.map((answer) => answer.firstTokenMilliseconds).toSorted((one, other) => one - other)
  const at = (share: number) => `${times[Math.floor(share * (times.length - 1))]!.toFixed(0)} ms`
  const hits = sum((answer) => answer.cachedTokens) / sum((answer) => answer.promptTokens)
  return [
    `${(100 * hits).toFixed(1)} %`,
    at(0.5),
    at(0.95),
    `${(answers.length / seconds).toFixed(2)}/s`,
    `${cpu.toFixed(0)} ms`,
  ]
}

/** Starts a server with engines of one model. */
async function startServer(routing: string, cleanup: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-prefixes-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const file = await prepareRandomModel(join(root, 'catalog/weights/berth-tiny.gguf'), shape)
  const catalog = join(folder, 'catalog.yaml')
  await writeFile(
    catalog,
    `{"models": [${describeRandomModel(shape, { file, bytes: statSync(file).size })}]}`,
  )
  const port = await getPort({ host: '127.0.0.1' })
  const { PATH = '', HOME = '', LLAMA_SERVER_COMMAND } = process.env
  const child = spawn(process.execPath, [join(root, 'server/bin/berth.mjs')], {
    env: {
      PATH,
      HOME,
      PORT: String(port),
      DATA_DIR: join(folder, 'data'),
      CATALOG_FILE: catalog,
      LOCAL_CONTEXT_TOKENS: '8192',
      // The slots of both engines together hold all conversations, those of one don't.
      LOCAL_STATE_CACHE_MIB: '0',
      LOCAL_EXPECTED_ENGINES: values.engines,
      INFERENCE_ROUTING: routing,
      ...(LLAMA_SERVER_COMMAND === undefined ? {} : { LLAMA_SERVER_COMMAND }),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, { method, headers, body: body ? JSON.stringify(body) : null })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    headers['cookie'] ??= response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    return (await response.json()) as { id: string; status: string }
  }
  const waitFor = async (isDone: () => Promise<boolean>) => {
    for (let tries = 0; !(await isDone().catch(() => false)); tries += 1) {
      if (tries > 600 || child.exitCode !== null) throw new Error('The server did not become ready.')
      await delay(200)
    }
  }
  const ended = new Promise<void>((done) => child.once('close', () => done()))
  cleanup.defer(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await waitFor(async () => (await fetch(`${url}/healthz`)).ok)
  const password = 'correct horse battery'
  await call('POST', '/v1/user/register', { email: 'bench@example.com', password, organization: 'Bench' })
  for (let count = 0; count < Number(values.engines); count += 1) {
    const { id } = await call('POST', '/api/v1/model-deployments', { model_name: shape.name })
    const path = `/api/v1/model-deployments/${id}`
    cleanup.defer(async () => {
      await call('DELETE', path)
      await waitFor(async () => (await call('GET', path)).status === 'terminated')
    })
    await waitFor(async () => (await call('GET', path)).status === 'running')
  }
  return {
    chat: (messages: readonly Message[]) => chatOnce(url, headers, messages),
    readCpuSeconds: () => readCpuTime(findByCommandLine(join(folder, 'data', 'engines'))),
  }
}

async function chatOnce(
  url: string,
  headers: Record<string, string>,
  messages: readonly Message[],
): Promise<Answer> {
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
    headers,
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

const columns = ['workload', 'routing', 'cached', 'first token', '95 %', 'requests', 'CPU each']
const print = (cells: readonly string[]) =>
  process.stdout.write(
    `${cells
      .map((cell) => cell.padEnd(15))
      .join('')
      .trimEnd()}\n`,
  )
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
