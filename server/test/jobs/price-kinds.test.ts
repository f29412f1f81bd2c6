import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyProof } from '../../../cli/src/bill/verify.ts'
import { publishSandboxPrices } from '../../src/features/billing/processor/publish-prices.ts'
import { compareInvoices } from '../../src/features/billing/reports/compare-invoices.ts'
import { reportUsage } from '../../src/features/billing/reports/report-usage.ts'
import { usageReportChecks } from '../../src/features/billing/reports/usage-report-checks.ts'
import { runUsageChecks } from '../../src/features/metering/anomalies.ts'
import { addHours, floorHour } from '../../src/features/metering/hours.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { summarizeUsage } from '../../src/features/metering/summary.ts'
import { verifyIndependently } from '../metering/independent-verifier.ts'
import { changeValue, decidesAboutBill, forge, listValues } from '../metering/proof-changes.ts'
import { registerPostpaid } from '../support/billing.ts'
import { createClient } from '../support/client.ts'
import { createTestClock } from '../support/clock.ts'
import { insertInstanceSpan } from '../support/instance-spans.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'
import { settleTrusted } from '../support/settle.ts'

const clock = createTestClock()
const change = addHours(floorHour(clock.now()), 4)
let folder: string
let server: TestServer

/** A price per unit, by meter and dimensions. */
const rows = (at: string) => `
  - { meter: gpu_instance_seconds, unit_amount: "0.01" }
  - { meter: inference_input_tokens, unit_amount: "0.5", valid_until: ${at} }
  - { meter: inference_input_tokens, unit_amount: "0.75", valid_from: ${at} }
  - { meter: inference_input_tokens, dimensions: { model_name: dust }, unit_amount: "0.000000000001" }
  - { meter: inference_cached_tokens, unit_amount: "0.1" }
  - { meter: inference_output_tokens, unit_amount: "0.25" }
  - { meter: inference_output_tokens, dimensions: { model_name: named }, unit_amount: "2" }
  - { meter: inference_output_tokens, dimensions: { model_name: free }, unit_amount: "0" }
  - { meter: inference_output_tokens, dimensions: { model_name: gold }, unit_amount: "999999.999999999999" }
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'price-kinds-'))
  const path = join(folder, 'prices.yaml')
  const filled = rows(change.toISOString()).replaceAll(/^(.*) \}$/gm, (line, start: string) =>
    [
      start,
      'display_name: Usage, currency: usd',
      ...(line.includes('valid_from') ? [] : ['valid_from: 2000-01-01T00:00:00Z']),
    ]
      .join(', ')
      .concat(' }'),
  )
  await writeFile(path, `prices:${filled}`)
  server = await startTestServer({ worker: false, clock: clock.now, settings: { PRICES_FILE: path } })
  await publishSandboxPrices(server.application)
})
afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

async function reach(time: Date): Promise<void> {
  clock.advance(time.getTime() - clock.now().getTime())
  await server.application.paymentSandbox!.tick(() => Promise.resolve())
  await settleTrusted(server.application)
  await reportUsage(server.application)
  await compareInvoices(server.application)
}

/** True if the command finds a change; the second program must agree. */
function isFound(document: object): boolean {
  const { difference } = verifyProof(document)
  let isFoundBySecond = false
  try {
    verifyIndependently(document)
  } catch {
    isFoundBySecond = true
  }
  expect(isFoundBySecond, difference ?? 'only the second program').toBe(difference !== null)
  return difference !== null
}

const lineOf = (proof: any, meter: string) => proof.invoice.lines.find((line: any) => line.meter === meter)

/** Changes that somebody would make, whose hashes are computed again. */
const directedChanges: Record<string, (proof: any) => void> = {
  'another currency': (proof) => (proof.currency = 'jpy'),
  'another organization': (proof) => (proof.organization_id += 1),
  'another invoice': (proof) => (proof.invoice.id = 'in_other'),
  'an earlier start': (proof) => (proof.invoice.period_start = proof.from),
  'the end before the start': (proof) => {
    const { period_start: start, period_end: end } = proof.invoice
    for (const part of [proof.invoice, proof.link.invoice])
      Object.assign(part, { period_start: end, period_end: start })
  },
  'a fraction of a unit at a price that no hour has': (proof) =>
    proof.invoice.lines.push({
      ...lineOf(proof, 'gpu_instance_seconds'),
      price: '100',
      quantity: '0.999',
      amount: '99.90',
    }),
  'a unit at a price that no hour has': (proof) =>
    proof.invoice.lines.push({
      ...lineOf(proof, 'gpu_instance_seconds'),
      price: '0.004',
      quantity: '1',
      amount: '0.00',
    }),
  'an instance that is billed twice at the same time': (proof) => {
    proof.spans.push({ ...proof.spans[0] })
    const isSeconds = ({ meter }: any) => meter === 'gpu_instance_seconds'
    const double = (part: any, ...names: string[]) => {
      for (const name of names) part[name] = String(Number(part[name]) * 2)
    }
    for (const part of [...proof.hours, ...proof.lines].filter(isSeconds)) double(part, 'quantity', 'amount')
    const line = lineOf(proof, 'gpu_instance_seconds')
    double(line, 'quantity')
    line.amount = (Number(line.amount) * 2).toFixed(2)
  },
  'an amount without decimals': (proof) => {
    const line = lineOf(proof, 'inference_cached_tokens')
    line.amount = String(Math.round(Number(line.amount)))
  },
  'dollars as yen': (proof) => {
    proof.currency = 'jpy'
    proof.link.currency = 'jpy'
  },
  'no invoice': (proof) => {
    delete proof.invoice
    delete proof.excluded
  },
  'lines that are split to be rounded up': (proof) => {
    const line = lineOf(proof, 'inference_input_tokens')
    const parts = Array.from({ length: Number(line.quantity) }, () => ({
      ...line,
      quantity: '1',
      amount: '0.01',
    }))
    proof.invoice.lines = [...proof.invoice.lines.filter((each: any) => each !== line), ...parts]
  },
}

test('each kind of price is charged as the summary shows it: for all, for one model, changed, zero, absurd', async () => {
  const { client, account } = await registerPostpaid(server.url)
  const { db } = server.application
  const { organization_id: organizationId } = account
  const hours = [addHours(change, -1), change] as const
  const deploymentId = await insertInstanceSpan(db, client, organizationId, {
    from: hours[0],
    to: new Date(hours[0].getTime() + 90_000),
  })
  const { user_id: userId } = await db
    .selectFrom('deployments')
    .select('user_id')
    .where('id', '=', deploymentId)
    .executeTakeFirstOrThrow()
  const counts = { inputTokens: 7, outputTokens: 3, cachedTokens: 2 }
  const entry = { deploymentId, organizationId, userId, requests: 1, processingMilliseconds: 5 }
  const models = ['one', 'other', 'named', 'free', 'dust', 'gold']
  await recordTokens(
    db,
    models.flatMap((modelName) => hours.map((at) => ({ ...entry, ...counts, modelName, at }))),
  )
  for (let after = 0; after <= 2; after++) await reach(addHours(change, after + 0.4))
  const end = new Date(account.current_period_end)
  for (const after of [0, 0.5, 1.2, 2]) await reach(addHours(end, after))

  const start = new Date(account.current_period_start)
  const period = { start, end, chargedSince: start }
  const { usageTotals } = await summarizeUsage(server.application, organizationId, period)
  const shown = usageTotals.reduce((sum, { estimatedAmount }) => sum + Number(estimatedAmount), 0)
  const again = createClient(server.url)
  await again.post('/v1/user/signin', { email: client.email, password: client.password })
  const { body: invoices } = await again.get('/v1/billing/invoices')
  const invoice = invoices.find(({ period_end: at }: any) => at === account.current_period_end)
  // 90 s; 5 models × 5 tokens at two prices; 6 × 2 × 2 cached; 3 models and twice 3 tokens; 6 named; 6 gold
  const expected = 0.9 + 25 * 0.5 + 25 * 0.75 + 24 * 0.1 + 18 * 0.25 + 6 * 2 + 6_000_000
  expect(shown).toBeCloseTo(expected, 5)
  expect(invoice).toMatchObject({ status: 'paid', amount_due: Math.round(expected * 100) })
  const { body: proof } = await again.get(`/v1/billing/invoices/${invoice.processor_invoice_id}/proof`)
  expect(verifyProof(proof)).toMatchObject({ difference: null })
  verifyIndependently(proof)
  expect(proof.invoice.lines.map(({ meter, dimensions }: any) => ({ meter, ...dimensions }))).toContainEqual({
    meter: 'inference_output_tokens',
  })
  for (const [what, change] of Object.entries(directedChanges)) {
    const copy = structuredClone(proof)
    change(copy)
    expect(isFound(forge(copy)), what).toBe(true)
  }
  for (const path of listValues(proof).filter(decidesAboutBill)) {
    expect(isFound(forge(changeValue(proof, path))), path.join('.')).toBe(true)
  }
  await runUsageChecks(server.application, usageReportChecks(server.application))
  expect((await again.get('/v1/billing/anomalies')).body).toEqual([])
})

test('a price file with more prices than a subscription takes refuses the start', async () => {
  const path = join(folder, 'many.yaml')
  const price = 'display_name: Usage, currency: usd, valid_from: 2000-01-01T00:00:00Z'
  const named = Array.from(
    { length: 20 },
    (_, index) =>
      `  - { meter: inference_input_tokens, dimensions: { model_name: m${index} }, unit_amount: "0.5", ${price} }`,
  )
  const general = ['gpu_instance_seconds', 'inference_input_tokens', 'inference_output_tokens'].map(
    (meter) => `  - { meter: ${meter}, unit_amount: "0", ${price} }`,
  )
  await writeFile(path, ['prices:', ...general, ...named].join('\n'))
  await (await startTestServer({ worker: false, settings: { PRICES_FILE: path } })).close()
  const last = named[0]!.replace('m0', 'm20')
  await writeFile(path, ['prices:', ...general, ...named, last].join('\n'))
  await expect(startTestServer({ worker: false, settings: { PRICES_FILE: path } })).rejects.toThrow(
    'has 21 prices',
  )
})
