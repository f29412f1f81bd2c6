// Kills a server at random moments of uploads and imports; checks that each goes on or is gone, and that no
// file stays without an upload.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createLog } from '../../src/base/log.ts'
import { readConfig } from '../../src/config/config.ts'
import { startEmbeddedDatabase } from '../../src/database/embedded.ts'
import { locateModelFile } from '../../src/base/model-files.ts'
import { listParts } from '../../src/features/own-models/uploads/upload-files.ts'
import type { Application } from '../../src/wiring/application.ts'
import { createApplication } from '../../src/wiring/create-application.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { makeGguf, qwenMetadata } from '../support/hub/model-files.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import { makeRepositories } from '../support/hub/test-repositories.ts'
import { createDataDirectory, removeDataDirectory, spawnServer, waitUntil } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { announceUpload, readOffset, sendPart, sha256, tusHeaders, uploadsPath } from '../support/tus.ts'
import { createRandom } from './load.ts'
import { sweepAndCheck } from './upload-checks.ts'

const models = '/api/v1/deployable-models'
/** Uploads that a round sends side by side */
const uploadsPerRound = 2

/** What happened to a request when the server died: `unknown` if its answer was lost. */
type Outcome = 'none' | 'unknown' | 'done'

/** A file on its way to a model, as the client knows it. */
interface Sending {
  name: string
  bytes: Buffer
  /** null until the start is acknowledged */
  location: string | null
  /** Bytes that the server has acknowledged */
  acknowledged: number
  model: Outcome
}

export interface UploadKillSummary {
  rounds: number
  uploads: number
  /** Uploads that the server had acknowledged, and of which bytes were still missing after the kill */
  resumed: number
  /** Uploads that had become a model before the kill */
  used: number
  imports: number
  /** Imports whose answer was lost although the model was stored */
  storedUnseen: number
}

interface Loop {
  settings: { DATA_DIR: string }
  /** Reads the database and the files beside the server */
  application: Application
  cookie: string
  random: () => number
  summary: UploadKillSummary
}

export interface UploadKillOptions {
  databaseUrl: string
  rounds: number
  seed: number
  report?: (line: string) => void
}

/**
 * Kills a server once in each round. Throws if an acknowledged byte is lost, or a file has no row or a row no
 * file.
 */
export async function runUploadKills({
  databaseUrl,
  rounds,
  seed,
  report,
}: UploadKillOptions): Promise<UploadKillSummary> {
  const dataDirectory = await createDataDirectory()
  const hub = await startHubServer(makeRepositories())
  const settings = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDirectory,
    SECRET_KEY: 'k'.repeat(32),
    HF_ENDPOINT: hub.origin,
  }
  let server = spawnServer(settings)
  try {
    const client = await registerClient(await server.listening)
    const loop = await openLoop(settings, client.cookie(), seed)
    try {
      for (let round = 1; round <= rounds; round++) {
        try {
          const killed = await killDuringWork(loop, server, round)
          server = spawnServer(settings)
          await finish(loop, connect(loop, await server.listening), killed)
          loop.summary.rounds = round
          report?.(`round ${round}: killed after ${killed.after} ms, ${JSON.stringify(loop.summary)}`)
        } catch (error) {
          const lines = server.output().split('\n').slice(-30).join('\n')
          throw new Error(`Round ${round} of seed ${seed} failed. The server's last lines:\n${lines}`, {
            cause: error,
          })
        }
      }
      return loop.summary
    } finally {
      await loop.application.close()
    }
  } finally {
    server.child.kill('SIGKILL')
    await server.exited
    await hub.close()
    await removeDataDirectory(dataDirectory)
  }
}

async function openLoop(
  settings: Record<string, string> & { DATA_DIR: string },
  cookie: string,
  seed: number,
): Promise<Loop> {
  const application = await createApplication(readConfig({ ...settings, ROLE: 'api' }), {
    log: createLog({ level: 'silent' }, () => {}),
    runtime: createScriptedRuntime(),
  })
  const summary = { rounds: 0, uploads: 0, resumed: 0, used: 0, imports: 0, storedUnseen: 0 }
  return { settings, application, cookie, random: createRandom(seed), summary }
}

function connect({ cookie }: Loop, url: string): Client {
  const client = createClient(url)
  client.setCookie(cookie)
  return client
}

interface KilledWork {
  after: number
  sendings: Sending[]
  imported: { name: string; outcome: Outcome }
}

/** Uploads and imports until the server dies at a random moment. */
async function killDuringWork(loop: Loop, server: ServerProcess, round: number): Promise<KilledWork> {
  const { random, summary } = loop
  const client = connect(loop, await server.listening)
  const makeFile = () =>
    Buffer.concat([makeGguf(qwenMetadata), randomBytes(100_000 + Math.floor(random() * 2_000_000))])
  // In some rounds both uploads have the same content, which is stored once.
  const shared = random() < 0.3 ? makeFile() : null
  const sendings = Array.from({ length: uploadsPerRound }, (_, index): Sending => {
    const bytes = shared ?? makeFile()
    return { name: `upload-${round}-${index}`, bytes, location: null, acknowledged: 0, model: 'none' }
  })
  const imported = { name: `import-${round}`, outcome: 'none' as Outcome }
  summary.uploads += sendings.length
  summary.imports += 1
  const partBytes = 50_000 + Math.floor(random() * 500_000)
  const work = Promise.allSettled([
    ...sendings.map((sending) => upload(client, sending, partBytes)),
    importModel(client, imported),
  ])
  // Few rounds die before the start or after the end of the work.
  const after = Math.floor(random() * 600)
  await delay(after)
  server.child.kill('SIGKILL')
  await server.exited
  await work
  return { after, sendings, imported }
}

async function upload(client: Client, sending: Sending, partBytes: number): Promise<void> {
  const { name, bytes } = sending
  const started = await announceUpload(client, bytes.length, { filename: `${name}.gguf` })
  expectStatus(started, 201)
  sending.location = started.headers.get('location')!
  for (let at = 0; at < bytes.length; at += partBytes) {
    const part = bytes.subarray(at, at + partBytes)
    expectStatus(await sendPart(client, sending.location, at, part), 204)
    sending.acknowledged = at + part.length
  }
  sending.model = 'unknown'
  expectStatus(await useUpload(client, sending), 201)
  sending.model = 'done'
}

function useUpload(client: Client, { name, location }: Sending) {
  return client.post(models, { upload_id: location!.split('/').at(-1), model_name: name })
}

async function importModel(client: Client, imported: KilledWork['imported']): Promise<void> {
  imported.outcome = 'unknown'
  expectStatus(await client.post(models, { huggingface: 'acme/Small-GGUF', model_name: imported.name }), 201)
  imported.outcome = 'done'
}

function expectStatus({ status, body }: { status: number; body: unknown }, expected: number): void {
  if (status !== expected) throw new Error(`${status} instead of ${expected}: ${JSON.stringify(body)}`)
}

/** Ends what the kill interrupted, removes everything, and checks the files after each step. */
async function finish(loop: Loop, client: Client, { sendings, imported }: KilledWork): Promise<void> {
  await sweepAndCheck(loop.application)
  const known = await listModels(client)
  await finishImport(loop, client, imported, known)
  for (const sending of sendings) await finishUpload(loop, client, sending, known)
  await sweepAndCheck(loop.application)
  const all = await listModels(client)
  for (const { name, bytes } of sendings.filter(({ location }) => location !== null)) {
    const file = readFileSync(locateModelFile(loop.settings.DATA_DIR, sha256(bytes)))
    if (!file.equals(bytes)) throw new Error(`The file of ${name} has other bytes than were sent.`)
    expectStatus(await client.delete(`${models}/${all.get(name)}`), 204)
  }
  expectStatus(await client.delete(`${models}/${all.get(imported.name)}`), 204)
  // Uploads whose start was stored, but not acknowledged
  for (const { id } of (await client.get(uploadsPath)).body as { id: string }[]) {
    expectStatus(await client.request('DELETE', `${uploadsPath}/${id}`, undefined, tusHeaders), 204)
  }
  const [ids, contents] = await Promise.all([
    listParts(loop.settings.DATA_DIR),
    loop.application.modelStore.list(),
  ])
  if (ids.length + contents.length > 0) throw new Error('Files stayed after the removal of all models.')
}

/** The ids of the models that the organization sees, by name. */
async function listModels(client: Client): Promise<ReadonlyMap<string, string>> {
  const { items } = (await client.get(`${models}?limit=100`)).body as {
    items: { id: string; model_name: string }[]
  }
  return new Map(items.map(({ id, model_name }) => [model_name, id]))
}

async function finishImport(
  { summary }: Loop,
  client: Client,
  imported: KilledWork['imported'],
  known: ReadonlyMap<string, string>,
): Promise<void> {
  const isStored = known.has(imported.name)
  if (imported.outcome === 'done' && !isStored) throw new Error(`The import ${imported.name} is lost.`)
  if (imported.outcome === 'unknown' && isStored) summary.storedUnseen += 1
  if (!isStored) await importModel(client, imported)
}

async function finishUpload(
  { summary }: Loop,
  client: Client,
  sending: Sending,
  known: ReadonlyMap<string, string>,
): Promise<void> {
  const { name, bytes, location, acknowledged, model } = sending
  if (location === null) return
  if (known.has(name)) {
    summary.used += 1
    return
  }
  if (model === 'done') throw new Error(`The model ${name} is lost.`)
  const offset = await readOffset(client, location)
  if (offset === null) throw new Error(`The upload ${name} is lost.`)
  if (offset < acknowledged) throw new Error(`${name} has ${offset} of ${acknowledged} acknowledged bytes.`)
  if (offset < bytes.length) summary.resumed += 1
  // The lease of the killed process ends by itself.
  await waitUntil(
    async () => {
      const { status, body } = await sendPart(client, location, offset, bytes.subarray(offset))
      if (status !== 423) expectStatus({ status, body }, 204)
      return status === 204
    },
    20_000,
    'the end of the lease',
  )
  expectStatus(await useUpload(client, sending), 201)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
  console.log(`seed ${seed}`)
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-upload-database-'))
  const database = await startEmbeddedDatabase({ dataDirectory, log: () => {}, settings: { fsync: 'off' } })
  try {
    const rounds = Number(values.rounds ?? 50)
    console.log(await runUploadKills({ databaseUrl: database.url, rounds, seed, report: console.log }))
  } finally {
    await database.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
}
