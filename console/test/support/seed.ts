import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openVisitor } from './browser.ts'
import type { Visitor } from './browser.ts'
import type { ConsoleServer } from './server.ts'
import {
  activateBilling,
  addAuthenticator,
  callByApi,
  deployByApi,
  createPerson,
  enterCard,
  registerByApi,
  see,
  waitForStatus,
} from './steps.ts'
import type { Person } from './steps.ts'

type StorageState = NonNullable<BrowserContextOptions['storageState']>

/** The data of a seeded server that the scenes need. */
export interface SeedData {
  /** The cookies of each actor. */
  sessions: Record<Actor, StorageState>
  deployments: { chat: string; embedding: string; failed: string; ended: string }
  /** The catalog id of the bundled chat model. */
  model: string
  /** The catalog id of a model with many sizes. */
  largeModel: string
  /** The catalog id of a model that the organization imported. */
  ownModel: string
  /** The link of an invitee without an account. */
  invitationLink: string
  resetLink: string
  newcomer: Person
  /** A person with a second factor */
  secured: Person
}

/**
 * The owner of an active organization, a newly registered person, a viewer of the active organization, an
 * operator of the server, a person without the second factor that their organization requires, somebody who
 * signed in as a service member, and a visitor.
 */
export type Actor = 'owner' | 'newcomer' | 'viewer' | 'operator' | 'unsecured' | 'program' | 'visitor'

const questions = [
  'Who are you?',
  'How do I deploy a model?',
  'What is 17 + 25?',
  'Reverse the words: sea ship harbour',
  'Tell me a story about an otter.',
  'What does a berth hold?',
]

/**
 * Seeds a new server with an active organization: members, deployments in several states, requests, a card
 * and an invoice.
 */
export async function seedServer(browser: Browser, server: ConsoleServer): Promise<SeedData> {
  const open = () => openVisitor(browser, server.url)
  const { page, context } = await open()
  await registerByApi(page, { ...createPerson(), email: 'ada@example.com' })
  await callByApi(page.request, 'PATCH', '/v1/organization', {
    description: 'Calculating machines and the notes that go with them.',
  })

  const deployments = await deployAll(page)
  await ask(page, deployments)
  await page.goto('/billing')
  await activateBilling(page)
  await addBudgets(page, deployments)
  await page.getByRole('button', { name: 'Add a card' }).click()
  await enterCard(page, '5555 5555 5555 4444')
  await see(page.getByText(/^Saved /))

  await addWebhook(page)

  await addEndpoint(page)

  const invite = async (email: string, role: string) => {
    await callByApi(page.request, 'POST', '/v1/organization/invitations', { email, role })
    return server.waitForMailedLink(email, 'Analytical Engines')
  }
  const accept = async (name: string, email: string, role: string) => {
    const visitor = await open()
    const [first_name, last_name] = name.split(' ')
    const token = new URL(await invite(email, role)).pathname.split('/').at(-1) ?? ''
    const body = { token, password: 'punched cards', first_name, last_name }
    await callByApi(visitor.page.request, 'POST', '/v1/invitations/register', body)
    const state = await visitor.context.storageState()
    await visitor.context.close()
    return state
  }
  await accept('Charles Babbage', 'charles@example.com', 'admin')
  await accept('Mary Somerville', 'mary@example.com', 'member')
  await callByApi(page.request, 'PATCH', `/api/v1/model-deployments/${deployments.chat}`, {
    shared_with: 'organization',
  })
  const viewer = await accept('Luigi Menabrea', 'luigi@example.com', 'viewer')
  const members = await callByApi<{ user_id: number; email: string }[]>(
    page.request,
    'GET',
    '/v1/organization/members',
  )
  const luigi = members.find(({ email }) => email === 'luigi@example.com')?.user_id
  const mary = members.find(({ email }) => email === 'mary@example.com')?.user_id
  const { id: team } = await callByApi<{ id: number }>(page.request, 'POST', '/v1/organization/teams', {
    name: 'Calculus',
  })
  for (const userId of [luigi, mary]) {
    await callByApi(page.request, 'PUT', `/v1/organization/teams/${team}/members/${userId}`)
  }
  const budget = { scope: 'member', scope_id: luigi, monthly_limit: '20', at_limit: 'notify' }
  await callByApi(page.request, 'POST', '/v1/billing/budgets', budget)
  const invitationLink = await invite('augustus@example.com', 'member')
  await invite('joan@example.com', 'viewer')

  const program = await addServiceMembers(page, await open())

  const newcomer = await open()
  const grace: Person = createPerson('Grace Hopper', 'Compilers')
  await registerByApi(newcomer.page, grace)
  await callByApi(newcomer.page.request, 'POST', '/v1/auth/password-reset/request', { email: grace.email })
  const resetLink = await server.waitForMailedLink(grace.email, 'password')

  const { person: secured, operator, state: unsecured } = await seedSecured(await open())
  await server.admin('operator', 'grant', secured.email)

  const models = await callByApi<{ items: { id: string; model_name: string }[] }>(
    page.request,
    'GET',
    '/api/v1/deployable-models?limit=100',
  )
  const { id: ownModel } = await callByApi<{ id: string }>(
    page.request,
    'POST',
    '/api/v1/deployable-models',
    {
      huggingface: 'harbour/Pilot-GGUF',
      model_name: 'pilot',
    },
  )
  const findModel = (name: string) => models.items.find(({ model_name }) => model_name === name)?.id ?? ''
  const seed = {
    sessions: {
      owner: await context.storageState(),
      newcomer: await newcomer.context.storageState(),
      viewer,
      operator,
      unsecured,
      program,
      visitor: { cookies: [], origins: [] },
    },
    deployments,
    model: findModel('berth-tiny'),
    largeModel: findModel('qwen3'),
    ownModel,
    invitationLink,
    resetLink,
    newcomer: grace,
    secured,
  }
  await newcomer.context.close()
  await context.close()
  return seed
}

/** Adds an endpoint that may not be reached, so that its check fails without a request to anybody. */
async function addEndpoint({ request }: Page): Promise<void> {
  await callByApi(request, 'POST', '/api/v1/endpoints', {
    name: 'Research cluster',
    base_url: 'https://localhost/v1',
    key: 'sk-example',
    models: [{ name: 'llama-3.3-70b' }],
    prices: { input: '0.25', output: '2' },
  })
}

/** Sets a webhook that may not be reached, so that its test alert fails without a request to anybody. */
async function addWebhook({ request }: Page): Promise<void> {
  const path = '/v1/organization/alert-webhook'
  await callByApi(request, 'PATCH', path, { url: 'https://localhost/berth' })
  await callByApi(request, 'POST', `${path}/test`)
}

/**
 * Adds two service members, one of them with a password that is being replaced, and signs in as the other.
 */
async function addServiceMembers({ request }: Page, { page, context }: Visitor): Promise<StorageState> {
  const path = '/v1/organization/service-members'
  const add = (name: string, role: string, ...networks: string[]) =>
    callByApi<{ id: number; email: string; password: string }>(request, 'POST', path, {
      name,
      role,
      allowed_networks: networks,
    })
  const { id } = await add('Nightly report', 'member', '10.0.0.0/8', '2001:db8::/32')
  await callByApi(request, 'POST', `${path}/${id}/rotate`)
  const { email, password } = await add('Support assistant', 'viewer', '127.0.0.0/8', '::1')
  await callByApi(page.request, 'POST', '/v1/user/signin', { email, password })
  const state = await context.storageState()
  await context.close()
  return state
}

/** Creates an organization that requires a second factor, with an owner who has one and a member without. */
async function seedSecured({ page, context }: Visitor) {
  const person = createPerson('Hedy Lamarr', 'Spread Spectrum')
  await registerByApi(page, person)
  const { password } = person
  await addAuthenticator(page, person)
  await callByApi(page.request, 'PATCH', '/v1/organization', { requires_second_factor: true })
  const invitations = '/v1/organization/invitations'
  const invitee = { email: 'george@example.com' }
  const { id } = await callByApi<{ id: number }>(page.request, 'POST', invitations, invitee)
  const link = await callByApi<{ url: string }>(page.request, 'POST', `${invitations}/${id}/link`)
  const token = new URL(link.url).pathname.split('/').at(-1)
  const operator = await context.storageState()
  await context.clearCookies()
  await callByApi(page.request, 'POST', '/v1/invitations/register', { token, password })
  const state = await context.storageState()
  await context.close()
  return { person, operator, state }
}

/** Adds a budget that is far from its limit and one that soon is exhausted. */
async function addBudgets(page: Page, { chat }: SeedData['deployments']): Promise<void> {
  const budgets = [
    { scope: 'organization', monthly_limit: '1000', at_limit: 'notify' },
    { scope: 'deployment', scope_id: chat, monthly_limit: '0.00001', at_limit: 'block' },
  ]
  for (const budget of budgets) await callByApi(page.request, 'POST', '/v1/billing/budgets', budget)
}

/** Creates one terminated, one failed and two running deployments. */
async function deployAll(page: Page) {
  const ended = await deployByApi(page)
  await callByApi(page.request, 'DELETE', `/api/v1/model-deployments/${ended}`)
  await waitForStatus(page.request, ended, 'terminated')
  const { id: failed } = await callByApi<{ id: string }>(
    page.request,
    'POST',
    '/api/v1/model-deployments',
    absentVariant,
  )
  await waitForStatus(page.request, failed, 'failed')
  const embedding = await deployByApi(page, 'berth-tiny-embedding')
  return { failed, ended, embedding, chat: await deployByApi(page) }
}

/** Fits any machine, but the hub of the tests doesn't have its weights. */
const absentVariant = {
  model_name: 'qwen3',
  model_format: 'ggufv2',
  model_size_in_billions: 0.6,
  quantization: 'Q8_0',
}

async function ask(page: Page, { chat, embedding }: SeedData['deployments']): Promise<void> {
  const uid = async (id: string) => {
    const path = `/api/v1/model-deployments/${id}`
    return (await callByApi<{ inference_model_uid: string }>(page.request, 'GET', path)).inference_model_uid
  }
  const model = await uid(chat)
  for (const content of [...questions, ...questions, ...questions]) {
    const body = { model, messages: [{ role: 'user', content }], max_tokens: 64 }
    await callByApi(page.request, 'POST', '/v1/chat/completions', body)
  }
  await callByApi(page.request, 'POST', '/v1/embeddings', { model: await uid(embedding), input: questions })
}
