import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { deploy, waitForStatus } from '../../server/test/support/deployments.ts'
import { answerJson } from '../../server/test/support/recording-engine.ts'
import { createService, openService } from '../../server/test/support/service-members.ts'
import type { ServiceAccount } from '../../server/test/support/service-members.ts'
import { openShell } from './support/command.ts'
import type { Running, Shell } from './support/command.ts'
import { chunk, startServerWithEngine, streamed } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'
import { startRelay } from './support/relay.ts'
import type { Relay } from './support/relay.ts'

const messages = [{ role: 'user' as const, content: 'Hello!' }]
const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }

let served: ServerWithEngine
let relay: Relay
let owner: Client
let service: ServiceAccount
let shell: Shell
let started: Running[] = []

beforeAll(async () => {
  served = await startServerWithEngine()
  relay = await startRelay(served.server.url)
  owner = await registerClient(served.server.url)
})

afterAll(async () => {
  await relay.stop()
  await served.close()
})

beforeEach(async () => {
  service = await createService(owner)
  await deploy(await openService(served.server.url, service))
  await served.server.application.db.deleteFrom('sessions').where('user_id', '=', service.user_id).execute()
  shell = await openShell({
    BERTH_URL: relay.url,
    BERTH_EMAIL: service.email,
    BERTH_PASSWORD: service.password,
  })
  // A container has neither.
  delete shell.env['HOME']
  delete shell.env['BERTH_CONFIG_DIR']
  served.engine.answer((response) => answerJson(response, JSON.stringify(completion)))
})

afterEach(async () => {
  for (const { child, result } of started) {
    child.kill('SIGKILL')
    await result
  }
  started = []
  await shell.close()
})

function start(...more: string[]): Running {
  const running = shell.start(['connect', '--service', '--port', '0', '--key', 'secret', '--json', ...more])
  started.push(running)
  return running
}

/** Starts `berth connect --service`, and a client of it. */
async function connect(...more: string[]): Promise<{ running: Running; openai: OpenAI }> {
  const running = start(...more)
  const { base_url: baseURL } = await vi.waitFor(() => JSON.parse(running.output.stdout), { timeout: 20_000 })
  return { running, openai: new OpenAI({ baseURL, apiKey: 'secret', maxRetries: 0 }) }
}

const ask = (openai: OpenAI) => openai.chat.completions.create({ model: 'berth-tiny', messages })

function listSessions() {
  const { db } = served.server.application
  return db.selectFrom('sessions').select('id').where('user_id', '=', service.user_id).execute()
}

async function listActions(action: string): Promise<any[]> {
  const { items } = (await owner.get(`/v1/organization/audit-log?action=${action}&limit=500`)).body
  return items.filter(
    ({ actor, target }: any) => actor?.email === service.email || target?.name === service.email,
  )
}

test('a program works through the connection, which signs in once and again when its session has ended', async () => {
  const { openai } = await connect()
  await ask(openai)
  expect(served.engine.last().headers['cookie']).toBeUndefined()
  const [session] = await listSessions()
  await served.server.application.db.deleteFrom('sessions').where('id', '=', session!.id).execute()
  // The server remembers a session for a second.
  const renewed = await vi.waitFor(
    async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => ask(openai)))
      expect(answers).toHaveLength(5)
      const sessions = await listSessions()
      expect(sessions).toHaveLength(1)
      return sessions
    },
    { timeout: 30_000 },
  )
  expect(renewed).not.toEqual([session])
  expect(await listActions('session.started')).toHaveLength(3)
})

test('the documented path of production: a shared deployment answers, another is a 404 that says so', async () => {
  const person = await openShell({ BERTH_URL: served.server.url }, owner)
  try {
    const { id } = await person.json(['deploy', 'berth-tiny', '--alias', 'reporter'])
    await waitForStatus(owner, id, 'running')
    const { openai } = await connect()
    const askReporter = () => openai.chat.completions.create({ model: 'reporter', messages })
    const hint = expect.stringMatching(/no deployment called "reporter"\. A colleague has one.+`berth share`/)
    await expect(askReporter()).rejects.toMatchObject({ status: 404, message: hint })
    await expect(openai.models.retrieve('reporter')).rejects.toMatchObject({ status: 404, message: hint })
    expect((await person.berth(['share', 'reporter'])).stderr).toContain('can call berth-tiny')
    await expect(askReporter()).resolves.toMatchObject({ id: 'c' })
    expect(await person.json(['share', 'reporter', '--off'])).toMatchObject({ id, shared_with: null })
    await expect(askReporter()).rejects.toMatchObject({ status: 404, message: hint })
    await expect(
      openai.chat.completions.create({ model: 'nobody-has-this', messages }),
    ).rejects.toMatchObject({ message: expect.not.stringContaining('colleague') })
    const shared = await person.json(['deploy', 'berth-tiny', '--share'])
    expect(await person.json(['show', shared.id])).toMatchObject({ shared_with: 'organization' })
    await person.berth(['rm', id, shared.id])
  } finally {
    await person.close()
  }
})

test('--member-header passes on whom the program serves, and no other such header; service-members update gives the right', async () => {
  const admin = await openShell({ BERTH_URL: served.server.url }, owner)
  const usage = '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}'
  served.engine.answer((response) => answerJson(response, usage))
  const readNames = async (): Promise<string[]> => {
    await served.server.application.tokens.flush()
    const rows = await admin.json(['usage', '--by', 'member'])
    return rows.items.map(({ email }: { email: string }) => email)
  }
  try {
    const id = String(service.id)
    const header = ['--member-header', 'X-OpenWebUI-User-Email']
    const given = await admin.json(['service-members', 'update', id, '--may-name-members', ...header])
    expect(given).toMatchObject({ may_name_members: true, member_header: 'x-openwebui-user-email' })
    expect((await admin.berth(['service-members'])).stdout).toContain('x-openwebui-user-email')
    const askFor = async (openai: OpenAI, headers: Record<string, string>) =>
      openai.chat.completions.create({ model: 'berth-tiny', messages }, { headers })
    const { openai } = await connect(...header)
    await askFor(openai, {
      'X-OpenWebUI-User-Email': 'kai@example.org',
      'X-Berth-Member': 'rosa@example.org',
    })
    expect(await readNames()).toContain('outside: kai@example.org')
    const closed = await connect()
    const both = { 'X-OpenWebUI-User-Email': 'ada@example.org', 'X-Berth-Member': 'rosa@example.org' }
    await askFor(closed.openai, both)
    const names = await readNames()
    expect(names).toContain(service.email)
    expect(names.filter((name) => /ada|rosa/.test(name))).toEqual([])
    const taken = await admin.json(['service-members', 'update', id, '--no-may-name-members'])
    expect(taken).toMatchObject({ may_name_members: false, member_header: null })
    expect((await admin.berth(['service-members', 'update', id])).code).toBe(2)
    expect((await shell.berth(['connect', ...header])).code).toBe(2)
  } finally {
    await admin.close()
  }
})

test('service-members rm removes a program, and its deployments only on demand; the empty list says so', async () => {
  const alone = await registerClient(served.server.url)
  const admin = await openShell({ BERTH_URL: served.server.url }, alone)
  try {
    const empty = await admin.berth(['service-members'])
    expect(empty).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No programs.') })
    const program = await createService(alone)
    await deploy(await openService(served.server.url, program))
    const [person] = await admin.json(['members'])
    const refused = await admin.berth(['service-members', 'rm', String(person.id)])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('no service member') })
    const busy = await admin.berth(['service-members', 'rm', String(program.id)])
    expect(busy).toMatchObject({ code: 1, stderr: expect.stringContaining('--end-deployments') })
    expect(
      await admin.berth(['service-members', 'rm', String(program.id), '--end-deployments']),
    ).toMatchObject({ code: 0, stderr: expect.stringContaining('Removed') })
    expect(await admin.json(['service-members'])).toEqual([])
  } finally {
    await admin.close()
  }
})

test('after a rotation, the connection reads the new password from its file, and asks no more than once with the old', async () => {
  const file = join(shell.configDirectory, 'password')
  await writeFile(file, `${service.password}\n`)
  delete shell.env['BERTH_PASSWORD']
  shell.env['BERTH_PASSWORD_FILE'] = file
  const { openai } = await connect()
  await ask(openai)
  const path = `/v1/organization/service-members/${service.id}/rotate?now=true`
  const { password } = (await owner.post(path)).body
  for (let attempt = 0; attempt < 3; attempt += 1) {
    // The server remembers the old session for a second.
    await vi.waitFor(
      () =>
        expect(ask(openai)).rejects.toMatchObject({
          status: 401,
          message: expect.stringMatching(/was replaced/),
        }),
      { timeout: 30_000 },
    )
  }
  expect(await listActions('session.sign_in_refused')).toHaveLength(1)
  await writeFile(file, password)
  await ask(openai)
})

test('requests wait for a server that restarts, and so does the start', async () => {
  await relay.stop()
  const running = start()
  await vi.waitFor(() => expect(running.output.stderr).toContain('does not respond'), { timeout: 20_000 })
  await relay.start()
  const { base_url: baseURL } = await vi.waitFor(() => JSON.parse(running.output.stdout), { timeout: 20_000 })
  const openai = new OpenAI({ baseURL, apiKey: 'secret', maxRetries: 0 })
  await relay.stop()
  const answer = ask(openai)
  await vi.waitFor(() => expect(running.output.stderr).toContain('Requests wait'), { timeout: 20_000 })
  await relay.start()
  await expect(answer).resolves.toMatchObject({ id: 'c' })
})

test('SIGTERM lets a stream finish, then ends the session and the process with 0', async () => {
  const { running, openai } = await connect()
  let end = () => {}
  served.engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('Hel'))
    end = () => response.end(streamed('lo'))
  })
  let text = ''
  const stream = await openai.chat.completions.create({ model: 'berth-tiny', messages, stream: true })
  for await (const { choices } of stream) {
    text += choices[0]?.delta.content ?? ''
    if (text !== 'Hel') continue
    running.child.kill('SIGTERM')
    await vi.waitFor(() => expect(fetch(openai.baseURL)).rejects.toThrow(), { timeout: 30_000 })
    end()
  }
  expect(text).toBe('Hello')
  expect(await running.result).toMatchObject({ code: 0, signal: null })
  expect(await listSessions()).toEqual([])
  expect(await listActions('session.ended')).toHaveLength(1)
})

test('a connection that was killed starts again with the same environment', async () => {
  const first = await connect()
  first.running.child.kill('SIGKILL')
  await first.running.result
  const second = await connect()
  await ask(second.openai)
})

test.each([
  ['no email', { BERTH_EMAIL: '' }, 2, 'Set BERTH_EMAIL'],
  ['no password', { BERTH_PASSWORD: '' }, 2, 'Set BERTH_PASSWORD'],
  ['a file that does not exist', { BERTH_PASSWORD_FILE: '/nowhere/password' }, 1, 'BERTH_PASSWORD_FILE'],
  ['a wrong password', { BERTH_PASSWORD: 'wrong' }, 4, 'is wrong, or was replaced'],
])('with %s, the command ends with an explanation', async (_what, settings, code, message) => {
  Object.assign(shell.env, settings)
  const result = await shell.berth(['connect', '--service', '--port', '0'])
  expect(result).toMatchObject({ code, stdout: '' })
  expect(result.stderr).toContain(message)
})

test('a service member elsewhere and a person are refused', async () => {
  const elsewhere = await createService(owner, { allowed_networks: ['192.0.2.0/24'] })
  Object.assign(shell.env, { BERTH_EMAIL: elsewhere.email, BERTH_PASSWORD: elsewhere.password })
  const refused = await shell.berth(['connect', '--service', '--port', '0'])
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.stderr).toContain('may not work from 127.0.0.1')
  const person = await registerClient(served.server.url)
  Object.assign(shell.env, { BERTH_EMAIL: person.email, BERTH_PASSWORD: person.password })
  const result = await shell.berth(['connect', '--service', '--port', '0'])
  expect(result).toMatchObject({ code: 2 })
  expect(result.stderr).toContain('is a person')
})

test('an admin adds a program, rotates its password and sees it among the members', async () => {
  const admin = await openShell({ BERTH_URL: served.server.url }, owner)
  const added = await admin.berth(['service-members', 'add', 'Night shift', '--network', '127.0.0.1', '::1'])
  expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('not shown again') })
  const [, email = '', password = ''] = /BERTH_EMAIL=(\S+)\nBERTH_PASSWORD=(\S+)/.exec(added.stdout) ?? []
  await openService(served.server.url, { ...service, email, password })
  const [program] = (await admin.json(['service-members'])).filter((member: any) => member.email === email)
  expect(program).toMatchObject({
    name: 'Night shift',
    role: 'member',
    allowed_networks: ['127.0.0.1/32', '::1/128'],
  })
  const rotated = await admin.json(['service-members', 'rotate', String(program.id), '--now'])
  expect(rotated).toMatchObject({ email, previous_password_ends_at: null })
  await openService(served.server.url, rotated)
  const { stdout } = await admin.berth(['members'])
  expect(stdout).toMatch(/KIND/)
  expect(stdout).toMatch(new RegExp(`${email} +Night shift +service +member`))
  const wrong = await admin.berth(['service-members', 'add', 'Night shift', '--network', 'office'])
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a network') })
  await admin.close()
})
