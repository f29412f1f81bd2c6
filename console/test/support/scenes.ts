import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Page, Route } from 'playwright-core'
import type { Actor, SeedData } from './seed.ts'
import { heading, see } from './steps.ts'
import type { Person } from './steps.ts'

/** A page or dialog in one of its states, as seen by one actor. */
export interface Scene {
  name: string
  actor: Actor
  /** Resolves when the scene has fully loaded. */
  open: (page: Page, seed: SeedData) => Promise<void>
}

/** The first invoice is a month away. */
export const invoice = {
  processor_invoice_id: 'in_1SZh2dK9mQ4xT7vB',
  status: 'paid',
  collection_method: 'charge_automatically',
  amount_due: 1284,
  amount_paid: 1284,
  currency: 'usd',
  hosted_invoice_url: 'https://example.com/invoice',
  invoice_pdf: 'https://example.com/invoice.pdf',
  due_date: null,
  period_start: '2026-10-01T00:00:00.000Z',
  period_end: '2026-11-01T00:00:00.000Z',
  created: '2026-11-01T01:02:03.000Z',
}

const imageFile = resolve(import.meta.dirname, '../../../docs/screenshots/deployments-light-1440.png')
const tinyFile = resolve(import.meta.dirname, '../../../catalog/weights/berth-tiny.gguf')

/** Answers with the server's own body, with other values for some fields. */
// oxlint-disable-next-line typescript/no-explicit-any -- bodies of several routes
const showWith = (change: (body: any) => object) => async (route: Route) => {
  const response = await route.fetch()
  const body = await response.json()
  await route.fulfill({ response, json: { ...body, ...change(body) } })
}

/** Shows a running deployment as one that sleeps. */
const showAsleep = showWith(() => ({ status: 'sleeping', instances: [] }))

/** Shows a running deployment as one whose instances finish their last requests. */
const showFallingAsleep = showWith(({ instances }) => ({
  instances: instances.map((instance: object) => ({ ...instance, status: 'draining' })),
}))

/** The engine of the tests serves no adapters: shows two in use, the second before its engine starts. */
const showAdapters = showWith(() => {
  const adapter = {
    model_id: 'harbour-slang',
    model_name: 'harbour-slang',
    rank: 16,
    weight_bytes: 9_175_040,
  }
  const next = { ...adapter, model_id: 'tide-tables', model_name: 'tide-tables', rank: 8, ready: false }
  return { adapters: [{ ...adapter, ready: true }, next] }
})

/** Shows a third adapter in the catalog. */
const showAdapterModel = showWith(({ items }) => {
  const base = items.find(({ model_name }: { model_name: string }) => model_name === 'berth-tiny')
  const model = {
    ...base,
    id: 'ship-names',
    model_name: 'ship-names',
    description: 'A low-rank adapter that knows the name of each ship',
    base_model: 'berth-tiny',
  }
  return { items: [...items, model] }
})

/** Shows two GPUs on a machine without any. No engine can use one of them. */
const showGpus = showWith(({ instances }) => {
  const gib = 2 ** 30
  const bytes = { memory_bytes: 80 * gib, promised_bytes: 40 * gib, others_bytes: gib, free_bytes: 39 * gib }
  const name = 'NVIDIA H100 80GB HBM3, driver 580.65.06'
  const obstacle = 'The driver is too old for the engine. Install driver 590 or later.'
  const first = {
    runtime: 'xinference',
    version: '4.1.0',
    last_seen_at: '2026-11-01T01:02:03.000Z',
    cpu_count: 32,
    memory_bytes: 128 * gib,
    free_bytes: 97 * gib,
  }
  return {
    machines: [
      {
        ...first,
        address: '10.0.0.5',
        state: 'present',
        gpus: [{ name: 'NVIDIA RTX 4090', memory_bytes: 24 * gib, free_bytes: 3 * gib }],
        instances: instances.slice(0, 1),
      },
      {
        ...first,
        address: '10.0.0.6',
        state: 'left',
        cpu_count: null,
        memory_bytes: null,
        free_bytes: null,
        gpus: [],
        instances: [],
      },
    ],
    gpus: [
      { name, ...bytes, others: 'python3', obstacle: null },
      {
        name,
        memory_bytes: null,
        promised_bytes: null,
        others_bytes: null,
        free_bytes: null,
        others: null,
        obstacle,
      },
    ],
  }
})

const showWaiting = showWith(() => ({
  items: [
    {
      deployment_id: '0199a0b1-0000-7000-8000-000000000000',
      organization_id: 1,
      organization_name: 'Analytical Engines',
      model_name: 'qwen3',
      status: 'provisioning',
      instance_type: 'h100-x1',
      gpu_count: 1,
      memory_bytes: 24 * 2 ** 30,
      since: '2026-11-01T01:02:03.000Z',
      reason: 'All GPUs are in use.',
    },
  ],
}))

const showFindings = showWith(({ items }) => ({
  items: [
    {
      subject: 'mail',
      state: '2 failed today, 0 waiting for over 10 minutes',
      remedy: 'Run `npm run admin -- mail test <address>` and read its error.',
    },
    ...items.filter(({ subject }: { subject: string }) => subject !== 'mail'),
  ],
}))

const showAnomaly = showWith(() => ({
  anomalies: [{ kind: 'missing_span', organization_id: 1, opened_at: '2026-11-01T01:02:03.000Z' }],
}))

const showCachedWeights = showWith(() => ({
  items: [
    {
      name: 'huggingface/Qwen/Qwen3-8B-GGUF/7c41481f/Qwen3-8B-Q4_K_M.gguf',
      bytes: 5_027_783_488,
      last_used_at: '2026-11-01T01:02:03.000Z',
      in_use: true,
    },
  ],
  bytes: 5_027_783_488,
  limit_bytes: 50_000_000_000,
}))

/** Shows a deployment as one that a file of `berth apply` manages. */
const showManaged = showWith(() => ({ managed_by: 'platform' }))

/** Shows the chat models as readers of images. */
const showVision = showWith(({ items }) => ({
  items: items.map((model: { tags: string[] }) => ({ ...model, tags: [...model.tags, 'vision'] })),
}))

/** The bundled models rank no documents: shows the callable deployments as rerankers. */
const showRerankers = showWith(({ items }) => ({
  items: items.map((deployment: object) => ({ ...deployment, model_type: 'rerank' })),
}))

/** An answer that calls a function */
const toolCall = [
  { delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'find_ship', arguments: '{}' } }] } },
  { delta: {}, finish_reason: 'tool_calls' },
]

const dialog = (page: Page) => page.getByRole('dialog')

async function openAddModel(page: Page): Promise<void> {
  await page.goto('/catalog')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await see(dialog(page).getByLabel('Hugging Face repository'))
}

async function inspect(page: Page, repository: string): Promise<void> {
  await openAddModel(page)
  await dialog(page).getByLabel('Hugging Face repository').fill(repository)
  await dialog(page).getByRole('button', { name: 'Check' }).click()
}

async function chooseFile(page: Page, bytes: Buffer): Promise<void> {
  await openAddModel(page)
  const file = { name: 'pilot-Q4_K_M.gguf', mimeType: 'application/octet-stream', buffer: bytes }
  await dialog(page).getByLabel('or choose one').setInputFiles(file)
}

async function openOwnModelMenu(page: Page, id: string): Promise<void> {
  await page.goto(`/catalog/${id}`)
  await page.getByRole('button', { name: /^Actions for/ }).click()
}

async function enterPassword(page: Page, { email, password }: Person): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await see(heading(page, 'Enter your code'))
}

/** Every page of the console, its main states and dialogs. */
export const scenes: readonly Scene[] = [
  ...scenesOf('visitor', {
    'sign-in': async (page) => {
      await page.goto('/sign-in')
      await see(page.getByRole('button', { name: 'Sign in' }))
    },
    'sign-in-refused': async (page) => {
      await page.goto('/sign-in?error=sso_denied')
      await page.getByLabel('Email').fill('nobody@example.com')
      await page.getByLabel('Password', { exact: true }).fill('not my password')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await see(page.getByRole('alert'))
    },
    'sign-in-code': async (page, { secured }) => {
      await enterPassword(page, secured)
    },
    'sign-in-recovery': async (page, { secured }) => {
      await enterPassword(page, secured)
      await page.getByRole('button', { name: 'Use a recovery code' }).click()
      await see(page.getByLabel('Recovery code'))
    },
    register: async (page) => {
      await page.goto('/register')
      await see(page.getByRole('button', { name: 'Create account' }))
    },
    'forgot-password': async (page) => {
      await page.goto('/forgot-password')
      await see(page.getByRole('button', { name: 'Request link' }))
    },
    'forgot-password-sent': async (page) => {
      await page.goto('/forgot-password')
      await page.getByLabel('Email').fill('nobody@example.com')
      await page.getByRole('button', { name: 'Request link' }).click()
      await see(heading(page, 'Ask your operator for the link'))
    },
    'reset-password': async (page, { resetLink }) => {
      await page.goto(resetLink)
      await see(page.getByRole('button', { name: 'Set password' }))
    },
    invitation: async (page, { invitationLink }) => {
      await page.goto(invitationLink)
      await see(page.getByRole('button', { name: 'Create account and join' }))
    },
    'invitation-unknown': async (page) => {
      await page.goto('/invitations/unknown')
      await see(heading(page, 'Invitation not found'))
    },
  }),

  ...scenesOf('unsecured', {
    'second-factor-required': async (page) => {
      await page.goto('/')
      await see(heading(page, 'Set up a second factor'))
    },
  }),

  ...scenesOf('program', {
    'service-member': async (page) => {
      await page.goto('/')
      await see(heading(page, 'This account is for programs'))
    },
  }),

  ...scenesOf('newcomer', {
    'profile-second-factor': async (page, { newcomer }) => {
      await page.goto('/profile')
      await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
      await dialog(page).getByLabel('Password', { exact: true }).fill(newcomer.password)
      await dialog(page).getByRole('button', { name: 'Continue' }).click()
      await see(dialog(page).getByRole('img', { name: 'QR code for your authenticator app' }))
    },
    'profile-script-session-new': async (page) => {
      await page.goto('/profile')
      await page.getByRole('button', { name: 'Create a session for scripts' }).click()
      await see(dialog(page).getByLabel('Name'))
    },
    'profile-script-session': async (page, { newcomer }) => {
      await page.goto('/profile')
      await page.getByRole('button', { name: 'Create a session for scripts' }).click()
      await dialog(page).getByLabel('Name').fill('Nightly report')
      await dialog(page).getByLabel('Password', { exact: true }).fill(newcomer.password)
      await dialog(page).getByRole('button', { name: 'Create session' }).click()
      await see(heading(page, 'Copy your session'))
    },
    'first-run': async (page) => {
      await page.goto('/deployments')
      await see(page.getByRole('button', { name: /^Deploy Berth/ }))
    },
    'first-run-deploy': async (page) => {
      await page.goto('/deployments')
      await page.getByRole('button', { name: /^Deploy Berth/ }).click()
      await see(dialog(page).getByRole('region', { name: 'Hardware and price' }))
    },
    'playground-empty': async (page) => {
      await page.goto('/playground')
      await see(heading(page, 'Deploy a chat model'))
    },
    'usage-empty': async (page) => {
      await page.goto('/usage')
      await see(heading(page, 'No usage in this period'))
    },
    'billing-trial': async (page) => {
      await page.goto('/billing')
      await see(heading(page, 'No cards'))
      await see(heading(page, 'No invoices yet'))
      await see(page.getByRole('button', { name: 'Activate billing' }))
    },
    'billing-activate': async (page) => {
      await page.goto('/billing')
      await page.getByRole('button', { name: 'Activate billing' }).click()
      await see(dialog(page).getByRole('button', { name: 'Add a card' }))
    },
    'card-form': async (page) => {
      await page.goto('/billing')
      await page.getByRole('button', { name: 'Add a card' }).click()
      await see(page.getByRole('button', { name: 'Save card' }))
    },
    'organization-no-webhook': async (page) => {
      await page.goto('/organization?tab=settings')
      await see(page.getByRole('button', { name: 'Set a webhook' }))
    },
    'invitation-other': async (page, { invitationLink }) => {
      await page.goto(invitationLink)
      await see(page.getByText(/you are signed in as/))
    },
  }),

  ...scenesOf('viewer', {
    'viewer-deployments': async (page) => {
      await page.goto('/deployments')
      await see(heading(page, /^Your team shares/))
    },
    'viewer-team': async (page) => {
      await page.goto('/deployments?whose=team')
      await see(page.getByRole('row').getByText(/Ada Lovelace$/))
    },
    'viewer-deployment': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}`)
      await see(page.getByText('Shared with Analytical Engines'))
    },
    'viewer-metrics': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}?tab=metrics`)
      await see(heading(page, 'Your requests'))
    },
    'viewer-billing': async (page) => {
      await page.goto('/billing')
      await see(heading(page, 'Only admins can see billing'))
    },
    'viewer-usage': async (page) => {
      await page.goto('/usage')
      await see(page.getByText(/^At the limit, nothing stops/))
    },
    'viewer-members': async (page) => {
      await page.goto('/organization')
      await see(page.getByText('Program', { exact: true }).first())
    },
    'viewer-organization': async (page) => {
      await page.goto('/organization?tab=settings')
      await see(page.getByText('Only admins can change these settings.'))
    },
  }),

  ...scenesOf('owner', {
    deployments: async (page) => {
      await page.goto('/deployments')
      await see(page.getByText('Running', { exact: true }))
      await see(page.getByText(/, up to \d+ of \d+ instances/))
    },
    'deployments-all': async (page) => {
      await page.goto('/deployments?show=all')
      await see(page.getByText('Terminated', { exact: true }))
    },
    'deployments-team': async (page) => {
      await page.goto('/deployments?whose=team')
      await see(page.getByText('Shared', { exact: true }).first())
    },
    'deployments-owner': async (page) => {
      await page.goto('/deployments?whose=team')
      await page.getByRole('button', { name: 'Any owner' }).click()
      await see(dialog(page).getByRole('option', { name: /^Ada Lovelace/ }))
    },
    'deployments-of-owner': async (page) => {
      await page.goto('/deployments?owner=999999')
      await see(page.getByRole('button', { name: 'Clear the owner' }))
      await see(heading(page, 'No deployment matches'))
    },
    'deployments-selected': async (page) => {
      await page.goto('/deployments')
      await page.getByRole('checkbox', { name: 'Select all' }).check()
      await see(page.getByRole('button', { name: /^Terminate \d/ }))
    },
    'deployments-terminate-many': async (page) => {
      await page.goto('/deployments')
      await page.getByRole('checkbox', { name: 'Select all' }).check()
      await page.getByRole('button', { name: /^Terminate \d/ }).click()
      await see(dialog(page).getByText(/Shared with/))
    },
    'deployments-sleep-many': async (page) => {
      const answer = (route: Route) =>
        route.fulfill({
          status: 409,
          json: { code: 'deployment_not_ready', detail: 'This deployment does not serve yet.' },
        })
      await page.route('**/model-deployments/*/sleep*', answer)
      await page.goto('/deployments')
      await page.getByRole('checkbox', { name: 'Select all' }).check()
      await page.getByRole('button', { name: /^Sleep \d/ }).click()
      await dialog(page)
        .getByRole('button', { name: /^Sleep \d/ })
        .click()
      await see(dialog(page).getByRole('button', { name: /^Try \d again/ }))
      await page.unroute('**/model-deployments/*/sleep*', answer)
    },
    'deployment-share': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.embedding}`)
      await page.getByRole('button', { name: 'Share', exact: true }).click()
      await see(dialog(page).getByRole('button', { name: 'Share' }))
    },
    'deployment-share-teams': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.embedding}`)
      await page.getByRole('button', { name: 'Share', exact: true }).click()
      await dialog(page).getByRole('radio', { name: 'Some teams' }).check()
      await see(dialog(page).getByRole('checkbox', { name: 'Calculus' }))
    },
    'deployment-managed': async (page, { deployments: { chat } }) => {
      await page.route(`**/model-deployments/${chat}?*`, showManaged)
      await page.goto(`/deployments/${chat}?tab=settings`)
      await see(page.getByText('Managed by platform'))
      await see(page.getByText(/overwrites changes/))
      await page.unroute(`**/model-deployments/${chat}?*`, showManaged)
    },
    'deployment-managed-policy': async (page, { deployments: { chat } }) => {
      await page.route(`**/model-deployments/${chat}?*`, showManaged)
      await page.goto(`/deployments/${chat}?tab=settings`)
      await page.getByRole('button', { name: 'Edit scaling and sleep' }).click()
      await see(dialog(page).getByText(/overwrites changes/))
      await page.unroute(`**/model-deployments/${chat}?*`, showManaged)
    },
    'deployments-menu': async (page) => {
      await page.goto('/deployments')
      await page
        .getByRole('button', { name: /^Actions for/ })
        .first()
        .click()
      await see(page.getByRole('menuitem', { name: 'Terminate' }))
    },
    deployment: async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}`)
      await see(page.getByText(/^ready for /))
    },
    'deployment-metrics': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}?tab=metrics`)
      await see(page.getByRole('application', { name: /^Requests over time/ }))
      await see(page.getByRole('row', { name: /^Ada Lovelace/ }))
    },
    'deployment-logs': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}?tab=logs`)
      await see(page.getByText(/context of \d+ tokens/))
    },
    'deployment-activity': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}?tab=activity`)
      await see(heading(page, 'Requested'))
    },
    'deployment-settings': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}?tab=settings`)
      await see(page.getByLabel('Name (optional)'))
    },
    'deployment-failed': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.failed}`)
      await see(heading(page, 'What to do'))
      await see(heading(page, 'Timeline'))
    },
    'deployment-ended': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.ended}`)
      await see(page.getByText(/^Terminated .*\d{4}/))
      await see(heading(page, 'Timeline'))
    },
    'deployment-minimums': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}?tab=settings`)
      await page.getByRole('button', { name: 'Change context' }).click()
      await see(page.getByText(/^Runs on /))
    },
    'deployment-policy': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}`)
      await page.getByRole('button', { name: 'Edit scaling and sleep' }).click()
      await see(dialog(page).getByLabel('At most'))
    },
    'deployment-schedules': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}`)
      await page.getByRole('button', { name: 'Edit scaling and sleep' }).click()
      await dialog(page).getByRole('button', { name: 'Add hours' }).click()
      await dialog(page).getByRole('button', { name: 'Add cron pattern' }).click()
      await see(dialog(page).getByText('Next times, in your time zone (UTC)'))
    },
    'deployment-falling-asleep': async (page, { deployments: { chat } }) => {
      await page.route(`**/model-deployments/${chat}*`, showFallingAsleep)
      await page.goto(`/deployments/${chat}`)
      await see(page.getByRole('status').getByText('Falling asleep', { exact: true }))
      await see(page.getByText(/^Requests in flight have 30 seconds/))
      await page.unroute(`**/model-deployments/${chat}*`, showFallingAsleep)
    },
    'deployment-sleeping': async (page, { deployments: { chat } }) => {
      await page.route(`**/model-deployments/${chat}*`, showAsleep)
      await page.goto(`/deployments/${chat}`)
      await see(page.getByText('None now: nothing is billed.'))
      await see(page.getByText(/The last start took/))
      await page.unroute(`**/model-deployments/${chat}*`, showAsleep)
    },
    'deployment-adapters': async (page, { deployments: { chat } }) => {
      const list = '**/deployable-models?model_type=LLM'
      await page.route(`**/model-deployments/${chat}*`, showAdapters)
      await page.route(list, showAdapterModel)
      await page.goto(`/deployments/${chat}?tab=settings`)
      await see(page.getByText(/^Rank 8 .* Ready after the next start/))
      await see(page.getByRole('button', { name: 'Add ship-names' }))
      await page.unroute(list, showAdapterModel)
      await page.unroute(`**/model-deployments/${chat}*`, showAdapters)
    },
    'deployment-terminate': async (page, { deployments }) => {
      await page.goto(`/deployments/${deployments.chat}`)
      await page.getByRole('button', { name: 'Terminate' }).click()
      await see(dialog(page))
    },
    catalog: async (page) => {
      await page.goto('/catalog')
      await see(page.getByRole('link', { name: /Qwen3/ }))
    },
    'catalog-sorted': async (page) => {
      await page.goto('/catalog?license=gemma&context=128k&sort=size')
      await see(page.getByText(/ · gemma · 128K context/).first())
    },
    'catalog-none': async (page) => {
      await page.goto('/catalog?q=no-such-model')
      await see(heading(page, 'No model matches'))
    },
    'catalog-add': async (page) => {
      await openAddModel(page)
    },
    'catalog-add-plan': async (page) => {
      await inspect(page, 'harbour/Pilot-GGUF')
      await see(dialog(page).getByRole('button', { name: 'Add to catalog' }))
    },
    'catalog-add-file': async (page) => {
      await chooseFile(page, await readFile(tinyFile))
      await see(dialog(page).getByRole('button', { name: 'Add to catalog' }))
    },
    'catalog-add-uploads': async (page) => {
      await chooseFile(page, await readFile(tinyFile))
      await see(dialog(page).getByRole('button', { name: 'Add to catalog' }))
      await openAddModel(page)
      await see(dialog(page).getByRole('button', { name: 'Continue' }))
    },
    'catalog-add-refused': async (page) => {
      await chooseFile(page, Buffer.from('PK an archive of several files'))
      await see(dialog(page).getByRole('alert'))
    },
    'catalog-add-gated': async (page) => {
      await inspect(page, 'https://huggingface.co/harbour/Navigator')
      await see(dialog(page).getByLabel('Hugging Face token'))
    },
    'own-model': async (page, { ownModel }) => {
      await page.goto(`/catalog/${ownModel}`)
      await see(page.getByText('Your organization', { exact: true }))
    },
    'own-model-edit': async (page, { ownModel }) => {
      await openOwnModelMenu(page, ownModel)
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      await see(dialog(page).getByLabel('Description'))
    },
    'own-model-delete': async (page, { ownModel }) => {
      await openOwnModelMenu(page, ownModel)
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await see(dialog(page).getByRole('button', { name: 'Delete model' }))
    },
    model: async (page, { model }) => {
      await page.goto(`/catalog/${model}`)
      await see(page.getByRole('button', { name: 'Deploy', exact: true }))
    },
    'model-endpoint': async (page) => {
      await page.goto('/catalog')
      await page.getByRole('link', { name: 'llama-3.3-70b' }).click()
      await see(heading(page, /^llama-3.3-70b/))
      await see(page.getByText('For a million tokens'))
    },
    'model-large': async (page, { largeModel }) => {
      await page.goto(`/catalog/${largeModel}`)
      await see(page.getByRole('region', { name: 'Variants' }))
    },
    'model-variants': async (page, { largeModel }) => {
      await page.goto(`/catalog/${largeModel}`)
      await page.getByRole('radio', { name: /^All \(/ }).check()
      await see(page.getByRole('row').nth(20))
    },
    'model-deploy': async (page, { largeModel }) => {
      await page.goto(`/catalog/${largeModel}`)
      await page.getByRole('button', { name: 'Deploy', exact: true }).first().click()
      await see(dialog(page).getByRole('region', { name: 'Hardware and price' }))
    },
    playground: async (page, { deployments }) => {
      await page.goto(`/playground?deployment=${deployments.chat}`)
      const message = page.getByRole('textbox', { name: 'Message' })
      for (const [index, question] of ['Who are you?', 'How do I deploy a model?'].entries()) {
        await message.fill(question)
        await message.press('Enter')
        await page
          .getByText(/\d+ tokens in · \d+ out/)
          .nth(index)
          .waitFor()
      }
    },
    'playground-images': async (page, { deployments }) => {
      await page.route('**/deployable-models?model_type=LLM', showVision)
      await page.goto(`/playground?deployment=${deployments.chat}`)
      await page.getByLabel('Images', { exact: true }).setInputFiles(imageFile)
      await see(page.getByRole('img', { name: 'Image 1' }))
      await page.unroute('**/deployable-models?model_type=LLM', showVision)
    },
    'playground-tools': async (page, { deployments }) => {
      const events = toolCall.map((choice) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`)
      const answer = (route: Route) =>
        route.fulfill({ contentType: 'text/event-stream', body: `${events.join('')}data: [DONE]\n\n` })
      await page.route('**/v1/chat/completions', answer)
      await page.goto(`/playground?deployment=${deployments.chat}`)
      await page.getByRole('textbox', { name: 'Message' }).fill('Where is the Argo?')
      await page.keyboard.press('Enter')
      await see(page.getByLabel('Result of find_ship'))
      await page.unroute('**/v1/chat/completions', answer)
    },
    'playground-rerank': async (page) => {
      const results = [0.92, 0.41, -0.2].map((relevance_score, index) => ({ index, relevance_score }))
      const answer = (route: Route) => route.fulfill({ json: { id: '1', model: 'm', results, usage: null } })
      await page.route('**/model-deployments?scope=callable*', showRerankers)
      await page.route('**/v1/rerank', answer)
      await page.goto('/playground?tab=rerank')
      await page.getByRole('button', { name: 'Rank' }).click()
      await see(page.getByText('0.92'))
      await page.unroute('**/v1/rerank', answer)
      await page.unroute('**/model-deployments?scope=callable*', showRerankers)
    },
    'playground-code': async (page, { deployments }) => {
      await page.goto(`/playground?deployment=${deployments.chat}`)
      await page.getByRole('button', { name: 'View code' }).click()
      await see(dialog(page).getByText('/v1/chat/completions'))
    },
    'playground-embeddings': async (page, { deployments }) => {
      await page.goto(`/playground?deployment=${deployments.embedding}`)
      await page.getByRole('button', { name: 'Compare' }).click()
      await see(page.getByText(/Most similar: texts/))
    },
    usage: async (page) => {
      await page.goto('/usage')
      await page.getByLabel('Date range').selectOption({ label: 'Last 30 days' })
      await see(page.getByRole('row', { name: /Output tokens/ }))
      await see(page.getByRole('application'))
    },
    'usage-requests': async (page) => {
      await page.goto('/usage/requests')
      await see(page.getByRole('region', { name: 'Requests' }).getByText('/v1/').first())
    },
    'usage-by-member': async (page) => {
      await page.goto('/usage')
      await page.getByLabel('Date range').selectOption({ label: 'Last 30 days' })
      await page.getByLabel('Group by').selectOption({ label: 'Member' })
      await see(heading(page, 'Usage by member'))
      await see(page.getByRole('row', { name: /@/ }).first())
    },
    'usage-by-team': async (page) => {
      await page.goto('/usage')
      await page.getByLabel('Date range').selectOption({ label: 'Last 30 days' })
      await page.getByLabel('Group by').selectOption({ label: 'Team' })
      await see(heading(page, 'Usage by team'))
      await see(page.getByRole('rowheader', { name: 'No team' }))
    },
    billing: async (page) => {
      await page.goto('/billing')
      await see(heading(page, /Pay as you go/))
      await see(page.getByText('No invoices yet'))
      await see(page.getByText('The whole organization'))
    },
    'billing-budget': async (page) => {
      await page.goto('/billing')
      await page.getByRole('button', { name: 'Add budget' }).click()
      await dialog(page).getByLabel('For', { exact: true }).selectOption({ label: 'Deployment' })
      await see(dialog(page).getByLabel('Deployment', { exact: true }))
    },
    'billing-budget-team': async (page) => {
      await page.goto('/billing')
      await page.getByRole('button', { name: 'Add budget' }).click()
      await dialog(page).getByLabel('For', { exact: true }).selectOption({ label: 'Team' })
      await dialog(page).getByLabel('At the limit').selectOption('sleep')
      await see(dialog(page).getByLabel('Team', { exact: true }))
    },
    'billing-budget-delete': async (page) => {
      await page.goto('/billing')
      await page
        .getByRole('button', { name: /^Delete: / })
        .first()
        .click()
      await see(dialog(page).getByRole('button', { name: 'Delete budget' }))
    },
    'billing-verify': async (page) => {
      const answer = (route: Route) => route.fulfill({ json: [invoice] })
      await page.route('**/v1/billing/invoices', answer)
      await page.goto('/billing')
      await page.getByRole('button', { name: /^Verify: / }).click()
      await see(dialog(page).getByText(/berth bill verify/))
      await page.unroute('**/v1/billing/invoices', answer)
    },
    'billing-remove-card': async (page) => {
      await page.goto('/billing')
      await page
        .getByRole('button', { name: /^Remove/ })
        .first()
        .click()
      await see(dialog(page))
    },
    organization: async (page) => {
      await page.goto('/organization')
      await see(page.getByText('charles@example.com'))
      await see(page.getByText(/^The link expires/).first())
    },
    'organization-people-none': async (page) => {
      await page.goto('/organization?q=nobody&role=viewer&sort=name')
      await see(heading(page, 'Nobody matches'))
    },
    'organization-people-menu': async (page) => {
      await page.goto('/organization?kind=invitation')
      await page.getByRole('button', { name: 'Actions for joan@example.com' }).click()
      await see(page.getByRole('menuitem', { name: 'Cancel invitation' }))
    },
    'organization-endpoints': async (page) => {
      await page.goto('/organization?tab=endpoints')
      await see(page.getByText('Research cluster'))
    },
    'organization-endpoint-new': async (page) => {
      await page.goto('/organization?tab=endpoints')
      await page.getByRole('button', { name: 'Add an endpoint' }).click()
      await see(dialog(page).getByLabel('Address'))
    },
    'organization-endpoint-check': async (page) => {
      await page.goto('/organization?tab=endpoints')
      await page.getByRole('button', { name: 'Actions for Research cluster' }).click()
      await page.getByRole('menuitem', { name: 'Check' }).click()
      await see(dialog(page).getByText('Problem'))
    },
    'organization-endpoint-delete': async (page) => {
      await page.goto('/organization?tab=endpoints')
      await page.getByRole('button', { name: 'Actions for Research cluster' }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await see(dialog(page).getByRole('button', { name: 'Delete' }))
    },
    'organization-programs': async (page) => {
      await page.goto('/organization?tab=programs')
      await see(page.getByText(/^The previous password ends/))
    },
    'organization-teams': async (page) => {
      await page.goto('/organization?tab=teams')
      await see(page.getByText('2 members'))
    },
    'organization-team-new': async (page) => {
      await page.goto('/organization?tab=teams')
      await page.getByRole('button', { name: 'Add a team' }).click()
      await see(dialog(page).getByLabel('Name'))
    },
    'organization-team-members': async (page) => {
      await page.goto('/organization?tab=teams')
      await page.getByRole('button', { name: 'Actions for Calculus' }).click()
      await page.getByRole('menuitem', { name: 'Members' }).click()
      await dialog(page).getByLabel('Find members to add').fill('charles')
      await see(dialog(page).getByRole('button', { name: 'Add Charles Babbage' }))
    },
    'organization-team-rename': async (page) => {
      await page.goto('/organization?tab=teams')
      await page.getByRole('button', { name: 'Actions for Calculus' }).click()
      await page.getByRole('menuitem', { name: 'Rename' }).click()
      await see(dialog(page).getByLabel('Name'))
    },
    'organization-team-delete': async (page) => {
      await page.goto('/organization?tab=teams')
      await page.getByRole('button', { name: 'Actions for Calculus' }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await see(dialog(page).getByRole('button', { name: 'Delete' }))
    },
    'organization-service-new': async (page) => {
      await page.goto('/organization?tab=programs')
      await page.getByRole('button', { name: 'Add a program' }).click()
      await dialog(page).getByLabel('Name').fill('Translator')
      await dialog(page).getByLabel('Networks').fill('10.0.0.0/8\nour office')
      await dialog(page).getByRole('button', { name: 'Add a program' }).click()
      await see(dialog(page).getByText(/is not a network/))
    },
    'organization-service-networks': async (page) => {
      await page.goto('/organization?tab=programs')
      await page.getByRole('button', { name: 'Actions for Nightly report' }).click()
      await page.getByRole('menuitem', { name: 'Change networks' }).click()
      await see(dialog(page).getByLabel('Networks'))
    },
    'organization-service-naming': async (page) => {
      await page.goto('/organization?tab=programs')
      await page.getByRole('button', { name: 'Actions for Nightly report' }).click()
      await page.getByRole('menuitem', { name: 'People it serves' }).click()
      await dialog(page).getByRole('checkbox').check()
      await see(dialog(page).getByLabel('Another header with the email'))
    },
    'organization-service-rotate': async (page) => {
      await page.goto('/organization?tab=programs')
      await page.getByRole('button', { name: 'Actions for Nightly report' }).click()
      await page.getByRole('menuitem', { name: 'New password' }).click()
      await see(dialog(page).getByRole('checkbox'))
    },
    'organization-service-credentials': async (page) => {
      await page.goto('/organization?tab=programs')
      await page.getByRole('button', { name: 'Actions for Nightly report' }).click()
      await page.getByRole('menuitem', { name: 'New password' }).click()
      await dialog(page).getByRole('button', { name: 'New password' }).click()
      await see(heading(page, 'Copy the credentials'))
    },
    'organization-service-remove': async (page) => {
      await page.goto('/organization?tab=programs')
      await page.getByRole('button', { name: 'Actions for Nightly report' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await see(dialog(page).getByRole('button', { name: 'Remove' }))
    },
    'organization-role': async (page) => {
      await page.goto('/organization')
      await page.getByRole('button', { name: 'Actions for Charles Babbage' }).click()
      await page.getByRole('menuitem', { name: 'Change role' }).click()
      await see(dialog(page).getByRole('button', { name: 'Save' }))
    },
    'organization-remove': async (page) => {
      await page.goto('/organization')
      await page.getByRole('button', { name: 'Actions for Mary Somerville' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await see(dialog(page).getByRole('button', { name: 'Remove' }))
    },
    'organization-remove-transfer': async (page) => {
      await page.goto('/organization')
      await page.getByRole('button', { name: 'Actions for Ada Lovelace' }).click()
      await page.getByRole('menuitem', { name: 'Leave' }).click()
      await dialog(page)
        .getByRole('radio', { name: /^Transfer/ })
        .check()
      await dialog(page)
        .getByRole('option', { name: /^Charles Babbage/ })
        .click()
      await see(dialog(page).getByText(/^Charles Babbage receives/))
    },
    'organization-leave': async (page) => {
      await page.goto('/organization')
      await page.getByRole('button', { name: 'Actions for Ada Lovelace' }).click()
      await page.getByRole('menuitem', { name: 'Leave' }).click()
      await see(dialog(page).getByRole('button', { name: 'Leave' }))
    },
    'organization-invitations': async (page) => {
      await page.goto('/organization?tab=invitations')
      await see(page.getByText('joan@example.com'))
    },
    'organization-settings': async (page) => {
      await page.goto('/organization?tab=settings')
      await see(page.getByRole('button', { name: 'Save' }))
      await see(page.getByText('Failed', { exact: true }))
    },
    'organization-webhook-format': async (page) => {
      await page.goto('/organization?tab=settings')
      await page.getByRole('button', { name: 'How to verify alerts' }).click()
      await see(dialog(page).getByText('budget.reached'))
    },
    'organization-webhook-url': async (page) => {
      await page.goto('/organization?tab=settings')
      await page.getByRole('button', { name: 'Change URL' }).click()
      await dialog(page).getByLabel('URL').fill('https://10.0.0.1/')
      await dialog(page).getByRole('button', { name: 'Save' }).click()
      await see(dialog(page).getByRole('alert'))
    },
    'organization-webhook-secret': async (page) => {
      await page.goto('/organization?tab=settings')
      await page.getByRole('button', { name: 'Replace secret' }).click()
      await dialog(page).getByRole('button', { name: 'Replace secret' }).click()
      await see(heading(page, 'Copy the signing secret'))
    },
    'organization-webhook-delete': async (page) => {
      await page.goto('/organization?tab=settings')
      await page.getByRole('button', { name: 'Delete webhook' }).click()
      await see(dialog(page))
    },
    'organization-require-factor': async (page) => {
      await page.goto('/organization?tab=settings')
      await page.getByRole('button', { name: 'Require a second factor' }).click()
      await see(dialog(page))
    },
    'organization-audit': async (page) => {
      await page.goto('/organization?tab=audit')
      await page.getByRole('button', { name: 'Accepted an invitation' }).first().click()
      await see(page.getByRole('term').filter({ hasText: 'Browser or program' }))
    },
    'organization-audit-filtered': async (page) => {
      await page.goto('/organization?tab=audit&action=invitation.created&from=2020-01-01')
      await see(page.getByText('Invited', { exact: true }).nth(1))
    },
    'organization-invite': async (page) => {
      await page.goto('/organization?invite=yes')
      await see(dialog(page))
    },
    'organization-invite-results': async (page) => {
      await page.goto('/organization?invite=yes')
      await dialog(page).getByLabel('Emails').fill('mary@example.com, joan@example.com\nour office')
      await dialog(page).getByRole('button', { name: 'Create invitations' }).click()
      await see(dialog(page).getByRole('button', { name: 'See member' }))
      await see(dialog(page).getByRole('button', { name: /^Renew link/ }))
    },
    profile: async (page) => {
      await page.goto('/profile')
      await see(page.getByText('Current', { exact: true }))
      await see(page.getByRole('button', { name: 'Change password' }))
      await see(page.getByRole('button', { name: 'Set up an authenticator app' }))
    },
    'profile-delete': async (page) => {
      await page.goto('/profile')
      await page.getByRole('button', { name: 'Delete account' }).click()
      await see(dialog(page))
    },
    commands: async (page) => {
      await page.goto('/deployments')
      await see(page.getByText('Running', { exact: true }))
      await page.keyboard.press('Control+k')
      await see(dialog(page).getByRole('option', { name: 'Sign out' }))
    },
    'commands-search': async (page) => {
      await page.goto('/deployments')
      await see(page.getByText('Running', { exact: true }))
      await page.keyboard.press('Control+k')
      await dialog(page).getByRole('combobox').fill('berth')
      await see(dialog(page).getByRole('option', { name: 'Berth Tiny', exact: true }))
    },
    shortcuts: async (page) => {
      await page.goto('/deployments')
      await see(page.getByText('Running', { exact: true }))
      await page.keyboard.press('?')
      await see(dialog(page))
    },
    'not-found': async (page) => {
      await page.goto('/no/such/page')
      await see(heading(page, 'Page not found'))
    },
  }),
  ...scenesOf('operator', {
    server: async (page) => {
      await page.route('**/v1/installation/machines', showGpus)
      await page.route('**/v1/installation/findings', showFindings)
      await page.goto('/server')
      await see(page.getByRole('region', { name: 'What runs here' }).getByText('berth-tiny', { exact: true }))
      await see(page.getByText(/need attention|needs attention/))
    },
    'server-waiting': async (page) => {
      await page.goto('/server/waiting')
      await see(heading(page, 'Nothing waits for hardware'))
      await page.route('**/v1/installation/waiting', showWaiting)
      await page.reload()
      await see(page.getByText('All GPUs are in use.'))
    },
    'server-weights': async (page) => {
      await page.route('**/v1/installation/weights', showCachedWeights)
      await page.goto('/server/weights')
      await see(page.getByRole('region', { name: 'Weights' }))
    },
    'server-health': async (page) => {
      await page.route('**/v1/installation/health', showAnomaly)
      await page.goto('/server/health')
      await see(page.getByText('Missing usage time'))
    },
    'server-organizations': async (page) => {
      await page.goto('/server/organizations')
      await see(page.getByRole('link', { name: 'Analytical Engines' }))
    },
    'server-organization': async (page) => {
      await page.goto('/server/organizations')
      await page.getByRole('link', { name: 'Analytical Engines' }).click()
      await see(heading(page, 'Analytical Engines'))
    },
    'server-findings': async (page) => {
      await page.route('**/v1/installation/findings', showFindings)
      await page.goto('/server/findings')
      await see(page.getByRole('button', { name: 'Copy npm run admin -- mail test <address>' }))
    },
    'server-factor': async (page) => {
      await page.route(
        '**/v1/user/second-factors',
        showWith(() => ({ totp: null, passkeys: [] })),
      )
      await page.goto('/server')
      await see(heading(page, 'Operators need a second factor'))
      await see(page.getByLabel('Password', { exact: true }))
    },
    news: async (page) => {
      const item = {
        deployment_id: '0199a0b1-0000-7000-8000-000000000000',
        name: 'assistant',
        at: '2026-11-01T01:02:03.000Z',
        status: 'failed',
        failure_reason: 'The engine stopped.',
        cause: null,
        foreign_act: null,
      }
      await page.route('**/v1/events', (route) =>
        route.request().resourceType() === 'eventsource'
          ? route.fulfill({
              contentType: 'text/event-stream',
              body: `event: deployment\ndata: ${JSON.stringify(item)}\n\n`,
            })
          : route.fulfill({ json: { items: [] } }),
      )
      await page.addInitScript(() => localStorage.removeItem('berth.news'))
      await page.goto('/usage')
      await see(page.getByText('assistant has failed.'))
    },
  }),
]

function scenesOf(actor: Actor, all: Record<string, Scene['open']>): Scene[] {
  return Object.entries(all).map(([name, show]) => {
    const open: Scene['open'] = async (page, seed) => {
      await show(page, seed)
      // Wait for skeletons to disappear.
      await page.locator('.animate-pulse.bg-subtle').first().waitFor({ state: 'hidden' })
    }
    return { name, actor, open }
  })
}
