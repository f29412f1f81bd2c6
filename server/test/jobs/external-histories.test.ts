// An organization forbids that prompts leave: random histories of changes, deployments and requests.
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom, pickFrom } from '../chaos/load.ts'
import { registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { waitForStatus } from '../support/deployments.ts'
import { honest, json, startEndpointDouble } from '../support/endpoint-double.ts'
import type { EndpointDouble } from '../support/endpoint-double.ts'
import { joinClient } from '../support/organizations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

const histories = Number(process.env['EXTERNAL_HISTORIES'] ?? 6)
const firstSeed = Number(process.env['EXTERNAL_SEED'] ?? randomInt(2 ** 31))
const path = '/api/v1/model-deployments'

let double: EndpointDouble
let server: TestServer
/** The keys of organizations from which no request may come. The double names what came nevertheless. */
const closed = new Set<string>()
const left: string[] = []
beforeAll(async () => {
  double = await startEndpointDouble()
  double.answer((request, response) => {
    const key = (request.headers.authorization ?? '').replace('Bearer ', '')
    const isPrompt = request.url !== '/v1/models'
    if (isPrompt && closed.has(key)) left.push(`${key} ${request.url}`)
    // Some answers take a while, and some are none.
    const luck = isPrompt ? double.requests.length % 5 : 0
    if (luck === 1) return json(response, { error: { message: 'busy' } }, 429)
    if (luck === 2) return void setImmediate(() => honest(request, response))
    return honest(request, response)
  })
  server = await startTestServer({
    settings: { RUNTIME: 'endpoints', ENDPOINT_NETWORKS: '127.0.0.0/8' },
  })
})
afterAll(async () => {
  await server.close()
  await double.close()
})

interface Organization {
  key: string
  admin: Client
  callers: Client[]
  deployments: { id: string; model: string }[]
  isOpen: boolean
}

async function open(seed: number, index: number): Promise<Organization> {
  const admin = await registerClient(server.url)
  const key = `sk-${seed}-${index}`
  const { status } = await admin.post('/api/v1/endpoints', { name: 'Lab', base_url: double.url, key })
  expect(status).toBe(201)
  const callers = [admin, await joinClient(server, admin, 'member')]
  return { key, admin, callers, deployments: [], isOpen: true }
}

async function deploy(organization: Organization, model: string): Promise<void> {
  const { status, body } = await organization.admin.post(path, { model_name: model, alias: 'any' })
  if (!organization.isOpen) {
    expect([status, body.code]).toEqual([403, 'external_not_allowed'])
    return
  }
  expect(status).toBe(201)
  await waitForStatus(organization.admin, body.id, 'running')
  await organization.admin.patch(`${path}/${body.id}`, { shared_with: 'organization' })
  organization.deployments.push({ id: body.id, model })
}

const messages = [{ role: 'user', content: 'a secret of the organization' }]

/** Asks in some way. Resolves to the status. */
async function ask(random: () => number, organization: Organization): Promise<number> {
  const { id } = pickFrom(random, organization.deployments)!
  const caller = pickFrom(random, organization.callers)!
  const model = pickFrom(random, [id, 'llama', 'any'])!
  const [route, body] = pickFrom(random, [
    ['/v1/chat/completions', { messages }],
    ['/v1/chat/completions', { messages, stream: true }],
    ['/v1/completions', { prompt: 'a secret' }],
    ['/v1/messages', { messages, max_tokens: 5 }],
    ['/v1/responses', { input: 'a secret' }],
  ] as const)!
  const { status } = await caller.post(route, { model, ...body })
  return status
}

async function setOpen(organization: Organization, allowed: boolean): Promise<void> {
  if (allowed) closed.delete(organization.key)
  const { status, body } = await organization.admin.patch('/v1/organization', { allow_external: allowed })
  expect([status, body.allow_external]).toEqual([200, allowed])
  organization.isOpen = allowed
  // Each process hears of it within a second.
  if (organization.deployments.length > 0) {
    const model = organization.deployments[0]!.id
    for (const caller of organization.callers) {
      await expect
        .poll(async () => (await caller.post('/v1/chat/completions', { model, messages })).status === 403)
        .toBe(!allowed)
    }
  }
  if (!allowed) closed.add(organization.key)
}

async function play(seed: number): Promise<void> {
  const random = createRandom(seed)
  const organizations = [await open(seed, 0), await open(seed, 1)]
  for (const organization of organizations) await deploy(organization, 'llama')
  let asked = 0
  for (let step = 0; step < 40; step += 1) {
    const organization = pickFrom(random, organizations)!
    const luck = random()
    if (luck < 0.2) await setOpen(organization, !organization.isOpen)
    else if (luck < 0.25) await deploy(organization, 'llama')
    else {
      const statuses = await Promise.all(
        Array.from({ length: 1 + Math.floor(random() * 4) }, () => ask(random, organization)),
      )
      asked += statuses.length
      if (!organization.isOpen) expect(new Set(statuses)).toEqual(new Set([403]))
      else expect(statuses.filter((status) => status === 403)).toEqual([])
    }
    expect(left).toEqual([])
  }
  expect(asked).toBeGreaterThan(10)
  // What is forbidden in one organization is none of the other's business.
  for (const organization of organizations) await setOpen(organization, true)
}

test.each(Array.from({ length: histories }, (_, index) => firstSeed + index))(
  'no prompt leaves an organization that forbids it, seed %i',
  (seed) => play(seed),
  60_000,
)
