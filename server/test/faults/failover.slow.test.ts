import { expect, onTestFinished, test } from 'vitest'
import { query } from '../database/scratch.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Answer } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { findPostgresPrograms, startReplicatedDatabase } from '../support/own-postgres.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'

const programs = await findPostgresPrograms()
const lockSessions = `
  SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
  WHERE locktype = 'advisory' AND granted AND application_name = 'berth data directory lock'`

test.skipIf(programs === null)(
  'a standby is promoted ten times under load: no 500, nothing acknowledged is lost, and the lock on DATA_DIR follows',
  { timeout: 600_000 },
  async () => {
    const database = await startReplicatedDatabase(programs!, 'berth')
    onTestFinished(() => database.stop())
    const engine = await startRecordingEngine()
    onTestFinished(() => engine.close())
    engine.answer((response) =>
      answerJson(response, '{"usage":{"prompt_tokens":1,"completion_tokens":2},"choices":[]}'),
    )
    const runtime = createScriptedRuntime(engine.url)
    const server = await startTestServer({ runtime, settings: { DATABASE_URL: database.url } })
    onTestFinished(() => server.close())
    const owner = await registerClient(server.url)
    // Of another person: a change of a profile ends what the server remembers of its sessions.
    const caller = await registerClient(server.url)
    const { id: model } = await deploy(caller)

    const statuses = new Map<string, number>()
    const count = (kind: string, { status }: Answer) => {
      const key = `${kind} ${status}`
      statuses.set(key, (statuses.get(key) ?? 0) + 1)
      return status
    }
    const over = new AbortController()
    let attempts = 0
    let acknowledged = 0
    let chats = 0
    const patch = (first_name: string) => owner.patch('/v1/user/profile', { first_name })
    const callers = [
      async () => {
        attempts += 1
        if (count('change', await patch(`change ${attempts}`)) === 200) acknowledged = attempts
      },
      async () => {
        if (count('chat', await caller.post('/v1/chat/completions', { model, messages: [] })) === 200)
          chats += 1
      },
      async () => {
        const { email, password } = owner
        count('sign-in', await createClient(server.url).post('/v1/user/signin', { email, password }))
      },
      async () => void count('read', await owner.get('/v1/organization')),
    ]
    // From here on, the server knows the caller.
    await callers[1]!()
    expect(chats).toBe(1)
    const load = Promise.all(
      callers.map(async (call) => {
        while (!over.signal.aborted) await call()
      }),
    )
    try {
      for (let round = 0; round < 10; round++) {
        const { switchProxy } = await database.failOver()
        // Also a connection to the old primary, which is a standby now
        await expect.poll(async () => (await owner.get('/readyz')).body.database).toMatch(/^read-only/)
        switchProxy()
        const before = acknowledged
        await expect.poll(() => acknowledged, { timeout: 60_000 }).toBeGreaterThan(before)
        await expect
          .poll(() => query(database.primaryUrl(), lockSessions), { timeout: 60_000 })
          .toHaveLength(1)
        await expect.poll(() => query(database.standbyUrl(), lockSessions)).toEqual([])
      }
    } finally {
      over.abort()
      await load
    }
    const kinds = [...statuses.keys()].map((key) => key.replace(/^\S+ /, ''))
    expect(new Set(kinds), JSON.stringify([...statuses])).toEqual(new Set(['200', '503']))
    // Inference doesn't need the database.
    expect(statuses.get('chat 503') ?? 0).toBe(0)
    const [row] = await query<{ first_name: string }>(
      database.primaryUrl(),
      'SELECT first_name FROM users ORDER BY id LIMIT 1',
    )
    const kept = Number(row!.first_name.replace('change ', ''))
    expect(kept).toBeGreaterThanOrEqual(acknowledged)
    expect(kept).toBeLessThanOrEqual(attempts)
    await expect
      .poll(async () => (await caller.get(`/api/v1/model-deployments/${model}/usage`)).body, {
        timeout: 60_000,
      })
      .toMatchObject({ requests: chats, input_tokens: chats, output_tokens: 2 * chats })
    const causes = server.logs.filter((line) => line.includes('"code":"25006"'))
    expect(causes.length).toBeLessThan(100)
  },
)
