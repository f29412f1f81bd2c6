import { sql } from 'kysely'
import type { Services } from '../../services.ts'
import type { UsageCheck } from '../metering/anomalies.ts'
import { listOrphans } from './sweep-orphans.ts'

/** Finds instances at the runtime without a deployment: they cost money that no organization pays. */
export function orphanCheck({ db, runtime }: Pick<Services, 'db' | 'runtime'>): UsageCheck {
  return {
    kind: 'instance_without_deployment',
    async find() {
      const orphans = await listOrphans({ db, runtime })
      if (orphans.length === 0) return []
      const deployments = await db
        .selectFrom('deployments')
        .select(['id', 'organization_id'])
        .where(sql<boolean>`id::text = ANY (${orphans})`)
        .execute()
      return orphans.map((subject) => {
        const deployment = deployments.find(({ id }) => id === subject)
        return {
          organizationId: deployment?.organization_id ?? null,
          deploymentId: deployment?.id,
          subject,
          message: `The runtime holds an instance for ${subject}, but no deployment owns it.`,
        }
      })
    },
  }
}
