import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { deriveEngineKey } from '../../../../../src/features/deployments/serving/engine-spec.ts'
import { deleteOldEngineLogs } from '../../../../../src/features/deployments/state/engine-log.ts'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { openEventStream } from '../../../../support/event-stream.ts'
import type { StreamedEvent } from '../../../../support/event-stream.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const path = '/api/v1/model-deployments'

let server: TestServer
let client: Client
let id: string
beforeAll(async () => {
  server = await startTestServer()
  client = await registerClient(server.url)
  id = (await deploy(client)).id
})
afterAll(() => server.close())

async function findEngineId(deploymentId: string): Promise<string> {
  return (await client.get(`${path}/${deploymentId}`)).body.instances[0].id
}

test('GET …/{id}/logs: the real engine’s lines, oldest first, without its key', async () => {
  const answer = await client.get(`${path}/${id}/logs`)
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.body)).toEqual(['items'])
  expect(answer.body.items.length).toBeGreaterThan(0)
  for (const item of answer.body.items) {
    expect(item).toEqual({
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
      line: expect.any(String),
      instance: await findEngineId(id),
    })
  }
  const times = answer.body.items.map(({ at }: { at: string }) => at)
  expect(times).toEqual(times.toSorted())
  const key = deriveEngineKey(server.application.secretKey, id)
  expect(JSON.stringify(answer.body)).not.toContain(key)
})

test('GET …/{id}/logs?instance=: the lines of that instance; 404 for others', async () => {
  const instance = await findEngineId(id)
  const { items } = (await client.get(`${path}/${id}/logs`)).body
  expect((await client.get(`${path}/${id}/logs?instance=${instance}`)).body.items).toEqual(items)
  for (const other of [id, 'x'])
    expect((await client.get(`${path}/${id}/logs?instance=${other}`)).status).toBe(404)
})

test('GET …/{id}/logs with Accept: text/event-stream: streams new lines', async () => {
  const stream = await openEventStream(server.url, `${path}/${id}/logs?tail=0`, client)
  expect(stream.status).toBe(200)
  expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const log = join(server.dataDirectory, 'engines', await findEngineId(id), 'engine.log')
  const arrived: StreamedEvent[] = []
  const arriving = stream.next().then((event) => event !== null && arrived.push(event))
  // Write until a line arrives, because following starts shortly after the stream opens.
  await expect
    .poll(
      async () => {
        if (arrived.length === 0) await appendFile(log, '2026-01-02T03:04:05.678Z written by the test\n')
        return arrived.length
      },
      { timeout: 20_000, interval: 200 },
    )
    .toBe(1)
  await arriving
  expect(arrived[0]).toEqual({
    event: 'line',
    data: {
      at: '2026-01-02T03:04:05.678Z',
      line: 'written by the test',
      instance: await findEngineId(id),
    },
  })
  stream.close()
})

test('GET …/{id}/logs: empty before an engine was started', async () => {
  const provisioning = vi.spyOn(server.application.runtimes.all[0]!, 'provision')
  provisioning.mockResolvedValue({ outcome: 'refused', code: 'quota_exceeded', message: 'No.' })
  const created = await deploy(client, 'berth-tiny', 'failed')
  provisioning.mockRestore()
  expect((await client.get(`${path}/${created.id}/logs`)).body).toEqual({ items: [] })
})

test('GET …/{id}/logs: an unreachable runtime is a 503 without internals', async () => {
  const reading = vi.spyOn(server.application.runtimes.all[0]!.logs, 'read')
  reading.mockRejectedValueOnce(new Error('connect ECONNREFUSED 10.0.0.1:6443'))
  const answer = await client.get(`${path}/${id}/logs`)
  reading.mockRestore()
  expect(answer).toMatchObject({ status: 503, body: { code: 'runtime_unavailable' } })
  expect(JSON.stringify(answer.body)).not.toContain('10.0.0.1')
})

test('GET …/{id}/logs of a lost engine: its last lines, even after its instance is released', async () => {
  const { id: failing } = await deploy(client)
  const engineId = await findEngineId(failing)
  const folder = join(server.dataDirectory, 'engines', engineId)
  const line = 'last words'
  // After the next crash, the pause is so long that the hardware is given back.
  const recovery = { since: new Date(), attempts: 7, next_at: null, served_at: new Date(), cause: {} }
  const crash = async () => {
    const { pid } = JSON.parse(await readFile(join(folder, 'engine.json'), 'utf8'))
    // Throws for an engine that has crashed already: the worker may have planned its next attempt.
    process.kill(pid, 0)
    await server.application.db
      .updateTable('deployments')
      .set({ recovery: JSON.stringify(recovery) })
      .where('id', '=', failing)
      .execute()
    await appendFile(join(folder, 'engine.log'), `2026-01-02T03:04:05.678Z ${line}\n`)
    process.kill(pid, 'SIGKILL')
  }
  await crash()
  // A worker that looked before the crash counts it as the first, and starts the engine again at once.
  await vi.waitFor(
    async () => {
      if (!(await server.application.runtimes.all[0]!.listEngineIds()).includes(engineId)) return
      const { body } = await client.get(`${path}/${failing}`)
      if (body.status === 'running') await crash()
      throw new Error(`the instance is still there, ${body.status}`)
    },
    { timeout: 60_000, interval: 100 },
  )
  const { items } = (await client.get(`${path}/${failing}/logs`)).body
  expect(items).toContainEqual({ at: '2026-01-02T03:04:05.678Z', line, instance: engineId })

  await client.delete(`${path}/${failing}`)
  await waitForStatus(client, failing, 'terminated')
  expect((await client.get(`${path}/${failing}/logs`)).body.items).toEqual(items)
})

test('GET …/{id}/logs of a terminated deployment: the last lines of its engine, for 30 days', async () => {
  const { id: ended } = await deploy(client)
  await waitForStatus(client, ended, 'running')
  const instance = await findEngineId(ended)
  const file = join(server.dataDirectory, 'engines', instance, 'engine.log')
  const line = { at: '2026-01-02T03:04:05.678Z', line: 'still here', instance }
  await appendFile(file, `${line.at} ${line.line}\n`)
  await client.delete(`${path}/${ended}`)
  await waitForStatus(client, ended, 'terminated')
  const read = async () => (await client.get(`${path}/${ended}/logs`)).body.items
  expect(await read()).toContainEqual(line)

  const { db } = server.application
  const days = (count: number) => new Date(Date.now() + count * 86_400_000)
  await deleteOldEngineLogs({ db, clock: () => days(29) })
  expect(await read()).toContainEqual(line)
  await deleteOldEngineLogs({ db, clock: () => days(31) })
  expect(await read()).toEqual([])
})
