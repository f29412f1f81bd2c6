import { sql } from 'kysely'
import type { Services } from '../../../services.ts'
import type { UsageCheck } from '../../metering/anomalies.ts'
import { listOrphans } from './sweep-orphans.ts'

/** Finds instances at the runtime without a deployment: they cost money that no organization pays. */
export function orphanCheck(deps: Pick<Services, 'db' | 'runtimes' | 'log'>): UsageCheck {
  return {
    kind: 'instance_without_deployment',
    async find() {
      const found = await listOrphans(deps)
      if (found.length === 0) return []
      const orphans = found.map(({ id }) => id)
      const instances = await deps.db
        .selectFrom('instances')
        .innerJoin('deployments', 'deployments.id', 'instances.deployment_id')
        .select(['instances.id', 'deployment_id', 'organization_id'])
        .where(sql<boolean>`instances.id::text = ANY (${orphans})`)
        .execute()
      return orphans.map((subject) => {
        const instance = instances.find(({ id }) => id === subject)
        return {
          organizationId: instance?.organization_id ?? null,
          deploymentId: instance?.deployment_id,
          subject,
          message: `The runtime holds an instance for ${subject}, but no deployment owns it.`,
        }
      })
    },
  }
}
