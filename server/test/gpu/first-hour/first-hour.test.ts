import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import type { TestContext } from 'vitest'
import { registerClient } from '../../support/client.ts'
import type { Client } from '../../support/client.ts'
import { waitForStatus } from '../../support/deployments.ts'
import { startHubServer } from '../../support/hub/hub-server.ts'
import type { HubServer } from '../../support/hub/hub-server.ts'
import { startTestServer } from '../../support/server.ts'
import type { TestServer } from '../../support/server.ts'
import { readRepository } from '../../vllm/vllm-files.ts'
import { describeModel } from '../../vllm/vllm-server.ts'
import { startOwnEngine } from '../support/engine.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../../..')
const admin = join(root, 'server/src/process/admin.ts')
const tinyModel = join(root, 'catalog/weights/berth-tiny.gguf')
const path = '/api/v1/model-deployments'
/** A driver compiles for minutes, and vLLM loads as long. */
const patience = { timeout: 900_000, interval: 500 }
const DATA_DIR = process.env['TEST_GPU_DATA_DIR'] ?? ''
const vllmModel = process.env['TEST_VLLM_MODEL'] ?? ''
const vllmProblem = process.env['TEST_VLLM_PROBLEM'] ?? ''

interface Step {
  step: string
  result: 'passed' | 'failed' | 'skipped'
  detail: string
}
const steps: Step[] = []
/** Why no step after this one can pass; empty while they can */
let blocked = ''
/** Why the steps with the embedded engine are skipped */
let unusable = ''

/** A test whose result, with a figure or the reason, is a row of the table at the end. */
function step(name: string, play: (skip: (reason: string) => never) => Promise<string>): void {
  test(name, { timeout: 3_600_000 }, async (context: TestContext) => {
    const skip = (reason: string): never => {
      steps.push({ step: name, result: 'skipped', detail: reason })
      context.skip(reason)
    }
    if (blocked !== '') skip(blocked)
    try {
      const detail = await play(skip)
      steps.push({ step: name, result: 'passed', detail })
    } catch (error) {
      if (steps.at(-1)?.step !== name)
        steps.push({ step: name, result: 'failed', detail: (error as Error).message.split('\n')[0]! })
      throw error
    }
  })
}

let folder: string
let hub: HubServer
let server: TestServer | null = null
let client: Client
const deployed: string[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-first-hour-'))
  hub = await startHubServer(vllmModel === '' ? {} : { 'berth/tiny': readRepository(vllmModel) })
})
afterEach(async () => {
  for (const id of deployed.splice(0)) {
    await client.delete(`${path}/${id}`)
    await waitForStatus(client, id, 'terminated', 120_000)
  }
  await server?.close()
  server = null
})
afterAll(async () => {
  await hub?.close()
  rmSync(folder, { recursive: true, force: true })
  console.table(steps)
})

async function startServer(settings: Record<string, string> = {}): Promise<void> {
  server = await startTestServer({ settings: { DATA_DIR, HF_ENDPOINT: hub.origin, ...settings } })
  client = await registerClient(server.url)
}

/** Runs the admin command. Resolves to its output; throws its sentence. */
async function runAdmin(...args: string[]): Promise<string> {
  try {
    const env = { ...process.env, DATA_DIR }
    return (await run(process.execPath, [admin, ...args], { env, maxBuffer: 2 ** 26 })).stdout
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('{'))
    throw new Error(lines.at(-1) ?? String(error), { cause: error })
  }
}

async function deploy(body: Record<string, unknown>): Promise<{ id: string; gpu_allocation_id: string }> {
  const created = await client.post(path, body)
  expect(created.status, JSON.stringify(created.body)).toBe(201)
  deployed.push(created.body.id)
  const ended = await vi.waitUntil(async () => {
    const answer = await client.get(`${path}/${created.body.id}`)
    return ['running', 'failed'].includes(answer.body.status) && answer.body
  }, patience)
  expect(ended.status, JSON.stringify(ended)).toBe('running')
  return ended
}

async function chat(model: string): Promise<void> {
  const messages = [{ role: 'user', content: 'What is 27 + 15?' }]
  const answer = await client.post('/v1/chat/completions', { model, messages, temperature: 0 })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  expect(answer.body.choices[0].message.content).toContain('42')
}

/** The instance type with one whole GPU that an engine for the format can use */
async function findGpuType(format: string): Promise<string> {
  const { offers } = await server!.application.runtimes.listOffers()
  const whole = offers.find(({ gpuCount, shares }) => gpuCount === 1 && shares === undefined)
  expect(whole, 'an instance type with one GPU').toBeDefined()
  expect(whole!.formats, whole!.obstacle).toContain(format)
  return whole!.instanceType
}

step('the driver tells its GPUs', async () => {
  try {
    const fields = '--query-gpu=name,driver_version,memory.total'
    const text = execFileSync('nvidia-smi', [fields, '--format=csv,noheader'], { encoding: 'utf8' })
    return text.trim().replaceAll('\n', '; ')
  } catch (error) {
    blocked = 'nvidia-smi shows no GPU.'
    throw error
  }
})

step('before any installation, each GPU has a line with what to do, or is used', async () => {
  const text = await runAdmin('engines', 'list')
  return text.split('\n').find((line) => line.includes('(driver ')) ?? 'all GPUs are used'
})

step('engines install cuda: the embedded engine can use a GPU', async () => {
  unusable = 'The embedded engine can use no GPU.'
  await runAdmin('engines', 'install', 'cuda')
  const list = await runAdmin('engines', 'list')
  await startServer()
  await findGpuType('ggufv2')
  unusable = ''
  return /cuda-\S+/.exec(list)?.[0] ?? ''
})

step('the embedded engine answers on a GPU', async (skip) => {
  if (unusable !== '') skip(unusable)
  await startServer()
  const instance_type = await findGpuType('ggufv2')
  const from = performance.now()
  const { id, gpu_allocation_id: gpu } = await deploy({ model_name: 'berth-tiny', instance_type })
  expect(gpu).toMatch(/^GPU-/)
  await chat(id)
  return `${instance_type}, ${((performance.now() - from) / 1000).toFixed(0)} s to the answer`
})

step('two engines on shares of one GPU answer, and the whole GPU is refused', async (skip) => {
  if (unusable !== '') skip(unusable)
  await startServer({ GPU_SHARES: '2' })
  const whole = await findGpuType('ggufv2')
  const instance_type = `${whole}/2`
  const one = await deploy({ model_name: 'berth-tiny', instance_type })
  const other = await deploy({ model_name: 'berth-tiny', instance_type })
  for (const { id, gpu_allocation_id: gpu } of [one, other]) {
    expect(gpu).toMatch(/^GPU-.+\/2$/)
    await chat(id)
  }
  const gpus = execFileSync('nvidia-smi', ['-L'], { encoding: 'utf8' }).trim().split('\n')
  if (gpus.length > 1) return `${one.gpu_allocation_id}, ${other.gpu_allocation_id}`
  expect(other.gpu_allocation_id).toBe(one.gpu_allocation_id)
  const { body } = await client.post(path, { model_name: 'berth-tiny', instance_type: whole })
  deployed.push(body.id)
  await waitForStatus(client, body.id, 'failed')
  expect((await client.get(`${path}/${body.id}`)).body.failure_reason).toMatch(/^no_capacity: /)
  return one.gpu_allocation_id
})

step('memory that a foreign program holds is seen, with the program’s name', async (skip) => {
  if (unusable !== '') skip(unusable)
  await startServer()
  await findGpuType('ggufv2')
  const { offers: before } = await server!.application.runtimes.listOffers()
  // Berth doesn't know this engine.
  const foreign = await startOwnEngine(tinyModel, 2_048, 64)
  await vi.waitUntil(async () => (await foreign.read())?.phase === 'ready', patience)
  const programs = execFileSync(
    'nvidia-smi',
    ['--query-compute-apps=pid,used_memory', '--format=csv,noheader'],
    {
      encoding: 'utf8',
    },
  )
  if (programs.trim() === '') skip('The driver shows no programs, as in many containers.')
  const after = await vi.waitUntil(async () => {
    const { offers } = await server!.application.runtimes.listOffers()
    return offers.find(({ inUse }) => inUse !== undefined) ?? null
  }, patience)
  expect(after.memoryBytes).toBeLessThan(
    before.find(({ instanceType }) => instanceType === after.instanceType)!.memoryBytes,
  )
  expect(after.inUse!.programs).toMatch(/\(pid \d+, user .+\) uses/)
  return after.inUse!.programs
})

step('engines install vllm: vLLM answers on a GPU', async (skip) => {
  if (vllmProblem !== '') skip(vllmProblem)
  writeFileSync(join(folder, 'models.yaml'), `models:${describeModel('tiny', '')}`)
  await startServer({ CATALOG_FILE: join(folder, 'models.yaml') })
  const instance_type = await findGpuType('pytorch')
  const from = performance.now()
  const { id } = await deploy({ model_name: 'tiny', instance_type })
  await chat(id)
  const { engine } = (await client.get(`${path}/${id}`)).body
  return `vLLM ${engine.version}, ${((performance.now() - from) / 1000).toFixed(0)} s to the answer`
})
