// Random pairs of what a server has and what a file says: one `apply` brings about the file, and the next one
// changes nothing.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { joinClient } from '../../server/test/support/organizations.ts'
import type { TestServer } from '../../server/test/support/server.ts'
import { openShell } from './support/command.ts'
import { startServerWithEngine } from './support/engine.ts'
import { createRandom, makeRandomFile, pick } from './support/random-file.ts'
import type { Random, RandomFile } from './support/random-file.ts'

const pairs = Number(process.env['APPLY_PAIRS'] ?? 5)
const firstSeed = Number(process.env['APPLY_SEED'] ?? 1)
/** How many organizations play at a time */
const mostLanes = 4
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
        await client.patch(path, { managed_by: null })
        break
    }
  }
  const taken = (await listDeployments(client)).map(({ alias }) => alias)
  const alias = pick(random, ['one', 'two', 'by-hand'])
  if (random(2) === 0 && !taken.includes(alias))
    await client.post(deploymentsPath, { model_name: 'berth-tiny', alias, min_context_tokens: 300 })
  for (const { id } of (await client.get('/v1/organization/teams')).body)
    if (random(4) === 0) await client.delete(`/v1/organization/teams/${id}`)
  for (const { id } of (await client.get('/v1/billing/budgets')).body) {
    const act = random(4)
    if (act === 0) await client.delete(`/v1/billing/budgets/${id}`)
    if (act === 1) await client.patch(`/v1/billing/budgets/${id}`, { monthly_limit: '1234' })
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
  for (const [alias, wanted] of Object.entries(file.deployments)) {
    const found = deployments.filter((each) => each.alias === alias)
    expect(found.map(({ model_name: model }) => model)).toEqual([wanted.model])
    const { policy, shared_with: sharedWith = null, min_context_tokens: context = null } = wanted
    expect(found[0]).toMatchObject({
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
    })
  }
  const wantedBudgets: [scopeId: unknown, budget: any][] = [
    ...(file.budgets.organization ? [[null, file.budgets.organization] as [null, unknown]] : []),
    ...Object.entries(file.budgets.members).map(([email, each]): [unknown, any] => [idOfMember(email), each]),
    ...Object.entries(file.budgets.deployments).map(([alias, each]): [unknown, any] => [
      deployments.find((deployment) => deployment.alias === alias).id,
      each,
    ]),
  ]
  for (const [scopeId, wanted] of wantedBudgets) {
    const budget = budgets.find((each) => each.scope_id === scopeId)
    expect([Number(budget?.monthly_limit), budget?.at_limit]).toEqual([
      Number(wanted.monthly_limit),
      wanted.at_limit,
    ])
  }
  const isMarked = ({ managed_by: manager }: { managed_by: string | null }) => manager === 'random'
  expect(deployments.filter(isMarked).filter(({ alias }) => !(alias in file.deployments))).toEqual([])
  expect(teams.filter(isMarked).filter(({ name }) => !(name in file.teams))).toEqual([])
  expect(
    budgets.filter(isMarked).filter(({ scope_id: id }) => !wantedBudgets.some(([each]) => each === id)),
  ).toEqual([])
}

/** Plays pairs in a new organization. */
async function playPairs(server: TestServer, count: number, seed: number): Promise<void> {
  const client = await registerClient(server.url)
  const colleagues = [await joinClient(server, client, 'member'), await joinClient(server, client, 'viewer')]
  const emails = colleagues.map(({ email }) => email)
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
    const served = await startServerWithEngine()
    onTestFinished(() => served.close())
    const lanes = Math.min(pairs, mostLanes)
    await Promise.all(
      Array.from({ length: lanes }, (_, lane) =>
        playPairs(served.server, Math.ceil((pairs - lane) / lanes), firstSeed + lane),
      ),
    )
  },
)
