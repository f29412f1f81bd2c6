import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createApplication } from '../../src/wiring/create-application.ts'
import { createLog } from '../../src/base/log.ts'
import { buildServer } from '../../src/process/server.ts'
import { answerChats, openChat } from '../support/chat-streams.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { openEventStream } from '../support/event-stream.ts'
import { joinClient } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let engine: RecordingEngine
let server: TestServer
/** A second API process on the same database */
let otherUrl: string
let closeOther: () => Promise<void>
beforeAll(async () => {
  engine = await startRecordingEngine()
  answerChats(engine)
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url) })
  const { config, secretKey } = server.application
  const log = createLog({ level: 'silent' }, () => {})
  const other = await createApplication(
    { ...config, role: 'api', secretKey },
    { log, runtime: createScriptedRuntime(engine.url) },
  )
  const app = await buildServer(other)
  await app.listen({ host: '127.0.0.1', port: 0 })
  otherUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  closeOther = async () => {
    app.server.closeAllConnections()
    await app.close()
    await other.close()
  }
})
afterAll(async () => {
  await closeOther()
  await server.close()
  await engine.close()
})

async function setUp() {
  const owner = await registerClient(server.url)
  const member = await joinClient(server, owner, 'member')
  const { id } = await deploy(member)
  const members = (await owner.get('/v1/organization/members')).body
  const { id: memberId } = members.find(({ email }: { email: string }) => email === member.email)
  return { owner, member, id, path: `/v1/organization/members/${memberId}`, to: members[0].user_id }
}

test.each([
  ['ended', 'deployments=end', async ({ owner, path }) => owner.delete(`${path}?deployments=end`)],
  [
    'transferred',
    'deployments=transfer',
    async ({ owner, path, to }) => owner.delete(`${path}?deployments=transfer&to=${to}`),
  ],
  [
    'transferred by leaving',
    'leave',
    async ({ member, to }) => member.post(`/v1/organization/leave?deployments=transfer&to=${to}`),
  ],
] satisfies [string, string, (setting: Awaited<ReturnType<typeof setUp>>) => Promise<{ status: number }>][])(
  'a removed member whose deployments are %s: streams end and requests fail in every process',
  async (_what, _how, remove) => {
    const setting = await setUp()
    const { member, id } = setting
    const events = `/api/v1/model-deployments/${id}/events`
    const followed = await Promise.all(
      [server.url, otherUrl].map((url) => openEventStream(url, events, member)),
    )
    const chats = await Promise.all([server.url, otherUrl].map((url) => openChat(url, member, id)))
    expect((await remove(setting)).status).toBe(204)
    await Promise.all(chats.map(({ ended }) => ended))
    for (const stream of followed) while ((await stream.next()) !== null);
    await vi.waitFor(async () => {
      for (const url of [server.url, otherUrl]) expect(await chat(url, member, id)).toBe(404)
    }, 20_000)
  },
)

test('an ended session ends its inference streams in every process, and no others', async () => {
  const { member, id } = await setUp()
  const second: Account = { ...member, cookie: await signIn(member) }
  const [kept, ended] = await Promise.all([openChat(otherUrl, second, id), openChat(otherUrl, member, id)])
  await member.post('/v1/user/logout')
  await ended.ended
  await expect(Promise.race([kept.ended.then(() => 'ended'), chat(otherUrl, second, id)])).resolves.toBe(200)
})

async function signIn({ email, password }: Account): Promise<() => string> {
  const response = await fetch(`${server.url}/v1/user/signin`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  const [cookie = ''] = response.headers.getSetCookie()[0]!.split(';')
  return () => cookie
}

async function chat(url: string, client: Client, model: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { cookie: client.cookie(), 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [] }),
  })
  await response.text()
  return response.status
}
