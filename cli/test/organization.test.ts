import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deploy } from '../../server/test/support/deployments.ts'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { joinClient } from '../../server/test/support/organizations.ts'
import { answerJson } from '../../server/test/support/recording-engine.ts'
import { openShell } from './support/command.ts'
import type { Shell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'

let served: ServerWithEngine
let client: Client
let shell: Shell

beforeAll(async () => {
  served = await startServerWithEngine()
  client = await registerClient(served.server.url, { email: 'ada@example.com' })
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
  const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [], usage }
  served.engine.answer((response) => answerJson(response, JSON.stringify(completion)))
  await deploy(client)
  shell = await openShell({ BERTH_URL: served.server.url }, client)
})

afterAll(async () => {
  await shell.close()
  await served.close()
})

test('usage shows the period, or groups', async () => {
  await shell.berth(['chat', 'berth-tiny', 'Hello!', '--json'])
  await expect
    .poll(async () => JSON.stringify((await shell.json(['usage'])).usage_totals))
    .toContain('output_tokens')
  expect((await shell.json(['usage', '--by', 'member'])).items[0]).toMatchObject({ email: 'ada@example.com' })
  expect((await shell.berth(['usage', '--by', 'model'])).stdout).toMatch(/^MODEL +USAGE[^]+\nberth-tiny /)
  expect((await shell.berth(['usage'])).stdout).toMatch(/Most instances +1 of 1000/)
  expect(await shell.berth(['usage', '--by', 'moon'])).toMatchObject({ code: 2 })
})

test('days and times are checked before the server is asked; without rows there is no header', async () => {
  const wrong = [
    ['usage', '--from', 'yesterday'],
    ['usage', '--from', '2026-13-01'],
    ['audit', '--to', '2026'],
    ['bill', 'proof', '--from', '2026-01-01', '--to', 'now'],
  ]
  for (const command of wrong) {
    expect(await shell.berth(command)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a UTC day, such as 2026-01-02'),
    })
  }
  for (const command of ['usage', 'audit']) {
    const empty = await shell.berth([command, '--from', '2020-01-01', '--to', '2020-01-01'])
    expect(empty).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^No (usage|entries)\.\n$/),
    })
  }
  const today = new Date().toISOString().slice(0, 10)
  expect((await shell.json(['audit', '--from', today, '--to', today])).length).toBeGreaterThan(0)
  // The day of --to is included, so that it ends when the next one begins.
  const prove = (from: string, to: string) => shell.berth(['bill', 'proof', '--from', from, '--to', to])
  expect(JSON.parse((await prove('2026-01-02', '2026-01-01')).stdout)).toMatchObject({
    from: expect.stringMatching(/^2026-01-02T00:00/),
  })
  expect(await prove('2026-01-03', '2026-01-01')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('`from` is after `to`.'),
  })
})

test('bill shows the plan; bill verify recomputes a proof and finds a changed byte', async () => {
  expect(await shell.json(['bill'])).toMatchObject({ account: { billing_mode: 'trial' }, invoices: [] })
  expect((await shell.berth(['bill'])).stdout).toMatch(/^Plan +trial\n/)
  expect(await shell.berth(['bill', 'proof'])).toMatchObject({ code: 2 })
  const file = join(shell.configDirectory, 'proof.json')
  const range = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-01-02T00:00:00Z']
  const { code, stdout, stderr } = await shell.berth(['bill', 'proof', ...range])
  expect(code, stderr).toBe(0)
  await writeFile(file, stdout)
  // No server and no session
  const offline = await openShell()
  expect(await offline.berth(['bill', 'verify', file])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('agree with spans, tokens and prices'),
  })
  await writeFile(file, (await readFile(file, 'utf8')).replace('"usd"', '"eur"'))
  expect(await offline.berth(['bill', 'verify', file])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('document_hash'),
  })
  expect(await offline.berth(['bill', 'verify', 'nothing.json'])).toMatchObject({
    code: 1,
    stderr: "nothing.json can't be read as JSON: no such file or directory.\n",
  })
  await offline.close()
})

test('budgets, members, invite and audit', async () => {
  const budget = { scope: 'organization', monthly_limit: '100', at_limit: 'notify' }
  expect((await client.post('/v1/billing/budgets', budget)).status).toBeLessThan(300)
  expect((await shell.berth(['budgets'])).stdout).toContain('organization  100 usd')
  expect(await shell.json(['members'])).toMatchObject([{ email: 'ada@example.com', role: 'super_admin' }])
  const { code, stdout, stderr } = await shell.berth(['invite', 'grace@example.com', '--role', 'viewer'])
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('Invited grace@example.com as viewer.')
  expect(await shell.berth(['invite', 'grace@example.com'])).toMatchObject({ code: 1 })
  const [newest] = await shell.json(['audit', '--limit', '1', '--action', 'invitation.created'])
  expect(newest).toMatchObject({ action: 'invitation.created', actor: { email: 'ada@example.com' } })
  expect((await shell.berth(['audit'])).stdout).toContain('deployment.created')
})

test('teams: made with members, changed, shared with, limited, and deleted by their names', async () => {
  const rosa = await joinClient(served.server, client, 'member', { email: 'rosa@example.com' })
  expect((await shell.berth(['teams'])).stderr).toBe('No teams. `berth teams add` adds one.\n')
  const failed = await shell.berth(['teams', 'add', 'Research', 'nobody@example.com'])
  expect(failed).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nobody@example.com is no member'),
  })
  expect(await shell.json(['teams']), 'found before the team is made').toEqual([])
  expect((await shell.berth(['teams', 'add', 'Research', 'ROSA@example.com'])).stderr).toBe(
    'Added Research.\n',
  )
  expect((await shell.berth(['teams', 'add', 'research'])).stderr).toContain(
    'has a team of this name already',
  )
  const [team] = await shell.json(['teams'])
  expect(team).toMatchObject({ name: 'Research', members: [{ email: 'rosa@example.com' }] })
  expect((await shell.berth(['teams'])).stdout).toMatch(
    /^ID +NAME +MEMBERS\n\d+ +Research +rosa@example.com\n$/,
  )

  const share = (...more: string[]) => shell.berth(['share', 'berth-tiny', ...more])
  const ask = async () =>
    (await rosa.post('/v1/chat/completions', { model: 'berth-tiny', messages: [] })).status
  expect(await ask()).toBe(404)
  expect((await share('--team', 'moon')).stderr).toContain('You see no team called moon.')
  expect((await share('--team', 'Research', '--off')).code).toBe(2)
  expect((await share('--team', 'RESEARCH')).stderr).toBe('RESEARCH can call berth-tiny.\n')
  expect((await shell.json(['show', 'berth-tiny'])).shared_with).toEqual({ teams: [team.id], members: [] })
  expect((await shell.berth(['show', 'berth-tiny'])).stdout).toMatch(/Shared with +1 teams and 0 members/)
  await expect.poll(ask).toBe(200)
  await served.server.application.tokens.flush()
  expect((await shell.berth(['usage', '--by', 'team'])).stdout).toMatch(/^TEAM +USAGE[^]+\nResearch /)
  const { items } = await shell.json(['usage', '--by', 'team'])
  expect(new Set(items.map(({ team_id }: any) => team_id))).toEqual(new Set([team.id, null]))

  const budget = { scope: 'team', scope_id: team.id, monthly_limit: '7', at_limit: 'notify' }
  expect((await client.post('/v1/billing/budgets', budget)).status).toBe(200)
  expect((await shell.berth(['budgets'])).stdout).toMatch(/\d+ +Research +7 usd/)
  const person = await openShell({ BERTH_URL: served.server.url }, rosa)
  expect(await person.json(['budgets'])).toContainEqual(
    expect.objectContaining({ scope: 'team', scope_name: 'Research' }),
  )
  expect((await person.berth(['teams', 'rm', 'Research'])).code).toBe(1)
  await person.close()

  const change = (...more: string[]) =>
    shell.berth(['teams', 'members', 'Research', 'rosa@example.com', ...more])
  expect((await change('--out')).stderr).toBe('Research: nobody.\n')
  await expect.poll(ask).toBe(404)
  expect((await change()).stderr).toBe('Research: rosa@example.com.\n')
  await expect.poll(ask).toBe(200)
  expect((await share('--off')).stderr).toBe('berth-tiny is no longer shared.\n')
  expect((await shell.berth(['teams', 'rm', 'Research'])).stderr).toBe('Deleted Research.\n')
  expect(await shell.json(['teams'])).toEqual([])
  expect((await shell.json(['budgets'])).map(({ scope }: any) => scope)).not.toContain('team')
})
