import { toCommandName, writeCommand } from '../../domain/cli/write-command.ts'
import type { Deployment } from '../../contract.ts'
import { toChange } from './policy-draft.ts'
import type { PolicyDraft } from './policy-draft.ts'

/** The command that changes scaling and sleep as a valid draft does. */
export function writeScaleCommand(deployment: Deployment, draft: PolicyDraft): string {
  const { policy } = deployment
  const change = toChange(draft)
  const { min_instances: least, max_instances: most, idle_minutes: minutes, yields, schedules = [] } = change
  const differs = (name: keyof typeof policy & keyof typeof change) =>
    JSON.stringify(change[name]) !== JSON.stringify(policy[name])
  return writeCommand(['scale', toCommandName(deployment)], {
    min: differs('min_instances') ? least : undefined,
    max: differs('max_instances') ? most : undefined,
    concurrency: differs('target_concurrency') ? change.target_concurrency : undefined,
    'idle-minutes': differs('idle_minutes') ? (minutes ?? 'never') : undefined,
    schedule: differs('schedules') ? writeSchedules(schedules) : undefined,
    yields: differs('yields') && yields,
    'no-yields': differs('yields') && !yields,
    'cache-scope': differs('cache_scope') ? change.cache_scope : undefined,
  })
}

function writeSchedules(schedules: Deployment['policy']['schedules']): string[] {
  if (schedules.length === 0) return ['none']
  return schedules.map(({ cron, time_zone: zone, min_instances: count }) => `${cron} ${zone} ${count}`)
}
