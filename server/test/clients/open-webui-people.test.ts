import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import getPort from 'get-port'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openShell } from '../../../cli/test/support/command.ts'
import type { Shell } from '../../../cli/test/support/command.ts'
import { checkBudgets } from '../../src/features/billing/budgets/check-budgets.ts'
import { joinClient } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { createService } from '../support/service-members.ts'
import { watchAdmission } from '../support/watch-admission.ts'
import { askOpenWebUi, openWebUiEnvironment } from './support/open-webui.ts'
import { signIn } from './support/signed-in.ts'
import type { SignedIn } from './support/signed-in.ts'

const header = 'X-OpenWebUI-User-Email'
const password = 'correct horse battery'

let started: SignedIn
let shell: Shell
let folder: string
let url: string
let stop: () => Promise<unknown>
/** Members of the organization, with an account at Open WebUI under the same email */
let people: (Account & { token: string; userId: number })[]

/** Starts Open WebUI, with accounts, on the connection of one service member. */
beforeAll(async () => {
  started = await signIn()
  const { client, server, chatId } = started
  await client.patch(`/api/v1/model-deployments/${chatId}`, { shared_with: 'organization' })
  const service = await createService(client, { may_name_members: true, member_header: header })
  shell = await openShell({
    BERTH_URL: server.url,
    BERTH_EMAIL: service.email,
    BERTH_PASSWORD: service.password,
  })
  const connection = shell.start(['connect', '--service', '--member-header', header, '--port', '0', '--json'])
  const { base_url, key } = await vi.waitFor(() => JSON.parse(connection.output.stdout), { timeout: 60_000 })
  folder = await mkdtemp(join(tmpdir(), 'berth-open-webui-'))
  const port = await getPort({ host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  const bin = `${process.env['TEST_OPEN_WEBUI']}/bin`
  const child = spawn(join(bin, 'open-webui'), ['serve', '--host', '127.0.0.1', '--port', String(port)], {
    cwd: folder,
    stdio: 'ignore',
    env: {
      ...openWebUiEnvironment,
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: folder,
      DATA_DIR: folder,
      ENABLE_OLLAMA_API: 'False',
      OPENAI_API_BASE_URL: base_url,
      OPENAI_API_KEY: key,
      ENABLE_FORWARD_USER_INFO_HEADERS: 'True',
      BYPASS_MODEL_ACCESS_CONTROL: 'True',
    },
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  stop = async () => {
    child.kill()
    connection.child.kill('SIGINT')
    await Promise.all([ended, connection.result])
  }
  await vi.waitUntil(async () => (await fetch(`${url}/health`).catch(() => null))?.ok === true, {
    timeout: 600_000,
    interval: 500,
  })
  people = []
  for (const name of ['Ada', 'Kai', 'Rosa']) {
    const account = await joinClient(server, client, 'viewer')
    const { token } = await createUser({ name, email: account.email, password }, people[0]?.token)
    const userId = (await account.get('/v1/auth/session')).body.user.id
    people.push({ ...account, token, userId })
  }
})
afterAll(async () => {
  await stop?.()
  await shell?.close()
  await started?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

/** The first user signs up, which makes them the admin and ends signing up. The admin adds the others. */
async function createUser(
  user: { name: string; email: string; password: string },
  admin: string | undefined,
): Promise<{ token: string }> {
  const path = admin === undefined ? '/api/v1/auths/signup' : '/api/v1/auths/add'
  const response = await askOpenWebUi(url, path, { ...user, role: 'user' }, admin)
  expect(response.status, await response.clone().text()).toBe(200)
  return (await response.json()) as { token: string }
}

async function chat({ token }: { token: string }, content = 'What is 27 + 15?'): Promise<string> {
  const body = { model: 'berth-tiny', stream: true, messages: [{ role: 'user', content }] }
  const response = await askOpenWebUi(url, '/api/chat/completions', body, token)
  return response.text()
}

test('three people of Open WebUI, through one service member, are three in usage, turns and budgets', async () => {
  const { client, server } = started
  const log = watchAdmission(server)
  for (const person of people) expect(await chat(person)).toContain('data:')
  await server.application.tokens.flush()
  const rows = (await client.get('/v1/billing/usage?group_by=member')).body.items
  const callers = rows.filter(({ meter }: any) => meter === 'inference_output_tokens')
  const emails = people.map(({ email }) => email).toSorted()
  expect(callers.map(({ email }: any) => email).toSorted()).toEqual(emails)

  log.length = 0
  const [ada, kai, rosa] = people as [(typeof people)[0], (typeof people)[0], (typeof people)[0]]
  const flood = Array.from({ length: 20 }, () => chat(ada, 'Count from 1 to 500.'))
  await vi.waitFor(() => expect(server.application.inference.admission.queued).toBeGreaterThan(5), 60_000)
  await Promise.all([chat(kai), chat(rosa)])
  for (const { userId } of [kai, rosa]) {
    const arrived = log.findIndex((each) => each.event === 'arrived' && each.userId === userId)
    const sent = log.findIndex((each) => each.event === 'sent' && each.userId === userId)
    const before = log.slice(arrived, sent).filter(({ event }) => event === 'sent')
    for (const other of people) {
      expect(before.filter((each) => each.userId === other.userId).length).toBeLessThanOrEqual(1)
    }
  }
  await Promise.all(flood)

  // A short chat may cost less than the smallest limit.
  await chat(kai, 'Count from 1 to 500.')
  await server.application.tokens.flush()
  const limit = { scope: 'member', scope_id: kai.userId, monthly_limit: '0.000001', at_limit: 'block' }
  expect((await client.post('/v1/billing/budgets', limit)).body).toMatchObject({ exhausted: true })
  await checkBudgets(server.application)
  await expect.poll(() => chat(kai), { timeout: 60_000 }).toMatch(/budget/i)
  for (const person of [ada, rosa]) expect(await chat(person)).toContain('"content"')
})
