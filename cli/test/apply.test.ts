// A file of deployments, models, teams and budgets: what `apply` makes of it, what `diff` shows, and what
// `export` writes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { joinClient } from '../../server/test/support/organizations.ts'
import { createService, openService } from '../../server/test/support/service-members.ts'
import { makeJsonSchema } from '../src/apply/file-schema.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'
import { openTerminal } from './support/terminal.ts'

let served: ServerWithEngine
let client: Client
let shell: Shell
let path: string

beforeAll(async () => {
  served = await startServerWithEngine()
})
beforeEach(async () => {
  client = await registerClient(served.server.url)
  shell = await openShell({ BERTH_URL: served.server.url }, client)
  path = join(shell.configDirectory, 'berth.yaml')
})
afterEach(() => shell.close())
afterAll(() => served.close())

const write = (content: unknown) =>
  writeFile(path, typeof content === 'string' ? content : stringify(content))
const apply = (...options: string[]) => shell.berth(['apply', '-f', path, ...options])
const diff = (...options: string[]) => shell.berth(['diff', '-f', path, ...options])

async function listDeployments(): Promise<any[]> {
  return (await client.get('/api/v1/model-deployments?active=true')).body.items.filter(
    ({ status }: { status: string }) => status !== 'terminating',
  )
}

/** Applies the file, and expects that nothing is left to do. */
async function converge(...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await apply(...options)
  expect(code, stdout + stderr).toBe(0)
  expect(await apply('--dry-run', ...options)).toMatchObject({ code: 0, stdout: '' })
  return stdout
}

test('apply makes what the file says, and a second run changes nothing', async () => {
  const colleague = await joinClient(served.server, client, 'member')
  await write({
    name: 'platform',
    teams: { Research: { members: [colleague.email] } },
    deployments: {
      assistant: {
        model: 'berth-tiny',
        min_context_tokens: 512,
        shared_with: { teams: ['research'] },
        policy: { max_instances: 2, idle_minutes: 30, yields: true },
      },
      search: { model: 'Berth-Tiny-Embedding', shared_with: 'organization' },
    },
    budgets: {
      organization: { monthly_limit: 250 },
      members: { [colleague.email]: { monthly_limit: '10.50', at_limit: 'block' } },
      deployments: { assistant: { monthly_limit: 50 } },
    },
  })
  const planned = await diff()
  expect(planned, planned.stderr).toMatchObject({
    code: 2,
    stderr: '6 to add, 0 to change, 0 to remove.\n',
  })
  expect(planned.stdout).toMatch(
    /\+ team Research\n[^]+\+ deployment assistant {2}\S+ \w+\/hour\n {4}model: berth-tiny\n/,
  )
  expect(await apply('--dry-run')).toMatchObject({ code: 2 })
  expect(await listDeployments()).toEqual([])
  expect(await converge('--wait')).toBe(planned.stdout)
  const [search, assistant] = await listDeployments()
  expect(assistant).toMatchObject({
    alias: 'assistant',
    status: 'running',
    managed_by: 'platform',
    min_context_tokens: 512,
    policy: { max_instances: 2, idle_minutes: 30, yields: true },
  })
  expect(search).toMatchObject({ alias: 'search', shared_with: 'organization' })
  const budgets = (await client.get('/v1/billing/budgets')).body
  expect(budgets).toMatchObject([
    { scope: 'organization', monthly_limit: '250', at_limit: 'notify', managed_by: 'platform' },
    { scope: 'member', scope_name: expect.any(String), monthly_limit: '10.5', at_limit: 'block' },
    { scope: 'deployment', scope_id: assistant.id },
  ])
  expect((await shell.json(['diff', '-f', path])).changes).toEqual([])
})

test('apply takes back what others changed, and a field that the file no longer has gets its default', async () => {
  await write({ name: 'p', deployments: { chat: { model: 'berth-tiny', min_parallel_sequences: 2 } } })
  await converge()
  const [{ id }] = await listDeployments()
  await client.patch(`/api/v1/model-deployments/${id}`, { shared_with: 'organization', max_instances: 3 })
  expect((await diff()).stdout).toBe(
    '~ deployment chat\n    shared_with: organization → none\n    policy.max_instances: 3 → 1\n',
  )
  await write({ name: 'p', deployments: { chat: { model: 'berth-tiny' } } })
  await converge()
  expect(await listDeployments()).toMatchObject([
    { id, shared_with: null, min_parallel_sequences: null, policy: { max_instances: 1 } },
  ])
})

test('another model or variant replaces the deployment, also one that a person made', async () => {
  const made = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny', alias: 'x' })
  await write({ name: 'p', deployments: { x: { model: 'berth-tiny-embedding' } } })
  expect(await converge('--wait')).toContain('± deployment x')
  expect(await listDeployments()).toMatchObject([{ alias: 'x', model_name: 'berth-tiny-embedding' }])
  expect((await client.get(`/api/v1/model-deployments/${made.body.id}`)).body.status).toMatch(/^terminat/)
})

test('--prune removes only what an earlier apply of the same name made', async () => {
  await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny', alias: 'by-hand' })
  const colleague = await joinClient(served.server, client, 'member')
  const terms = { monthly_limit: 5 }
  await write({ name: 'other', deployments: { theirs: { model: 'berth-tiny' } } })
  await converge()
  await write({
    name: 'p',
    teams: { A: {}, B: {} },
    deployments: { one: { model: 'berth-tiny' }, two: { model: 'berth-tiny' } },
    budgets: { members: { [colleague.email]: terms }, deployments: { one: terms, two: terms } },
  })
  await converge()
  await write({ name: 'p', teams: { A: {} }, deployments: { two: { model: 'berth-tiny' } } })
  expect(await diff()).toMatchObject({ code: 0 })
  expect((await diff('--prune')).stdout).toMatch(
    /- budget member .+\n- budget deployment .+\n- budget deployment .+\n- deployment one .+\n- team B\n/,
  )
  await converge('--prune')
  expect((await listDeployments()).map(({ alias }) => alias)).toEqual(['two', 'theirs', 'by-hand'])
  expect((await client.get('/v1/organization/teams')).body).toMatchObject([{ name: 'A' }])
  expect((await client.get('/v1/billing/budgets')).body).toEqual([])
})

test('a file that export wrote applies without a change, and names its schema', async () => {
  const colleague = await joinClient(served.server, client, 'member')
  const { body: team } = await client.post('/v1/organization/teams', { name: 'Kite: flyers' })
  const { user_id: id } = (await client.get('/v1/organization/members')).body.find(
    ({ email }: { email: string }) => email === colleague.email,
  )
  await client.request('PUT', `/v1/organization/teams/${team.id}/members/${id}`)
  const { body: made } = await client.post('/api/v1/model-deployments', {
    model_name: 'berth-tiny',
    alias: 'yes',
    min_context_tokens: 600,
  })
  await client.patch(`/api/v1/model-deployments/${made.id}`, {
    shared_with: { teams: [team.id], members: [] },
    schedules: [{ cron: '0 8 * * MON-FRI', time_zone: 'Europe/Berlin', min_instances: 1 }],
    idle_minutes: 5,
  })
  await client.post('/v1/billing/budgets', {
    scope: 'deployment',
    scope_id: made.id,
    monthly_limit: '7.25',
    at_limit: 'sleep',
  })
  await client.post('/v1/billing/budgets', {
    scope: 'team',
    scope_id: team.id,
    monthly_limit: '3',
    at_limit: 'block',
  })
  for (const number of [1, 2])
    await client.post('/api/v1/model-deployments', {
      model_name: 'berth-tiny',
      min_context_tokens: 500 + number,
    })
  const { body: twin } = await client.post('/api/v1/model-deployments', {
    model_name: 'berth-tiny-embedding',
    alias: 'yes',
  })
  await client.patch(`/api/v1/model-deployments/${twin.id}`, { alias_order: 2 })
  const { stdout, stderr } = await shell.berth(['export', '--name', 'platform'])
  expect(stderr).toBe('')
  expect(stdout.split('\n')[0]).toBe(
    `# yaml-language-server: $schema=${served.server.url}/downloads/berth.schema.json`,
  )
  expect(parse(stdout)).toMatchObject({
    name: 'platform',
    teams: { 'Kite: flyers': { members: [colleague.email] } },
    deployments: {
      yes: { model: 'berth-tiny', shared_with: { teams: ['Kite: flyers'] } },
      'berth-tiny': { alias: null, min_context_tokens: 501 },
      'berth-tiny-2': { alias: null, min_context_tokens: 502 },
      'yes-2': { alias: 'yes', alias_order: 2, model: 'berth-tiny-embedding' },
    },
    budgets: {
      teams: { 'Kite: flyers': { monthly_limit: '3', at_limit: 'block' } },
      deployments: { yes: { monthly_limit: '7.25', at_limit: 'sleep' } },
    },
  })
  await write(stdout)
  expect(await diff('--prune')).toMatchObject({ code: 0, stdout: '' })
  expect((await fetch(`${served.server.url}/downloads/berth.schema.json`)).status).toBe(200)
})

test('the schema of the package is that of the command', async () => {
  const schema = join(import.meta.dirname, '../berth.schema.json')
  await expect(`${JSON.stringify(makeJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(schema)
})

test.each([
  [
    'deployments:\n  a:\n    model: berth-tiny\n    polcy: {}\n',
    '5: deployments.a.polcy: There is no such field.',
  ],
  [
    'deployments:\n  a:\n    model: [1]\n',
    '4: deployments.a.model: Invalid input: expected string, received array.',
  ],
  ['deployments:\n  a: {model: nothing}\n', '3: deployments.a.model: '],
  ['deployments:\n  a: {model: berth-tiny}\n  a: {model: berth-tiny}\n', '4: Map keys must be unique'],
  [
    'deployments:\n  a:\n    model: berth-tiny\n    loras:\n      - nobody\n',
    '6: deployments.a.loras.0: The catalog has no LoRA nobody.',
  ],
  ['teams:\n  A:\n    members: [x@example.com]\n', '4: teams.A.members.0: Your organization has no member'],
  [
    'deployments:\n  a:\n    model: berth-tiny\n    shared_with: {teams: [B]}\n',
    '5: deployments.a.shared_with.teams.0: You see no team called B.',
  ],
  ['budgets:\n  teams:\n    B: {monthly_limit: 1}\n', '4: budgets.teams.B: You see no team called B.'],
  [
    'deployments:\n  a:\n    model: berth-tiny\n    alias: null\n    alias_order: 1\n',
    '6: deployments.a.alias_order: Needs an alias.',
  ],
  [
    'models:\n  tuned:\n    revision: main\n',
    '3: models.tuned.repository: Name the repository of the revision and the base.',
  ],
  ['models: {tuned: {}}\n', '2: models.tuned: Your organization has no model tuned. Upload it'],
  [
    'models: {berth-tiny: {}}\n',
    '2: models.berth-tiny: The model berth-tiny comes from the catalog of the installation.',
  ],
  [
    'budgets: {organization: {monthly_limit: 1e30}}\n',
    '2: budgets.organization.monthly_limit: Write an amount',
  ],
  [
    'deployments:\n  a:\n    model: berth-tiny\n    policy: {min_instances: 4, max_instances: 2}\n',
    '3: deployments.a: ',
  ],
])('an error names the file, the line and the field: %j', async (content, message) => {
  await write(`name: p\n${content}`)
  expect(await apply()).toMatchObject({ code: 1, stderr: expect.stringContaining(`${path}:${message}`) })
  expect((await client.get('/v1/organization/teams')).body).toEqual([])
})

test('on a terminal, apply asks; no changes nothing', async () => {
  await write({ name: 'p', deployments: { asked: { model: 'berth-tiny' } } })
  const refused = openTerminal(shell, ['apply', '-f', path])
  await refused.see('Apply these changes?')
  refused.type('n')
  expect(await refused.exited).toBe(130)
  expect(await listDeployments()).toEqual([])
  const agreed = openTerminal(shell, ['apply', '-f', path])
  await agreed.see('Apply these changes?')
  agreed.type('y')
  expect(await agreed.exited).toBe(0)
  expect(await listDeployments()).toMatchObject([{ alias: 'asked' }])
})

test('a service member applies from CI, and an admin the same file later', async () => {
  const program = await openService(served.server.url, await createService(client, { name: 'CI' }))
  const ci = await openShell({ BERTH_URL: served.server.url }, program)
  await write({ name: 'p', deployments: { chat: { model: 'berth-tiny', shared_with: 'organization' } } })
  expect(await ci.berth(['apply', '-f', path])).toMatchObject({ code: 0 })
  expect(await ci.berth(['diff', '-f', path])).toMatchObject({ code: 0 })
  await write({ name: 'p', deployments: { chat: { model: 'berth-tiny' } } })
  await converge()
  const { items } = (await client.get('/api/v1/model-deployments?scope=organization&active=true')).body
  expect(items).toMatchObject([{ alias: 'chat', shared_with: null, owner: { name: 'CI' } }])
  await write({ name: 'p', budgets: { organization: { monthly_limit: 1 } } })
  expect(await ci.berth(['apply', '-f', path])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${path}:3: budgets.organization: `),
  })
  await ci.close()
})

test('several deployments have one alias, in an order, or none; their names say which is which', async () => {
  const file = (content: object) => ({
    name: 'p',
    teams: { New: {} },
    deployments: {
      chat: { model: 'berth-tiny', alias_order: 1 },
      ...content,
    },
    budgets: { teams: { new: { monthly_limit: 9 } }, deployments: { worker: { monthly_limit: 5 } } },
  })
  await write(
    file({
      small: { alias: 'chat', alias_order: 2, model: 'berth-tiny' },
      worker: { alias: null, model: 'berth-tiny' },
    }),
  )
  await converge()
  const find = async (name: string) => (await listDeployments()).find((each) => each.managed_name === name)
  const [chat, small, worker] = await Promise.all(['chat', 'small', 'worker'].map(find))
  expect([chat, small, worker].map((each) => [each.alias, each.alias_order])).toEqual([
    ['chat', 1],
    ['chat', 2],
    [null, null],
  ])
  expect((await client.get('/v1/billing/budgets')).body).toMatchObject([
    { scope: 'team', scope_name: 'New', monthly_limit: '9', managed_by: 'p' },
    { scope: 'deployment', scope_id: worker.id },
  ])

  // A person renames one, and the file turns the order around.
  await client.patch(`/api/v1/model-deployments/${chat.id}`, { alias: 'renamed' })
  await write(
    file({
      small: { alias: 'chat', model: 'berth-tiny' },
      worker: { alias: 'work', alias_order: 3, model: 'berth-tiny' },
    }),
  )
  expect((await diff()).stdout).toBe(
    '~ deployment chat\n    alias: renamed → chat\n' +
      '~ deployment small\n    alias_order: 2 → none\n' +
      '~ deployment worker\n    alias: none → work\n    alias_order: none → 3\n',
  )
  await converge()
  expect(await listDeployments()).toMatchObject([
    { id: worker.id, alias: 'work', alias_order: 3 },
    { id: small.id, alias: 'chat', alias_order: null },
    { id: chat.id, alias: 'chat', alias_order: 1 },
  ])
  const exported = parse((await shell.berth(['export', '--name', 'p'])).stdout)
  expect(exported.deployments).toMatchObject({
    chat: { alias_order: 1 },
    small: { alias: 'chat' },
    worker: { alias: 'work', alias_order: 3 },
  })

  // Another model replaces only the deployment of the name.
  await write(
    file({
      small: { alias: 'chat', model: 'berth-tiny' },
      worker: { alias: null, model: 'berth-tiny-embedding' },
    }),
  )
  expect((await diff()).stdout).toContain('± deployment worker')
  await converge()
  expect((await listDeployments()).map(({ id }) => id)).toEqual([
    (await find('worker')).id,
    small.id,
    chat.id,
  ])
  await write({ name: 'p', deployments: { chat: { model: 'berth-tiny', alias_order: 1 } } })
  expect(await diff()).toMatchObject({ code: 0 })
  await converge('--prune')
  expect((await listDeployments()).map(({ id }) => id)).toEqual([chat.id])
})

test('a deployment that a person made joins by its alias, or without one by its model', async () => {
  const [plain, named, other] = await Promise.all(
    [{}, { alias: 'chat' }, { min_context_tokens: 300 }].map(
      async (fields) =>
        (await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny', ...fields })).body.id,
    ),
  )
  await write({
    name: 'p',
    deployments: {
      batch: { alias: null, model: 'berth-tiny' },
      first: { alias: 'chat', model: 'berth-tiny', min_context_tokens: 256 },
      second: { alias: 'chat', model: 'berth-tiny' },
    },
  })
  expect((await diff()).stdout).toMatch(/^\+ deployment first/)
  await converge('--prune')
  const deployments = await listDeployments()
  expect(deployments).toHaveLength(4)
  expect(Object.fromEntries(deployments.map((each) => [each.id, each.managed_name]))).toMatchObject({
    [plain]: null,
    [named]: null,
    [other]: null,
  })
})

test('a name that a colleague shares, or that several of your deployments have, is refused', async () => {
  const colleague = await joinClient(served.server, client, 'member')
  const { body: theirs } = await colleague.post('/api/v1/model-deployments', {
    model_name: 'berth-tiny',
    alias: 'chat',
  })
  await colleague.patch(`/api/v1/model-deployments/${theirs.id}`, { shared_with: 'organization' })
  await write({ name: 'p', deployments: { chat: { model: 'berth-tiny', shared_with: 'organization' } } })
  expect(await apply()).toMatchObject({ code: 1, stderr: expect.stringContaining(colleague.email) })
  for (let number = 0; number < 2; number += 1)
    await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny', alias: 'twin' })
  await write({ name: 'p', deployments: { twin: { model: 'berth-tiny' } } })
  expect(await apply()).toMatchObject({ code: 1, stderr: expect.stringContaining('Several deployments') })
})
