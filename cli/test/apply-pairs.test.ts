// Random pairs of what a server has and what a file says: one `apply` brings about the file, and the next one
// changes nothing.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { joinClient } from '../../server/test/support/organizations.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { uploadFile } from '../../server/test/support/tus.ts'
import { openShell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'
import { createRandom, makeRandomFile, pick, sharedAlias, uploadedModel } from './support/random-file.ts'
import type { Random, RandomFile } from './support/random-file.ts'

const pairs = Number(process.env['APPLY_PAIRS'] ?? 15)
const firstSeed = Number(process.env['APPLY_SEED'] ?? 1)
/** How many organizations play at a time */
const mostLanes = 4
const weights = join(import.meta.dirname, '../../catalog/weights/berth-tiny.gguf')
const deploymentsPath = '/api/v1/model-deployments'

async function listDeployments(client: Client): Promise<any[]> {
  return (await client.get(`${deploymentsPath}?active=true&limit=500`)).body.items.filter(
    ({ status }: { status: string }) => status !== 'terminating',
  )
}

/** Does to the server what people do by hand. */
async function interfere(random: Random, client: Client): Promise<void> {
  for (const { id, alias } of await listDeployments(client)) {
    const path = `${deploymentsPath}/${id}`
    const byHand = (await listDeployments(client)).filter(({ managed_by: manager }) => manager === null)
    switch (random(6)) {
      case 0:
        await client.delete(path)
        break
      case 1:
        await client.patch(path, { max_instances: 4, idle_minutes: 17, shared_with: 'organization' })
        break
      case 2:
        await client.patch(path, { alias: `renamed-${alias}`.slice(0, 60) })
        break
      case 3:
        // More than one by hand would be refused.
        if (alias === null || !byHand.some((each) => each.alias === alias))
          await client.patch(path, { managed_by: null })
        break
      case 4:
        await client.patch(path, { alias_order: alias === null ? null : 7 })
        break
    }
  }
  const taken = (await listDeployments(client)).flatMap(({ alias, managed_name: name }) => [alias, name])
  const alias = pick(random, ['one', 'two', sharedAlias, 'by-hand', null])
  if (random(2) === 0 && (alias === null || !taken.includes(alias)))
    await client.post(deploymentsPath, { model_name: 'berth-tiny', alias, min_context_tokens: 300 })
  for (const { id } of (await client.get('/v1/organization/teams')).body)
    if (random(4) === 0) await client.delete(`/v1/organization/teams/${id}`)
  for (const { id } of (await client.get('/v1/billing/budgets')).body) {
    const act = random(4)
    if (act === 0) await client.delete(`/v1/billing/budgets/${id}`)
    if (act === 1) await client.patch(`/v1/billing/budgets/${id}`, { monthly_limit: '1234' })
  }
}

const isMarked = ({ managed_by: manager }: { managed_by: string | null }) => manager === 'random'

function hasSettings(deployment: object, settings: object): boolean {
  try {
    expect(deployment).toMatchObject(settings)
    return true
  } catch {
    return false
  }
}

/** Expects that the server has what a file says, and nothing else that is marked with its name. */
async function expectBroughtAbout(client: Client, file: RandomFile): Promise<void> {
  const teams: any[] = (await client.get('/v1/organization/teams')).body
  const members: any[] = (await client.get('/v1/organization/members')).body
  const budgets: any[] = (await client.get('/v1/billing/budgets')).body
  const deployments = await listDeployments(client)
  const idOfTeam = (name: string) => teams.find((team) => team.name === name).id
  const idOfMember = (email: string) => members.find((member) => member.email === email).user_id
  const sort = (ids: number[]) => ids.toSorted((one, other) => one - other)
  for (const [name, wanted] of Object.entries(file.teams)) {
    const team = teams.find((each) => each.name === name)
    expect(team.members.map(({ email }: { email: string }) => email).toSorted()).toEqual(
      wanted.members.toSorted(),
    )
  }
  const idOfDeployment = new Map<string, string>()
  for (const [name, wanted] of Object.entries(file.deployments)) {
    const { policy, shared_with: sharedWith = null, min_context_tokens: context = null } = wanted
    const settings = {
      alias: wanted.alias === undefined ? name : wanted.alias,
      alias_order: wanted.alias_order ?? null,
      model_name: wanted.model,
      min_context_tokens: context,
      shared_with:
        sharedWith === null || typeof sharedWith === 'string'
          ? sharedWith
          : {
              teams: sort(sharedWith.teams.map(idOfTeam)),
              members: sort(sharedWith.members.map(idOfMember)),
            },
      policy: {
        max_instances: policy.min_instances,
        yields: false,
        target_concurrency: null,
        schedules: [],
        ...policy,
      },
    }
    const ours = deployments.filter((each) => isMarked(each) && (each.managed_name ?? each.alias) === name)
    expect(ours.length).toBeLessThanOrEqual(1)
    // A person made it. The oldest of several equal ones is the first in the file.
    const isTaken = ({ id }: { id: string }) => [...idOfDeployment.values()].includes(id)
    const other = deployments.findLast(
      (each) => !isMarked(each) && !isTaken(each) && hasSettings(each, settings),
    )
    const found = ours[0] ?? other
    expect(found).toMatchObject(settings)
    idOfDeployment.set(name, found.id)
  }
  const { organization, ...scopes } = file.budgets
  const idsByScope = {
    teams: idOfTeam,
    members: idOfMember,
    deployments: (name: string) => idOfDeployment.get(name),
  }
  const wantedBudgets: [target: string, budget: any][] = [
    ...(organization ? [['organization null', organization] as [string, unknown]] : []),
    ...(['teams', 'members', 'deployments'] as const).flatMap((plural) =>
      Object.entries(scopes[plural]).map(([name, each]): [string, unknown] => [
        `${plural.slice(0, -1)} ${idsByScope[plural](name)}`,
        each,
      ]),
    ),
  ]
  type Target = { scope: string; scope_id: number | string | null }
  const targetOf = ({ scope, scope_id: id }: Target) => `${scope} ${id}`
  for (const [target, wanted] of wantedBudgets) {
    const budget = budgets.find((each) => targetOf(each) === target)
    expect([Number(budget?.monthly_limit), budget?.at_limit]).toEqual([
      Number(wanted.monthly_limit),
      wanted.at_limit,
    ])
  }
  const names = deployments.filter(isMarked).map(({ managed_name: name, alias }) => name ?? alias)
  expect(names.filter((name) => !(name in file.deployments))).toEqual([])
  expect(teams.filter(isMarked).filter(({ name }) => !(name in file.teams))).toEqual([])
  expect(
    budgets.filter(isMarked).filter((each) => !wantedBudgets.some(([target]) => target === targetOf(each))),
  ).toEqual([])
}

/** Plays pairs in a new organization. */
async function playPairs(server: TestServer, count: number, seed: number): Promise<void> {
  const client = await registerClient(server.url)
  const colleagues = [await joinClient(server, client, 'member'), await joinClient(server, client, 'viewer')]
  const emails = colleagues.map(({ email }) => email)
  const upload = { upload_id: await uploadFile(client, await readFile(weights)), model_name: uploadedModel }
  expect((await client.post('/api/v1/deployable-models', upload)).status).toBe(201)
  const shell = await openShell({ BERTH_URL: server.url }, client)
  const path = join(shell.configDirectory, 'berth.yaml')
  const random = createRandom(seed)
  const readLastAction = async () => (await client.get('/v1/organization/audit-log?limit=1')).body.items[0]
  for (let pair = 1; pair <= count; pair += 1) {
    const file = makeRandomFile(random, emails)
    await interfere(random, client)
    await writeFile(path, stringify(file))
    const label = `pair ${pair} of seed ${seed}`
    const first = await shell.berth(['apply', '-f', path, '--prune'])
    expect(first, `${label}: ${first.stderr}`).toMatchObject({ code: 0 })
    await expectBroughtAbout(client, file)
    const last = await readLastAction()
    const second = await shell.berth(['apply', '-f', path, '--prune'])
    expect(second, label).toMatchObject({ code: 0, stdout: '' })
    expect(await readLastAction(), label).toEqual(last)
  }
  await shell.close()
}

test(
  `${pairs} random pairs of states converge in one run, and a second run changes nothing`,
  { timeout: 1_800_000 },
  async () => {
    // More than deployments cost while a slow machine plays the pairs
    const served = await startServerWithEngine({ BILLING_TRIAL_CREDIT: '100000' })
    onTestFinished(() => served.close())
    const lanes = Math.min(pairs, mostLanes)
    await Promise.all(
      Array.from({ length: lanes }, (_, lane) =>
        playPairs(served.server, Math.ceil((pairs - lane) / lanes), firstSeed + lane),
      ),
    )
  },
)
