import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import type { DatabaseConnection } from '../../src/database/connect.ts'
import { migrateDatabase } from '../../src/database/migrate.ts'
import { fromThousandths } from '../../src/base/decimal.ts'
import { insertInstance, makeInstance } from '../../src/features/deployments/state/instance-store.ts'
import { setEndpointPrices } from '../../src/features/metering/endpoint-prices.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { settleOrganization } from '../../src/features/metering/settle.ts'
import { changeSpans } from '../../src/features/metering/spans.ts'
import type { SpanChange } from '../../src/features/metering/spans.ts'
import { createTestDatabase } from '../support/database.ts'
import { listAllUsageEvents } from '../support/sealed-usage.ts'
import {
  createLedgerModel,
  endpointOf,
  instanceTypeOf,
  isOnEndpoint,
  listModelEvents,
} from './ledger-model.ts'
import type { LedgerModel, ModelOrganization, Write } from './ledger-model.ts'
import { play, steppingEvents } from './ledger-story.ts'
import { prices } from './prices.ts'

let database: { url: string; drop(): Promise<void> }
let connection: DatabaseConnection
let userId: number

beforeAll(async () => {
  database = await createTestDatabase()
  connection = connectDatabase(database.url, 4, () => {})
  await migrateDatabase(connection.db)
  const user = await connection.db
    .insertInto('users')
    .values({ email: 'ada@example.com', name: 'Ada', current_organization_id: await createOrganization() })
    .returning('id')
    .executeTakeFirstOrThrow()
  userId = user.id
})

afterAll(async () => {
  await connection?.close()
  await database?.drop()
})

async function createOrganization(): Promise<number> {
  const { id } = await connection.db
    .insertInto('organizations')
    .values({ name: 'Acme', slug: randomUUID() })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Replays the model's writes against the database with the production code. */
async function replay(
  writes: readonly Write[],
  organizations: Map<number, number>,
): Promise<{ ids: Map<number, string>; endpoints: Map<number, string> }> {
  const { db } = connection
  const ids = new Map<number, string>()
  const endpoints = new Map<number, string>()
  const owners = new Map<number, { organization: number; requestedAt: Date }>()
  for (const write of writes) {
    if (write.kind === 'settle') {
      const organizationId = organizations.get(write.organization)!
      const settle = () => settleOrganization({ db, prices, clock: () => write.now }, organizationId)
      // Two workers at once: the second has nothing left to do.
      await Promise.all([settle(), settle()])
      continue
    }
    if (write.kind === 'request') {
      ids.set(write.deployment, randomUUID())
      if (isOnEndpoint(write.deployment)) endpoints.set(write.deployment, randomUUID())
      owners.set(write.deployment, {
        organization: organizations.get(write.organization)!,
        requestedAt: write.at,
      })
    }
    const id = ids.get(write.deployment)!
    const { organization, requestedAt } = owners.get(write.deployment)!
    const row = { engineId: id, organizationId: organization }
    const endpointId = endpoints.get(write.deployment)
    if (write.kind === 'request')
      await insertDeployment({ id, organizationId: organization, endpointId }, write.at)
    else if (write.kind === 'price') {
      const endpoint = { organizationId: organization, endpointId: endpointId! }
      const tariff = { prices: write.prices, currency: 'usd' }
      await db
        .transaction()
        .execute((transaction) => setEndpointPrices(transaction, endpoint, tariff, write.now))
    } else if (write.kind === 'provisioning') await setStatus(id, 'provisioning', write.at)
    else if (write.kind === 'end') await setStatus(id, 'releasing', write.at)
    else if (write.kind === 'open') {
      await setStatus(id, 'deploying', write.now)
      const instance = {
        ...row,
        deploymentId: id,
        instanceType: instanceTypeOf(write.deployment),
        requestedAt,
      }
      const hardware = { instanceId: 'i', region: 'test', startedAt: write.reported }
      await changeSpan({ kind: 'open', instance, hardware, now: write.now })
    } else if (write.kind === 'confirm' || write.kind === 'close') {
      await changeSpan({ kind: write.kind, instance: row, now: write.now })
    } else {
      const usage = { inputTokens: write.input, outputTokens: write.output }
      const serving = { deploymentId: id, organizationId: organization, modelName: 'model' }
      const caller = { userId, processingMilliseconds: 0 }
      await recordTokens(db, [{ ...serving, ...usage, ...caller, at: write.now, requests: 1 }])
    }
  }
  return { ids, endpoints }
}

function changeSpan(change: SpanChange): Promise<void> {
  return connection.db.transaction().execute((transaction) => changeSpans(transaction, [change]))
}

async function insertDeployment(
  { id, organizationId, endpointId }: { id: string; organizationId: number; endpointId: string | undefined },
  at: Date,
): Promise<void> {
  await connection.db
    .insertInto('deployments')
    .values({
      id,
      user_id: userId,
      organization_id: organizationId,
      model_name: 'model',
      model_format: 'ggufv2',
      model_size_in_billions: 1,
      quantization: 'F16',
      inference_model_uid: `dep-${id}`,
      variant: JSON.stringify(endpointId === undefined ? {} : { weights: { endpoint: endpointId } }),
      status: 'requested',
      created_at: at,
      updated_at: at,
      status_changed_at: at,
    })
    .execute()
  const instance = { ...makeInstance({ id, alias: null, model_name: 'model' }, at), id }
  await insertInstance(connection.db, instance)
}

async function setStatus(
  id: string,
  status: 'provisioning' | 'deploying' | 'releasing',
  at: Date,
): Promise<void> {
  await connection.db
    .updateTable('instances')
    .set({ status, status_changed_at: at })
    .where('id', '=', id)
    .execute()
}

async function readLedger(organizationId: number) {
  const { db } = connection
  const own = ['organization_id', '=', organizationId] as const
  const buckets = await db
    .selectFrom('usage_buckets')
    .selectAll()
    .where(...own)
    .execute()
  const spans = await db
    .selectFrom('instance_spans')
    .selectAll()
    .where(...own)
    .orderBy('id')
    .execute()
  const cursor = await db
    .selectFrom('usage_cursors')
    .selectAll()
    .where(...own)
    .executeTakeFirst()
  return {
    buckets: buckets
      .map((row) =>
        [
          row.deployment_id,
          row.meter,
          row.hour.toISOString(),
          Number(row.quantity),
          row.price_key,
          row.unit_amount,
          row.sealed_at !== null,
        ].join(' '),
      )
      .toSorted(),
    spans: spans.map((row) => [
      row.deployment_id,
      row.started_at,
      row.ended_at,
      row.confirmed_at !== null,
      row.voided_at !== null,
    ]),
    sealedThrough: cursor?.sealed_through,
  }
}

function expectedLedger(
  model: LedgerModel,
  organization: number,
  { ids, endpoints }: Awaited<ReturnType<typeof replay>>,
) {
  const ledger = model.organizations.get(organization)!
  const idOf = (deployment: number | string) => ids.get(Number(deployment))
  const keyOf = (deployment: number | string, priceKey: string) => {
    const endpoint = endpoints.get(Number(deployment))
    return endpoint === undefined ? priceKey : priceKey.replace(endpointOf(Number(deployment)), endpoint)
  }
  const rows = (buckets: ModelOrganization['open'], sealed: boolean) =>
    [...buckets.values()].map((bucket) =>
      [
        idOf(bucket.deploymentId),
        bucket.meter,
        bucket.hour.toISOString(),
        Number(fromThousandths(bucket.thousandths)),
        keyOf(bucket.deploymentId, bucket.price.priceKey),
        bucket.price.unit!.amount,
        sealed,
      ].join(' '),
    )
  return {
    buckets: [...rows(ledger.sealed, true), ...rows(ledger.open, false)].toSorted(),
    spans: ledger.spans.map((span) => [
      idOf(span.deployment),
      span.startedAt,
      span.endedAt,
      span.confirmed,
      span.endedAt !== null && !span.confirmed,
    ]),
    sealedThrough: ledger.sealedThrough,
  }
}

test('the database and the model agree on spans, tokens and buckets at every point of a history', async () => {
  const history = fc.tuple(steppingEvents, fc.double({ min: 0, max: 1, noNaN: true }))
  await fc.assert(
    fc.asyncProperty(history, async ([events, share]) => {
      const whole = play(events, prices).model.writes
      const writes = whole.slice(0, Math.ceil(whole.length * share))
      // The history may stop anywhere, as after a crash.
      const model = createLedgerModel(prices)
      for (const write of writes) model.apply(write)
      const organizations = new Map<number, number>()
      for (const organization of model.organizations.keys()) {
        organizations.set(organization, await createOrganization())
      }
      const replayed = await replay(writes, organizations)
      for (const [organization, organizationId] of organizations) {
        const seen = await readLedger(organizationId)
        expect({ ...seen, sealedThrough: seen.sealedThrough ?? new Date(0) }).toEqual(
          expectedLedger(model, organization, replayed),
        )
        const events = await listAllUsageEvents(connection.db, organizationId, new Date(0))
        expect(events).toEqual(listModelEvents(model.organizations.get(organization)!))
      }
    }),
    { numRuns: 300 },
  )
}, 180_000)
