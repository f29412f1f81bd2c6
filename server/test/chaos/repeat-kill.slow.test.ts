import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import { createTestClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { killStep } from '../support/kill-step.ts'
import { startTestServer } from '../support/server.ts'
import { runKilledStep } from './killed-step.ts'

const secretKey = 'k'.repeat(32)

const creations = [
  {
    path: '/v1/organization/service-members',
    status: 200,
    make: () => ({ name: randomUUID(), role: 'member', allowed_networks: ['127.0.0.1/32'] }),
    countBy: { table: 'users', column: 'name', value: ({ name }: any) => name },
  },
  {
    path: '/api/v1/model-deployments',
    status: 201,
    make: () => ({ model_name: 'berth-tiny', alias: `model-${randomUUID()}` }),
    countBy: { table: 'deployments', column: 'alias', value: ({ alias }: any) => alias },
  },
] as const

test.each(creations)(
  'kill -9 before a query of a creation with a key: its repetition creates the thing once ($path)',
  { timeout: 600_000 },
  async ({ path, status, make, countBy }) => {
    await using cleanup = new AsyncDisposableStack()
    const database = await createTestDatabase('migrated')
    cleanup.defer(() => database.drop())
    const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-repeat-kill-'))
    cleanup.defer(() => rm(dataDirectory, { recursive: true, force: true }))
    const clock = createTestClock()
    const settings = { DATABASE_URL: database.url, SECRET_KEY: secretKey }
    const server = await startTestServer({ worker: false, clock: clock.now, settings })
    cleanup.defer(() => server.close())
    const client = await registerClient(server.url)
    let kills = 0
    for (let query = 1; ; query += killStep) {
      const body = make()
      const headers = { 'idempotency-key': randomUUID() }
      const request = {
        method: 'POST',
        url: path,
        payload: body,
        headers: { ...headers, cookie: client.cookie() },
      }
      const { died } = await runKilledStep(
        { ...settings, ROLE: 'api', DATA_DIR: dataDirectory, REPEATED_REQUEST: JSON.stringify(request) },
        {
          file: 'repeat-steps.ts',
          step: 'send',
          organization: { organizationId: 0, userId: 0, email: '', organizationName: '' },
          clock: { ahead: clock.now().getTime() - Date.now() },
          killBefore: query,
        },
      )
      clock.advance(16_000)
      const answer = await client.request('POST', path, body, headers)
      expect([query, answer.status]).toEqual([query, status])
      const { db } = server.application
      const table = db.selectFrom(countBy.table as 'users').select('id')
      const rows = await table.where(countBy.column as 'name', '=', countBy.value(body)).execute()
      expect([query, rows.length]).toEqual([query, 1])
      if (!died) {
        expect(answer.headers.get('idempotency-replayed')).toBe('true')
        break
      }
      kills += 1
    }
    expect(kills).toBeGreaterThan(10 / killStep)
  },
)
