import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Database } from '../../src/database/tables.ts'
import { recordTokens } from '../../src/features/metering/record-tokens.ts'
import { lockLedger } from '../../src/features/metering/spans.ts'

/**
 * Usage of one of six deployments. Times are in milliseconds from the begin of the history, within five days.
 */
export type UsageEvent =
  | { kind: 'span'; deployment: number; from: number; milliseconds: number }
  | {
      kind: 'tokens'
      deployment: number
      /** Index in the list of owners */
      caller: number
      at: number
      input: number
      output: number
      processing: number
    }

const milliseconds = 5 * 24 * 3_600_000
const deployment = fc.nat(5)

export const history: fc.Arbitrary<UsageEvent[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('span' as const),
      deployment,
      from: fc.nat(milliseconds),
      milliseconds: fc.nat(30 * 3_600_000),
    }),
    fc.record({
      kind: fc.constant('tokens' as const),
      deployment,
      caller: fc.nat(5),
      at: fc.nat(milliseconds),
      input: fc.nat(5_000),
      output: fc.nat(5_000),
      processing: fc.nat(2 * 3_600_000),
    }),
  ),
  { minLength: 1, maxLength: 25 },
)

export async function addOrganization(db: Database, slug: string): Promise<number> {
  const { id } = await db
    .insertInto('organizations')
    .values({ name: 'Acme', slug })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function addOwners(db: Database, count: number): Promise<number[]> {
  const organizationId = await addOrganization(db, randomUUID())
  const users = await db
    .insertInto('users')
    .values(
      Array.from({ length: count }, (_, index) => ({
        email: `${index}-${randomUUID()}@example.com`,
        name: 'Ada',
        current_organization_id: organizationId,
      })),
    )
    .returning('id')
    .execute()
  return users.map(({ id }) => id)
}

/**
 * Inserts six deployments of two models and three instance types with their usage; returns the deployments'
 * ids.
 */
export async function addHistory(
  db: Database,
  { organizationId, owners, begin }: { organizationId: number; owners: readonly number[]; begin: Date },
  events: readonly UsageEvent[],
): Promise<string[]> {
  const ids = Array.from({ length: 6 }, () => randomUUID())
  for (const [index, id] of ids.entries()) await addDeployment(db, id, index, organizationId, owners, begin)
  await lockLedger(db, organizationId)
  const moment = (after: number) => new Date(begin.getTime() + after)
  for (const event of events) {
    const deploymentId = ids[event.deployment]!
    const modelName = `model-${event.deployment % 2}`
    if (event.kind === 'tokens') {
      const usage = { inputTokens: event.input, outputTokens: event.output }
      const at = moment(event.at)
      const caller = {
        userId: owners[event.caller % owners.length]!,
        processingMilliseconds: event.processing,
      }
      const serving = { deploymentId, organizationId, modelName }
      await recordTokens(db, [{ ...serving, at, requests: 1, ...usage, ...caller }])
      continue
    }
    const [from, to] = [moment(event.from), moment(event.from + event.milliseconds)]
    const engineId = randomUUID()
    await db
      .insertInto('instance_spans')
      .values({
        organization_id: organizationId,
        deployment_id: deploymentId,
        engine_id: engineId,
        instance_id: `test-${engineId}`,
        instance_type: `type-${event.deployment % 3}`,
        region: 'test',
        started_at: from,
        reported_start_at: from,
        ended_at: to,
        reported_end_at: to,
        confirmed_at: from,
      })
      .execute()
  }
  return ids
}

function addDeployment(
  db: Database,
  id: string,
  index: number,
  organizationId: number,
  owners: readonly number[],
  at: Date,
) {
  return db
    .insertInto('deployments')
    .values({
      id,
      user_id: owners[index % owners.length]!,
      organization_id: organizationId,
      model_name: `model-${index % 2}`,
      model_format: 'ggufv2',
      model_size_in_billions: 1,
      quantization: 'F16',
      inference_model_uid: `dep-${id}`,
      variant: '{}',
      status: 'requested',
      created_at: at,
      updated_at: at,
      status_changed_at: at,
    })
    .execute()
}
