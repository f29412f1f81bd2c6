import type { Deployment, DeploymentUpdateInput } from '../../contract.ts'
import { text } from '../../text/index.ts'
import { findRuleError, toDraftedSchedules, toRuleDrafts } from './schedule-draft.ts'
import type { RuleDraft } from './schedule-draft.ts'

const words = text.instances

export type PolicyField = 'idleMinutes' | 'least' | 'most' | 'concurrency'

/** What the fields of a policy contain, most of them as text. */
export type PolicyDraft = Record<PolicyField, string> & {
  yields: boolean
  cacheScope: Deployment['policy']['cache_scope']
  rules: readonly RuleDraft[]
}

export type PolicyErrors = Record<PolicyField, string | undefined>

export function toDraft({ policy }: Pick<Deployment, 'policy'>): PolicyDraft {
  return {
    idleMinutes: String(policy.idle_minutes ?? ''),
    least: String(policy.min_instances),
    most: String(policy.max_instances),
    concurrency: String(policy.target_concurrency ?? ''),
    yields: policy.yields,
    cacheScope: policy.cache_scope,
    rules: toRuleDrafts(policy.schedules),
  }
}

/** The message for each field; undefined for a valid one. */
export function findErrors({ idleMinutes, least, most, concurrency }: PolicyDraft): PolicyErrors {
  const isCount = (value: string) => isBetween(value, 1, 100)
  return {
    idleMinutes:
      isEmpty(idleMinutes) || isBetween(idleMinutes, 1, 10_080) ? undefined : words.idleMinutesRange,
    least: isCount(least) ? undefined : words.instancesRange,
    most: !isCount(most)
      ? words.instancesRange
      : isCount(least) && Number(most) < Number(least)
        ? words.mostTooFew
        : undefined,
    concurrency:
      isEmpty(concurrency) || isBetween(concurrency, 1, 4_096) ? undefined : words.targetConcurrencyRange,
  }
}

/** Why a draft can't be saved: the first message; undefined for a valid one. */
export function findReason(draft: PolicyDraft): string | undefined {
  const errors = [
    ...Object.values(findErrors(draft)),
    ...draft.rules.map((rule) => findRuleError(rule, Number(draft.most))),
  ]
  return errors.find((error) => error !== undefined)
}

/** The change that a valid draft asks for. */
export function toChange({
  idleMinutes,
  least,
  most,
  concurrency,
  yields,
  cacheScope,
  rules,
}: PolicyDraft): DeploymentUpdateInput {
  return {
    idle_minutes: isEmpty(idleMinutes) ? null : Number(idleMinutes),
    min_instances: Number(least),
    max_instances: Number(most),
    target_concurrency: isEmpty(concurrency) ? null : Number(concurrency),
    yields,
    cache_scope: cacheScope,
    schedules: toDraftedSchedules(rules),
  }
}

const isEmpty = (value: string) => value.trim() === ''

function isBetween(value: string, least: number, most: number): boolean {
  return /^\s*\d{1,5}\s*$/.test(value) && Number(value) >= least && Number(value) <= most
}
