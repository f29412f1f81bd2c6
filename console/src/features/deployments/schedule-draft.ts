import { Cron } from 'croner'
import type { DeploymentSchedule } from '../../contract.ts'
import { toRules, toSchedules } from '../../schedules.ts'
import type { AwakeHours, ScheduleRule } from '../../schedules.ts'
import { text } from '../../text/index.ts'

const words = text.schedules

/** What the fields of a schedule contain, as text. */
export type RuleDraft =
  | (Omit<AwakeHours, 'instances'> & { instances: string })
  | { kind: 'time'; cron: string; timeZone: string; instances: string }

/** The most schedules of a deployment. Hours need two. */
const most = 10

export function toRuleDrafts(schedules: readonly DeploymentSchedule[]): RuleDraft[] {
  return toRules(schedules).map((rule) => {
    if (rule.kind === 'hours') return { ...rule, instances: String(rule.instances) }
    const { cron, time_zone: timeZone, min_instances: instances } = rule.schedule
    return { kind: 'time', cron, timeZone, instances: String(instances) }
  })
}

/** The schedules of valid drafts. */
export function toDraftedSchedules(drafts: readonly RuleDraft[]): DeploymentSchedule[] {
  return toSchedules(drafts.map(toRule))
}

export function toRule(draft: RuleDraft): ScheduleRule {
  const instances = Number(draft.instances)
  if (draft.kind === 'hours') return { ...draft, instances }
  const { cron, timeZone } = draft
  return { kind: 'time', schedule: { cron: cron.trim(), time_zone: timeZone, min_instances: instances } }
}

/** Whether a policy has room for a further rule of this kind. */
export function hasRoom(drafts: readonly RuleDraft[], kind: RuleDraft['kind']): boolean {
  const used = drafts.reduce((sum, draft) => sum + (draft.kind === 'hours' ? 2 : 1), 0)
  return used + (kind === 'hours' ? 2 : 1) <= most
}

/** The message for a rule; undefined for a valid one. `mostInstances` is the policy's. */
export function findRuleError(draft: RuleDraft, mostInstances: number): string | undefined {
  const least = draft.kind === 'hours' ? 1 : 0
  const count = /^\s*\d{1,3}\s*$/.test(draft.instances) ? Number(draft.instances) : NaN
  if (draft.kind === 'hours') {
    if (draft.days.length === 0) return words.noDay
    if (draft.from === '' || draft.until === '') return words.noTime
    if (draft.from === draft.until) return words.sameTime
  } else if (listTimes(draft.cron, draft.timeZone, 1).length === 0) return words.badPattern
  if (!(count >= least && count <= mostInstances)) return words.instancesRange(least, mostInstances)
  return undefined
}

/** A time at which the least instances change. */
export interface ScheduleChange {
  at: Date
  instances: number
}

/** The next times of valid schedules, the earliest first. */
export function listNextChanges(schedules: readonly DeploymentSchedule[], count: number): ScheduleChange[] {
  return schedules
    .flatMap(({ cron, time_zone: timeZone, min_instances: instances }) =>
      listTimes(cron, timeZone, count).map((at) => ({ at, instances })),
    )
    .toSorted((one, other) => one.at.getTime() - other.at.getTime())
    .slice(0, count)
}

/** The next times of a pattern; none for one that the server refuses. */
function listTimes(cron: string, timezone: string, count: number): Date[] {
  // The package also accepts dates, seconds and nicknames.
  if (cron.trim().split(/\s+/).length !== 5) return []
  try {
    return new Cron(cron.trim(), { timezone, mode: '5-part', paused: true }).nextRuns(count)
  } catch {
    return []
  }
}
