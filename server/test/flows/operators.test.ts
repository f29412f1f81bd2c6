import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { replaceCatalog } from '../../src/features/catalog/replace-catalog.ts'
import { readCatalogFile } from '../../src/features/catalog/sources/file.ts'
import { disableUser } from '../../src/features/operators/disable-user.ts'
import { identifyOperator } from '../../src/features/operators/operator.ts'
import {
  endSuspendedDeployments,
  resumeOrganization,
  suspendOrganization,
} from '../../src/features/operators/suspend.ts'
import { adminSettings, runAdmin, spawnAdmin } from '../support/admin.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy, waitForStatus } from '../support/deployments.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import { makeRepositories } from '../support/hub/test-repositories.ts'
import { startMailServer } from '../support/mail.ts'
import type { MailServer } from '../support/mail.ts'
import { listOperations } from '../support/operations.ts'
import { joinClient, registerProven } from '../support/organizations.ts'
import type { Account } from '../support/organizations.ts'
import { createDataDirectory, removeDataDirectory, spawnServer } from '../support/process.ts'
import { answerJson, startRecordingEngine } from '../support/recording-engine.ts'
import type { RecordingEngine } from '../support/recording-engine.ts'
import { createScriptedRuntime } from '../support/scripted-runtime.ts'
import { openSession } from '../support/sessions.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

/** Changes that concern the person, not the organization. */
const personal = [
  'PATCH /v1/user/profile',
  'POST /v1/user/logout',
  'POST /v1/user/password',
  'DELETE /v1/user',
  'POST /v1/auth/sessions',
  'POST /v1/user/second-factors/totp',
  'POST /v1/user/second-factors/totp/verify',
  'DELETE /v1/user/second-factors/totp',
  'POST /v1/user/second-factors/passkeys/start',
  'POST /v1/user/second-factors/passkeys',
  'POST /v1/user/second-factors/passkeys/challenge',
  'DELETE /v1/user/second-factors/passkeys/{passkey_id}',
  'POST /v1/user/second-factors/recovery-codes',
  'DELETE /v1/user/identities/{identity_id}',
  'POST /v1/user/domain-organization',
  'POST /v1/user/email-verification/request',
  'POST /v1/user/email-verification/confirm',
  'DELETE /v1/auth/sessions',
  'DELETE /v1/auth/sessions/{session_id}',
  'POST /v1/organization/leave',
  'POST /v1/invitations/{invitation_id}/reject',
  'POST /v1/invitations/by-token/{token}/accept',
  'POST /v1/invitations/by-token/{token}/reject',
]

const patience = { timeout: 30_000, interval: 50 }

let mails: MailServer
let engine: RecordingEngine
let server: TestServer
beforeAll(async () => {
  mails = await startMailServer()
  engine = await startRecordingEngine()
  engine.answer((response) => answerJson(response, '{"choices":[]}'))
  server = await startTestServer({
    settings: { MAIL_URL: mails.url },
    runtime: createScriptedRuntime(engine.url),
  })
})
afterAll(async () => {
  await server.close()
  await engine.close()
  await mails.stop()
})

function admin(...args: string[]) {
  return runAdmin({ ...adminSettings(server), MAIL_URL: mails.url }, args)
}

/** Runs a command that must succeed, and returns its output. */
async function operate(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await admin(...args)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

async function setUp(organization = 'Acme') {
  const owner = await registerProven(server, { organization })
  const { id } = (await owner.get('/v1/organization')).body
  const { user } = (await owner.get('/v1/auth/session')).body
  return { owner, id: String(id), userId: user.id as number }
}

const chat = (client: Client, model: string) =>
  client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hello' }] })
const statusOf = (client: Client, id: string) =>
  client.get(`/api/v1/model-deployments/${id}`).then(({ body }) => body.status)
const signIn = ({ email, password }: Account) =>
  createClient(server.url).post('/v1/user/signin', { email, password })

async function readActions(owner: Client, action: string) {
  return (await owner.get(`/v1/organization/audit-log?action=${action}`)).body.items
}

test('catalog import, disable, enable and remove: what all organizations see, without a restart', async () => {
  const hub = await startHubServer(makeRepositories(), { tokens: ['hf_of_the_operator'] })
  onTestFinished(() => hub.close())
  const { owner } = await setUp()
  const names = async () =>
    (await owner.get('/api/v1/deployable-models')).body.items.map(
      ({ model_name }: { model_name: string }) => model_name,
    )
  const settings = { ...adminSettings(server), HF_ENDPOINT: hub.origin, HF_TOKEN: 'hf_of_the_operator' }
  const { db, config } = server.application
  const { models } = readCatalogFile(config.catalogFile)
  const change = (...args: string[]) => runAdmin(settings, ['catalog', ...args])

  expect(await change('import', 'acme/Licensed', '--name', 'house')).toMatchObject({
    stdout: 'Imported as house.\n',
  })
  expect(await names()).toContain('house')
  expect((await change('import', 'acme/Small', '--name', 'House')).stderr).toMatch(
    /has a model called "House"/,
  )
  expect((await change('import', 'acme/Pickle')).stderr).toMatch(
    /has no weights that an engine of this server loads/,
  )
  expect((await change('list')).stdout).toMatch(/house.*acme\/Licensed at 3333333/)

  expect(await change('disable', 'qwen3')).toMatchObject({ stdout: 'Disabled.\n' })
  expect(await change('disable', 'house')).toMatchObject({ code: 0 })
  await replaceCatalog(db, models, { keepsChanges: true })
  expect(await names()).not.toContain('qwen3')
  expect(await names()).not.toContain('house')
  expect(await change('enable', 'house')).toMatchObject({ stdout: 'Enabled.\n' })
  await replaceCatalog(db, models, { keepsChanges: true })
  expect(await names()).toContain('house')
  await replaceCatalog(db, models, { keepsChanges: false })
  expect(await names()).toContain('qwen3')
  expect(await names()).not.toContain('house')

  expect((await change('remove', 'qwen3')).stderr).toMatch(/is in the catalog file/)
  expect(await change('remove', 'house')).toMatchObject({ stdout: 'Removed.\n' })
  expect((await change('remove', 'house')).stderr).toMatch(/has no model "house"/)
  expect(await change('enable', 'qwen3')).toMatchObject({ code: 0 })
  const fixed = { ...settings, CATALOG_FILE: server.application.config.catalogFile }
  expect((await runAdmin(fixed, ['catalog', 'disable', 'qwen3'])).stderr).toMatch(/^CATALOG_FILE decides/)
})

test('weights list and prune: the cache of this host', async () => {
  const folder = join(server.dataDirectory, 'weights/url/0123456789abcdef')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'old.gguf'), Buffer.alloc(2_000_000))
  expect(await operate('weights', 'list')).toMatch(
    /url\/0123456789abcdef\/old\.gguf.*2 MB.*false[^]*2 MB of /,
  )
  expect(await operate('weights', 'prune')).toContain('old.gguf')
  expect(await operate('weights', 'list')).toMatch(/^Nothing found\.\n0 kB of /)
})

test('weights prefetch: the files of a variant, before a deployment needs them', async () => {
  const hub = await startHubServer(makeRepositories())
  onTestFinished(() => hub.close())
  const settings = { ...adminSettings(server), HF_ENDPOINT: hub.origin }
  const { id } = await setUp()
  expect(await runAdmin(settings, ['catalog', 'import', 'acme/Small-GGUF'])).toMatchObject({ code: 0 })
  const prefetch = (...args: string[]) => runAdmin(settings, ['weights', 'prefetch', ...args])

  const first = await prefetch('small-gguf', '--quantization', 'q8_0')
  expect([first.code, first.stderr]).toEqual([0, ''])
  expect(first.stdout).toMatch(/The weights of small-gguf \(Q8_0\) are in the cache\.\n$/)
  const downloads = () => hub.requests.filter(({ path }) => path.includes('/resolve/')).length
  const before = downloads()
  const seen = ['small-gguf', '--organization', id]
  expect(await prefetch(...seen, '--quantization', 'Q8_0')).toMatchObject({ code: 0 })
  expect(downloads()).toBe(before)
  expect(await operate('weights', 'list')).toMatch(
    /Small-Q8_0-00001-of-00002\.gguf[^]*Small-Q8_0-00002-of-00002/,
  )

  expect((await prefetch('unknown')).stderr).toBe('The catalog has no model "unknown".\n')
  expect((await prefetch(...seen, '--quantization', 'Q2_K')).stderr).toMatch(
    /has no such variant\. It has .*GGUF Q4_K_M/,
  )
  expect((await prefetch('berth-tiny')).stderr).toMatch(/needs no download/)
  delete hub.repositories['acme/Small-GGUF']
  const failed = await prefetch('small-gguf', '--size', '0.00522')
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/acme\/Small-GGUF|Small-Q4_K_M/) })
  const elsewhere = await runAdmin({ ...settings, RUNTIME: 'xinference', XINFERENCE_URLS: hub.origin }, [
    'weights',
    'prefetch',
    'qwen3',
  ])
  expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringMatching(/keeps no weights on this host/) })
})

test('organization suspend: members only read, other organizations go on, and resume ends it', async () => {
  const { owner, id } = await setUp('Suspended & Sons')
  const member = await joinClient(server, owner, 'member')
  const { owner: other } = await setUp()
  const [{ id: deployment }, { id: elsewhere }] = await Promise.all([deploy(member), deploy(other)])
  expect((await chat(member, deployment)).status).toBe(200)
  expect(await operate('organization', 'find', 'suspended & sons')).toContain(id)

  await operate('organization', 'suspend', id, '--reason', 'Unpaid invoices')
  await vi.waitFor(async () => {
    const { status, body } = await chat(member, deployment)
    expect([status, body.error?.code]).toEqual([403, 'organization_suspended'])
  }, patience)
  const operations = listOperations((await owner.get('/openapi.json')).body)
  const changes = operations.filter(
    ({ method, path, isPublic }) => !isPublic && method !== 'GET' && !personal.includes(`${method} ${path}`),
  )
  expect(changes.length).toBeGreaterThan(10)
  for (const { method, path } of changes) {
    const { status, body } = await owner.request(method, path.replaceAll(/\{\w+\}/g, '1'), {})
    // Errors of Anthropic's routes have no code.
    const reason = body.type === 'error' ? body.error.message : (body.error?.code ?? body.code)
    expect([method, path, status, reason]).toEqual([
      method,
      path,
      403,
      expect.stringMatching(/^organization_suspended$|is suspended/),
    ])
  }
  for (const path of ['/v1/organization', '/v1/organization/members', '/api/v1/model-deployments']) {
    expect((await owner.get(path)).status).toBe(200)
  }
  expect((await owner.get('/v1/organization')).body.status).toBe('suspended')
  expect((await owner.patch('/v1/user/profile', { name: 'Ada' })).status).toBe(200)
  expect((await chat(other, elsewhere)).status).toBe(200)
  expect(await statusOf(member, deployment)).toBe('running')
  expect((await mails.waitForMail(owner.email)).text).toContain('suspended your organization')

  const again = await admin('organization', 'suspend', id, '--reason', 'twice')
  expect([again.code, again.stderr]).toEqual([1, 'The organization is suspended.\n'])
  await operate('organization', 'resume', id)
  await vi.waitFor(async () => expect((await chat(member, deployment)).status).toBe(200), patience)
  expect((await owner.patch('/v1/organization', { description: 'Back' })).status).toBe(200)

  const [suspended] = await readActions(owner, 'organization.suspended')
  expect(suspended.details.reason).toBe('Unpaid invoices')
  expect(suspended.details.operator).toMatch(/.@./)
  expect(suspended.user_agent).toBe('npm run admin')
  expect(await readActions(owner, 'organization.resumed')).toHaveLength(1)
})

test('organization suspend: the deployments end after the grace period of this suspension, not of an earlier one', async () => {
  const { owner, id } = await setUp()
  const { id: deployment } = await deploy(owner)
  const { application } = server
  const operator = identifyOperator()
  const suspend = (graceMinutes: number) =>
    suspendOrganization(application, operator, Number(id), { reason: 'Unpaid', graceMinutes })
  await suspend(60)
  const { suspended_at: first } = await application.db
    .selectFrom('organizations')
    .select('suspended_at')
    .where('id', '=', Number(id))
    .executeTakeFirstOrThrow()
  await resumeOrganization(application, operator, Number(id))
  await suspend(60)
  await endSuspendedDeployments(application, Number(id), first!)
  expect(await statusOf(owner, deployment)).toBe('running')
  await resumeOrganization(application, operator, Number(id))
  await operate('organization', 'suspend', id, '--reason', 'Unpaid', '--grace', '0')
  await waitForStatus(owner, deployment, 'terminated')
  const { items } = (await owner.get(`/api/v1/model-deployments/${deployment}/events`)).body
  expect(items.map(({ message }: { message: string }) => message)).toContain(
    'Terminated because the organization is suspended.',
  )
})

test('user disable: sessions end everywhere, and sign-ins are refused until enable', async () => {
  const { owner } = await setUp()
  const member = await joinClient(server, owner, 'member')
  const { id: deployment } = await deploy(member)
  expect((await chat(member, deployment)).status).toBe(200)
  const { id } = (await member.get('/v1/auth/session')).body.user
  expect(await operate('user', 'find', member.email.toUpperCase())).toContain(String(id))

  await operate('user', 'disable', String(id))
  expect((await member.get('/v1/auth/session')).status).toBe(401)
  await vi.waitFor(async () => expect((await chat(member, deployment)).status).toBe(401), patience)
  const refused = await signIn(member)
  expect([refused.status, refused.body.code]).toEqual([403, 'account_disabled'])
  expect((await signIn({ ...member, password: 'wrong password' })).status).toBe(401)
  expect((await owner.get('/v1/auth/session')).status).toBe(200)

  await operate('user', 'enable', String(id))
  expect((await signIn(member)).status).toBe(200)
  for (const action of ['user.disabled', 'user.enabled']) {
    const [row] = await readActions(owner, action)
    expect([row.target.name, row.user_agent]).toEqual([member.email, 'npm run admin'])
  }
  expect(await readActions(owner, 'session.sign_in_refused')).toHaveLength(2)
})

test('a disabled account: its session is rejected even if its row is left', async () => {
  const { owner, userId } = await setUp()
  const { db } = server.application
  await db.updateTable('users').set({ disabled_at: new Date() }).where('id', '=', userId).execute()
  expect((await owner.get('/v1/auth/session')).status).toBe(401)
})

test('a disabled account: no session starts that a concurrent disabling misses', async () => {
  const { userId } = await setUp()
  const { application } = server
  const start = () =>
    openSession(server, userId).then(
      () => 'started',
      (error) => error.code,
    )
  for (let round = 0; round < 5; round += 1) {
    await disableUser(application, identifyOperator(), userId, false)
    const [, ...starts] = await Promise.all([
      disableUser(application, identifyOperator(), userId, true),
      ...Array.from({ length: 4 }, start),
    ])
    for (const outcome of starts) expect(['started', 'account_disabled']).toContain(outcome)
    const left = await application.db
      .selectFrom('sessions')
      .where('user_id', '=', userId)
      .select('id')
      .execute()
    expect(left).toEqual([])
  }
})

test('organization limit: sets how many deployments are possible', async () => {
  const { owner, id } = await setUp()
  await operate('organization', 'limit', id, '0')
  const refused = await owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect([refused.status, refused.body.code]).toEqual([409, 'resource_limit_reached'])
  await operate('organization', 'limit', id, '1')
  await deploy(owner)
  const [row] = await readActions(owner, 'organization.limit_changed')
  expect(row.details.limit).toEqual({ from: 0, to: 1 })
})

test('organization close: its deployments end, its invitations are cancelled, and nothing more is possible', async () => {
  const { owner, id } = await setUp()
  const { id: deployment } = await deploy(owner)
  const invited = await owner.post('/v1/organization/invitations', { email: 'late@example.com' })
  expect(invited.status).toBe(200)
  expect((await admin('organization', 'close', id)).stderr).toContain('--yes')
  await operate('organization', 'close', id, '--yes')
  await waitForStatus(owner, deployment, 'terminated')
  expect((await owner.get('/v1/organization')).body.status).toBe('closed')
  expect((await owner.get('/v1/organization/invitations')).body[0].status).toBe('cancelled')
  const refused = await owner.post('/api/v1/model-deployments', { model_name: 'berth-tiny' })
  expect([refused.status, refused.body.code]).toEqual([403, 'organization_suspended'])
  expect((await admin('organization', 'resume', id)).stderr).toBe('The organization is closed.\n')
  expect(await readActions(owner, 'organization.closed')).toHaveLength(1)
})

test('audit list: shows the actions of one organization, with the operator', async () => {
  const { owner, id } = await setUp()
  await owner.patch('/v1/organization', { description: 'Audited' })
  await operate('organization', 'limit', id, '7')
  const output = await operate('audit', 'list', '--organization', id)
  for (const part of [owner.email, 'organization.updated', identifyOperator().email!]) {
    expect(output).toContain(part)
  }
  expect(await operate('audit', 'list', '--organization', '999999999')).toBe('Nothing found.\n')
})

test('mail test: sends an email now, or says why it cannot', async () => {
  await operate('mail', 'test', 'operator@example.com')
  expect((await mails.waitForMail('operator@example.com')).subject).toBe('Berth test')
  mails.faults.push({ to: 'operator@example.com', at: 'RCPT', code: 550, text: 'No such user here' })
  const failed = await admin('mail', 'test', 'operator@example.com')
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('Check MAIL_URL')])
})

test('doctor: names each finding with a remedy', async () => {
  const { db } = server.application
  const values = { kind: 'password_changed', subject_id: 1, recipient: 'a@example.com' } as const
  const healthy = await admin('doctor')
  for (const subject of ['database', 'clock', 'mail', 'runtime', 'webhooks', 'jobs']) {
    expect(healthy.stdout).toMatch(new RegExp(`^ok   ${subject}: `, 'm'))
  }
  expect(healthy.stdout).toMatch(/^(ok  |FIX ) disk: /m)
  expect(healthy.stdout).toMatch(/^FIX  keys: .*\n     Set SECRET_KEY/m)
  expect(healthy.stdout).toMatch(
    /^FIX  catalog: \d+ of \d+ repositories without a commit: Qwen\/\S+, .* more\n     Run `npm run catalog:pin`/m,
  )
  expect(healthy.code).toBe(1)
  const old = new Date(Date.now() - 3_600_000)
  const mail = { ...values, message_id: '<x@y>', status: 'failed', created_at: old } as const
  await db.insertInto('mails').values(mail).execute()
  const event = { id: 'evt_late', type: 'invoice.paid', created_at: old, received_at: old }
  await db.insertInto('billing_events').values(event).execute()
  const { code, stdout } = await admin('doctor')
  expect(code).toBe(1)
  expect(stdout).toMatch(/^FIX  mail: 1 failed today.*\n     Run `npm run admin -- mail test/m)
  expect(stdout).toMatch(/^FIX  webhooks: .* 1 overdue\n     Look for errors/m)
})

test.each([
  [['organization', 'suspend', '999999999', '--reason', 'x'], 'No organization has this id.'],
  [['organization', 'limit', '999999999', '1'], 'No organization has this id.'],
  [['organization', 'close', '999999999', '--yes'], 'No organization has this id.'],
  [['user', 'disable', '999999999'], 'No user has this id.'],
  [['organization', 'suspend', '1'], '--reason'],
  [['user', 'disable', "1' OR 1=1"], 'It must be a whole number'],
  [['organization', 'limit', '1', '-5'], 'It must be a whole number'],
])('a wrong command changes nothing and says why: %j', async (args, message) => {
  const { code, stderr } = await admin(...args)
  expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
})

test('invalid settings: exit code 1 and the name of the setting, without a stack', async () => {
  const { code, stderr } = await spawnAdmin({ DATABASE_URL: 'mysql://db/berth' }, ['doctor'])
  expect(code).toBe(1)
  expect(stderr).toContain('DATABASE_URL')
  expect(stderr).not.toContain('    at ')
})

test('beside a running server with the embedded database: reads its data and leaves it running', async () => {
  const dataDirectory = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(dataDirectory))
  const settings = { DATA_DIR: dataDirectory, DRAIN_DELAY: '0s' }
  const running = spawnServer(settings)
  onTestFinished(async () => {
    running.child.kill('SIGTERM')
    await running.exited
  })
  const url = await running.listening
  const client = await registerClient(url)
  const { code, stdout } = await spawnAdmin(settings, ['user', 'find', client.email])
  expect([code, stdout]).toEqual([0, expect.stringContaining(client.email)])
  expect((await client.get('/v1/auth/session')).status).toBe(200)
})

test('a command with other settings leaves the catalog of the running server as it is', async () => {
  const { db } = server.application
  const listEnabled = () =>
    db.selectFrom('deployable_models').select('id').where('enabled', '=', true).orderBy('id').execute()
  await db.updateTable('deployable_models').set({ enabled: false }).where('id', '=', 'berth-tiny').execute()
  onTestFinished(async () => {
    await db.updateTable('deployable_models').set({ enabled: true }).where('id', '=', 'berth-tiny').execute()
  })
  const before = await listEnabled()
  expect((await runAdmin(adminSettings(server), ['organization', 'find', 'nothing'])).code).toBe(0)
  expect(await listEnabled()).toEqual(before)
})
