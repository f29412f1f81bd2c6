import { expect, onTestFinished, test } from 'vitest'
import { query } from '../database/scratch.ts'
import { registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { createDataDirectory, removeDataDirectory, spawnServer } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { startXinferenceSimulator } from '../xinference/simulator/simulator.ts'
import type { SimulatedResponse } from '../xinference/simulator/simulator.ts'

test('a worker frozen during a step is replaced by the other one, and writes nothing when it resumes', async () => {
  const database = await createTestDatabase('migrated')
  onTestFinished(() => database.drop())
  const simulator = await startXinferenceSimulator()
  onTestFinished(() => simulator.close())
  const shared = {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret shared by all processes',
    RUNTIME: 'xinference',
    XINFERENCE_URLS: simulator.url,
    API_PROCESSES: '1',
    DRAIN_DELAY: '0s',
  }
  const start = async (role: string): Promise<ServerProcess & { directory: string }> => {
    const directory = await createDataDirectory()
    onTestFinished(() => removeDataDirectory(directory))
    const server = spawnServer({ ...shared, ROLE: role, DATA_DIR: directory })
    onTestFinished(async () => {
      server.child.kill('SIGKILL')
      await server.exited
    })
    return { ...server, directory }
  }
  const client = await registerClient(await (await start('api')).listening)
  const workers = [await start('worker'), await start('worker')]
  for (const worker of workers) await expect.poll(() => worker.output()).toContain('"working"')

  // The worker that requests the launch stays inside its step until the response arrives.
  const refusal = Promise.withResolvers<SimulatedResponse>()
  let launchRequests = 0
  simulator.intercept = ({ method, path }) => {
    if (method !== 'POST' || path !== '/v1/models') return undefined
    launchRequests += 1
    return refusal.promise
  }
  const { body } = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  const { id } = body
  await expect.poll(() => launchRequests).toBe(1)
  const [row] = await query(
    database.url,
    `SELECT leased_by, lease_number FROM deployments WHERE id = '${id}'`,
  )
  const frozen = workers.find(({ directory }) => String(row!['leased_by']).includes(directory))!
  expect(frozen.child.kill('SIGSTOP')).toBe(true)
  simulator.intercept = null

  const read = async () => (await client.get(`/api/v1/model-deployments/${id}`)).body
  await expect.poll(async () => (await read()).status).toBe('running')
  const before = { deployment: await read(), events: (await client.get(eventsOf(id))).body }

  // The frozen worker would fail the deployment because of this response.
  refusal.resolve({ status: 400, body: { detail: 'Model berth-tiny cannot be run on engine llama.cpp' } })
  frozen.child.kill('SIGCONT')
  workers.find((worker) => worker !== frozen)!.child.kill('SIGKILL')
  // Only the resumed worker is left. It starts with the next deployment after it has finished its old step.
  const next = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny-embedding' })
  const readNext = async () => (await client.get(`/api/v1/model-deployments/${next.body.id}`)).body.status
  await expect.poll(readNext).toBe('running')
  expect({ deployment: await read(), events: (await client.get(eventsOf(id))).body }).toEqual(before)
  const [instance] = before.deployment.instances
  expect([...simulator.models.keys()].filter((uid) => uid.includes(instance.id))).toHaveLength(1)
})

function eventsOf(id: string): string {
  return `/api/v1/model-deployments/${id}/events`
}
