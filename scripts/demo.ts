// Demonstrates Berth on a temporary server: an account, two deployments, and calls of the OpenAI client.
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import OpenAI from 'openai'
import { runProgram } from '../tools/run-program.ts'

const QUESTIONS = [
  'Who are you?',
  'How do I deploy a model?',
  'What is the capital of France?',
  'The lamp is blue. Is the lamp red?',
  'Tell me a story about an otter.',
]
const SENTENCES = [
  'The cat sleeps on the sofa.',
  'A kitten is napping on the couch.',
  'The stock market fell today.',
]

async function demo(url: string, cleanup: AsyncDisposableStack): Promise<string> {
  heading('Sign up')
  const api = createCaller(url)
  const { user } = await api.call<Session>('POST', '/v1/user/register', {
    email: 'ada@example.com',
    password: crypto.randomUUID(),
    organization: 'Analytical Engines',
  })
  cleanup.defer(() => terminateAll(api))
  console.log(`${user.email} of ${user.organization}, ${user.role.name}`)

  heading('Pick two models from the catalog')
  const chatModel = await findBundledModel(api, 'LLM')
  const embeddingModel = await findBundledModel(api, 'embedding')

  heading(`Deploy ${chatModel}`)
  const chat = await deploy(api, chatModel)

  heading('Chat, with the openai package')
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', defaultHeaders: { Cookie: api.cookie() } })
  const firstToken = await ask(openai, chatModel)

  heading(`Deploy ${embeddingModel}`)
  const embedding = await deploy(api, embeddingModel)

  heading('Embed three sentences and compare them')
  await compare(openai, embeddingModel)

  heading('What was metered')
  const tokens = await showUsage(api, [chat.id, embedding.id])
  return `${chat.seconds.toFixed(2)} s to running, ${tokens} tokens, ${firstToken?.toFixed(3)} s to the first token`
}

/** Sends the questions and prints the answers. Resolves to the seconds until the first token. */
async function ask(openai: OpenAI, model: string): Promise<number | null> {
  let firstToken: number | null = null
  for (const question of QUESTIONS) {
    console.log(`> ${question}`)
    const asked = performance.now()
    const stream = await openai.chat.completions.create({
      model,
      messages: [{ role: 'user', content: question }],
      temperature: 0,
      stream: true,
    })
    for await (const { choices } of stream) {
      const word = choices[0]?.delta.content ?? ''
      if (word !== '') firstToken ??= secondsSince(asked)
      process.stdout.write(word)
    }
    console.log()
  }
  return firstToken
}

async function compare(openai: OpenAI, model: string): Promise<void> {
  const { data } = await openai.embeddings.create({ model, input: SENTENCES })
  const [first, ...others] = data.map(({ embedding }) => embedding)
  console.log(`${first?.length} numbers for each. To "${SENTENCES[0]}":`)
  for (const [index, vector] of others.entries()) {
    // For unit vectors the dot product is the cosine similarity.
    const cosine = vector.reduce((sum, value, position) => sum + value * (first?.[position] ?? 0), 0)
    console.log(`${cosine.toFixed(2)}  ${SENTENCES[index + 1]}`)
  }
}

/** Prints the usage of the deployments. Resolves to the number of their tokens. */
async function showUsage(api: Caller, ids: readonly string[]): Promise<number> {
  let tokens = 0
  for (const id of ids) {
    const usage = await api.call<Usage>('GET', `/api/v1/model-deployments/${id}/usage`)
    tokens += usage.input_tokens + usage.output_tokens
    console.log(
      `${id}: ${usage.input_tokens} tokens in, ${usage.output_tokens} out, ` +
        `${usage.instance_seconds.toFixed(1)} s of an instance`,
    )
  }
  return tokens
}

/** Starts a temporary server and resolves to its address. The cleanup removes the server and its folder. */
async function startServer(cleanup: AsyncDisposableStack): Promise<string> {
  heading('Start a server')
  const folder = await mkdtemp(join(tmpdir(), 'berth-demo-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  // As root, the server runs PostgreSQL under another account, which needs access to the folder.
  await chmod(folder, 0o755)
  const server = spawn(process.execPath, [join(import.meta.dirname, '../server/bin/berth.mjs')], {
    env: { ...process.env, DATA_DIR: folder, PORT: '0', ROLE: 'all', DATABASE_URL: '', LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A separate process group: Ctrl-C stops only the demo, and the cleanup still finds the server.
    detached: true,
  })
  const { promise: address, resolve, reject } = Promise.withResolvers<string>()
  const ended = new Promise((end) => server.once('close', end))
  server.once('error', reject)
  server.once('close', (code) => reject(new Error(`The server exited with code ${code}.`)))
  createInterface({ input: server.stdout }).on('line', (line) => {
    const [, url] = /listening on (http:\/\/[^\s"]+)/.exec(line) ?? []
    if (url !== undefined) resolve(url)
  })
  cleanup.defer(async () => {
    server.kill()
    await ended
  })
  console.log(await address)
  return address
}

// The fields that the demo reads. openapi.json has the complete schemas.
interface Session {
  user: { email: string; organization: string; role: { name: string } }
}
interface CatalogModel {
  model_name: string
  description: string
}
interface Deployment {
  id: string
  model_name: string
}
interface DeploymentEvent {
  status: string
  message: string
}
interface Usage {
  input_tokens: number
  output_tokens: number
  instance_seconds: number
}

type Caller = ReturnType<typeof createCaller>

/** Calls the API with JSON and the session cookie. */
function createCaller(url: string) {
  let cookie = ''
  async function send(method: string, path: string, body?: object, accept = 'application/json') {
    const response = await fetch(url + path, {
      method,
      headers: { accept, cookie, ...(body && { 'content-type': 'application/json' }) },
      body: body ? JSON.stringify(body) : null,
    })
    if (!response.ok) throw new Error(`${method} ${path} failed with ${await response.text()}`)
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie
    return response
  }
  return {
    cookie: () => cookie,
    async call<Body>(method: string, path: string, body?: object): Promise<Body> {
      return (await (await send(method, path, body)).json()) as Body
    },
    /** Yields the items of a server-sent event stream. */
    async *follow<Item>(path: string): AsyncIterable<Item> {
      const { body } = await send('GET', path, undefined, 'text/event-stream')
      for await (const line of createInterface({ input: Readable.from(body ?? []) })) {
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as Item
      }
    },
  }
}

/** Finds the bundled model of a type, which needs no download. */
async function findBundledModel(api: Caller, type: 'LLM' | 'embedding'): Promise<string> {
  const path = `/api/v1/deployable-models?q=bundled&model_type=${type}`
  const [model] = (await api.call<{ items: CatalogModel[] }>('GET', path)).items
  if (model === undefined) throw new Error(`The catalog has no bundled model of type ${type}.`)
  console.log(`${model.model_name}: ${model.description}`)
  return model.model_name
}

/** Deploys a model and prints its events. Resolves to the deployment's id and the startup time in seconds. */
async function deploy(api: Caller, model: string): Promise<{ id: string; seconds: number }> {
  const begun = performance.now()
  const { id } = await api.call<Deployment>('POST', '/api/v1/model-deployments', { model_name: model })
  for await (const { status, message } of api.follow<DeploymentEvent>(
    `/api/v1/model-deployments/${id}/events`,
  )) {
    const seconds = secondsSince(begun)
    console.log(`${seconds.toFixed(2)} s  ${status}: ${message}`)
    if (status === 'running') return { id, seconds }
    if (status === 'failed') break
  }
  throw new Error(`${model} did not come up.`)
}

/** Terminates all deployments and waits until their compute is released. */
async function terminateAll(api: Caller): Promise<void> {
  heading('Terminate')
  const { items } = await api.call<{ items: Deployment[] }>('GET', '/api/v1/model-deployments')
  for (const { id } of items) await api.call('DELETE', `/api/v1/model-deployments/${id}`)
  for (const { id, model_name } of items) {
    for await (const { status } of api.follow<DeploymentEvent>(`/api/v1/model-deployments/${id}/events`)) {
      if (status === 'terminated') break
    }
    console.log(`${model_name} is terminated`)
  }
}

function heading(text: string): void {
  console.log(`\n# ${text}`)
}

function secondsSince(begun: number): number {
  return (performance.now() - begun) / 1000
}

await runProgram(async (cleanup) => {
  const url = await startServer(cleanup)
  console.log(`\n${await demo(url, cleanup)}`)
  return true
})
