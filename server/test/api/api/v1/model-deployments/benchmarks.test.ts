import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../../../support/client.ts'
import type { Client } from '../../../../support/client.ts'
import { deploy, waitForStatus } from '../../../../support/deployments.ts'
import { createCast } from '../../../../support/organizations.ts'
import { startTestServer } from '../../../../support/server.ts'
import type { TestServer } from '../../../../support/server.ts'

const deployments = '/api/v1/model-deployments'
const small = { prompt_tokens: 12, output_tokens: 4, concurrency: [1, 2], seconds: 1 }

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server?.close())

const waitForEnd = (client: Client, path: string) =>
  vi.waitFor(
    async () => {
      const { body } = await client.get(path)
      expect(body.ended_at).not.toBeNull()
      return body
    },
    { timeout: 120_000, interval: 100 },
  )

test('POST …/benchmarks: measures each step with the caller’s own requests, which count as usage', async () => {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  const path = `${deployments}/${id}/benchmarks`
  const started = await person.post(path, small)
  expect(started).toMatchObject({
    status: 201,
    body: { number: 1, status: 'running', ...small, rows: [], ended_at: null, error: null },
  })
  expect(await person.post(path, small)).toMatchObject({ status: 409, body: { code: 'benchmark_running' } })

  const { rows, status } = await waitForEnd(person, `${path}/1`)
  expect(status).toBe('finished')
  expect(rows.map((row: { concurrency: number }) => row.concurrency)).toEqual([1, 2])
  for (const row of rows) {
    expect(row.errors).toEqual({})
    expect(row.requests).toBeGreaterThan(0)
    expect(row.output_tokens).toBe(row.requests * small.output_tokens)
    expect(row.input_tokens).toBeGreaterThanOrEqual(row.requests * small.prompt_tokens)
    expect(row.time_to_first_token_ms.p95).toBeGreaterThanOrEqual(row.time_to_first_token_ms.p50)
    expect(row.time_per_token_ms.p50).toBeGreaterThan(0)
    expect(Number(row.cost_per_million_tokens)).toBeGreaterThan(0)
  }
  const answered = rows.reduce((total: number, row: { requests: number }) => total + row.requests, 0)
  await vi.waitFor(
    async () => {
      const { body } = await person.get(`${deployments}/${id}/requests?limit=500`)
      expect(body.items).toHaveLength(answered)
      expect(body.items[0]).toMatchObject({ output_tokens: small.output_tokens, client: 'Berth benchmark' })
    },
    { timeout: 20_000 },
  )
  await vi.waitFor(async () => expect((await person.get(`${path}/1`)).body.other_requests).toBe(0), {
    timeout: 30_000,
    interval: 500,
  })
  expect((await person.post(path, small)).body.number).toBe(2)
  expect((await person.get(path)).body).toMatchObject({
    items: [{ number: 2 }, { number: 1 }],
    currency: 'usd',
  })
})

test('DELETE …/benchmarks/{number} stops it; one that is over stays unchanged', async () => {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  const path = `${deployments}/${id}/benchmarks`
  await person.post(path, { ...small, seconds: 120 })
  const stopped = await person.delete(`${path}/1`)
  expect(stopped).toMatchObject({ status: 200, body: { status: 'stopped', ended_at: expect.any(String) } })
  expect(await person.delete(`${path}/1`)).toEqual(expect.objectContaining({ body: stopped.body }))
  expect((await person.post(path, small)).status, 'the next one').toBe(201)
  expect((await waitForEnd(person, `${path}/2`)).status).toBe('finished')
  expect((await person.get(`${path}/3`)).status).toBe(404)
})

test('a benchmark whose process was killed is interrupted, and lets the next one run', async () => {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  const path = `${deployments}/${id}/benchmarks`
  const { body: user } = await person.get('/v1/auth/session')
  const seen = new Date(Date.now() - 40_000)
  await server.application.db
    .insertInto('benchmarks')
    .values({
      deployment_id: id,
      number: 1,
      started_by: user.user.id,
      status: 'running',
      settings: JSON.stringify(small),
      other_requests: null,
      error: null,
      started_at: seen,
      ended_at: null,
      seen_at: seen,
    })
    .execute()
  expect((await person.get(`${path}/1`)).body).toMatchObject({
    status: 'interrupted',
    ended_at: seen.toISOString(),
  })
  expect((await person.post(path, small)).status).toBe(201)
  await waitForEnd(person, `${path}/2`)
})

test('who may measure: the owner, and admins of a shared one', async () => {
  const { admin, member, viewer, stranger } = await createCast(server)
  const { id } = await deploy(member)
  const path = `${deployments}/${id}/benchmarks`
  const scoped = `${path}?scope=organization`
  expect((await stranger.post(scoped, small)).status).toBe(404)
  expect((await viewer.post(scoped, small)).status, 'not shared').toBe(404)
  expect((await admin.post(scoped, small)).status, 'not shared with admins').toBe(403)
  await member.patch(`${deployments}/${id}`, { shared_with: 'organization' })
  expect((await viewer.post(scoped, small)).status).toBe(403)
  expect((await admin.post(path, small)).status, 'without the scope').toBe(404)
  expect((await admin.post(scoped, { ...small, seconds: 60 })).status).toBe(201)
  const first = `${path}/1?scope=organization`
  for (const url of [scoped, first]) expect((await viewer.get(url)).status, url).toBe(403)
  for (const url of [scoped, first]) expect((await stranger.get(url)).status, url).toBe(404)
  expect((await viewer.delete(first)).status).toBe(403)
  expect((await stranger.delete(first)).status).toBe(404)
  expect((await admin.get(first)).body).toMatchObject({ number: 1, status: 'running' })
  expect((await member.delete(`${path}/1`)).body.status).toBe('stopped')
})

test('what can’t be measured: a sleeping deployment, a model without chats, sizes beyond the limits', async () => {
  const person = await registerClient(server.url)
  const { id: embedding } = await deploy(person, 'berth-tiny-embedding')
  expect(await person.post(`${deployments}/${embedding}/benchmarks`, {})).toMatchObject({
    status: 409,
    body: { code: 'model_not_measurable' },
  })
  const { id } = await deploy(person)
  const path = `${deployments}/${id}/benchmarks`
  await person.post(`${deployments}/${id}/sleep`)
  await waitForStatus(person, id, 'sleeping')
  expect(await person.post(path, small)).toMatchObject({
    status: 409,
    body: { code: 'deployment_not_running' },
  })
  for (const wrong of [{ concurrency: [] }, { concurrency: [257] }, { seconds: 121 }, { output_tokens: 0 }]) {
    expect((await person.post(path, { ...small, ...wrong })).status).toBe(422)
  }
})

test('a step without an answer ends the benchmark, with its error', async () => {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  const path = `${deployments}/${id}/benchmarks`
  await person.post(path, { ...small, prompt_tokens: 100_000, concurrency: [1, 2] })
  const ended = await waitForEnd(person, `${path}/1`)
  expect(ended).toMatchObject({ status: 'failed', rows: [{ requests: 0, time_to_first_token_ms: null }] })
  expect(ended.error).toMatch(/context/)
  expect(Object.keys(ended.rows[0].errors)).toEqual(['context_length_exceeded'])
})
