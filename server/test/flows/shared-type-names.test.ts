// Two runtimes have hardware of the same name: what one of them refuses, or gives up, is not the other's.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { deploy } from '../support/deployments.ts'
import { createScriptedRuntime, makeOffer } from '../support/scripted-runtime.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const path = '/api/v1/model-deployments'
const scripts = { first: createScriptedRuntime(), second: createScriptedRuntime() }
type Name = keyof typeof scripts
const names = Object.keys(scripts) as Name[]
/** How many engines each has room for */
const places = { first: 1, second: 1 }

let server: TestServer
let client: Client
beforeAll(async () => {
  for (const name of names) {
    const script = scripts[name]
    const hardware = createScriptedRuntime()
    const holders = new Set<string>()
    script.answer({
      listOffers: () => [makeOffer('l4-x1')],
      readAvailability: () => (variant) =>
        name === 'first' && variant.modelType === 'embedding' ? 'serves no embeddings' : null,
      provision(spec) {
        if (!holders.has(spec.engineId) && holders.size >= places[name]) {
          return { outcome: 'refused', code: 'no_capacity', message: 'All taken.' }
        }
        holders.add(spec.engineId)
        return hardware.provision(spec)
      },
      release: (_id, engineId) => {
        holders.delete(engineId)
        return true
      },
    })
  }
  const runtime = names.map((name) => ({ ...scripts[name], name }))
  server = await startTestServer({ runtime, settings: { BILLING_TRIAL_MAX_ACTIVE: '10' } })
  client = await registerClient(server.url)
})
afterAll(() => server.close())

const read = async (id: string) => (await client.get(`${path}/${id}`)).body
const countAsked = (name: Name, id: string) =>
  scripts[name].callsFor(id).filter((call) => call === 'provision').length

async function runtimesOf(id: string): Promise<(string | null)[]> {
  const { db } = server.application
  const rows = db.selectFrom('instances').select('runtime').where('deployment_id', '=', id)
  return (await rows.execute()).map(({ runtime }) => runtime)
}

test('hardware that is refused, or given up, is that of one runtime', async () => {
  const first = await deploy(client)
  expect(await runtimesOf(first.id)).toEqual(['first'])
  const second = await deploy(client)
  expect(await runtimesOf(second.id)).toEqual(['second'])
  expect(countAsked('first', second.id)).toBe(1)
  await client.patch(`${path}/${first.id}`, { yields: true })

  // The first one is idle and yields, but its hardware is not that of the runtime which the third one needs.
  await server.application.db
    .updateTable('instances')
    .set({ status_changed_at: new Date(Date.now() - 120_000) })
    .execute()
  const third = await deploy(client, 'berth-tiny-embedding', 'failed')
  expect(third).toMatchObject({ failure_reason: 'no_capacity: All taken.' })
  expect([countAsked('first', third.id), countAsked('second', third.id)]).toEqual([0, 1])
  expect(await read(first.id)).toMatchObject({ status: 'running' })
  await client.patch(`${path}/${second.id}`, { yields: true })
  const fourth = await deploy(client, 'berth-tiny-embedding')
  expect(await runtimesOf(fourth.id)).toEqual(['second'])
  expect(await read(second.id)).toMatchObject({ status: 'sleeping' })
  expect(await read(first.id)).toMatchObject({ status: 'running' })
})
