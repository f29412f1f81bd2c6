import type { Deployment, DeploymentUpdateInput } from '../../contract.ts'
import { findAliasError } from '../../domain/deployments/alias.ts'
import { text } from '../../text/index.ts'
import { findRuleError, toDraftedSchedules, toRuleDrafts } from './schedule-draft.ts'
import type { RuleDraft } from './schedule-draft.ts'

const words = text.instances

export type PolicyField = 'idleMinutes' | 'least' | 'most' | 'concurrency' | 'alias'

/** What the fields of a policy contain, most of them as text. */
export type PolicyDraft = Record<PolicyField, string> & {
  yields: boolean
  cacheScope: Deployment['policy']['cache_scope']
  rules: readonly RuleDraft[]
}

export type PolicyErrors = Record<PolicyField, string | undefined>

export function toDraft({ policy, alias }: Pick<Deployment, 'policy' | 'alias'>): PolicyDraft {
  return {
    idleMinutes: String(policy.idle_minutes ?? ''),
    least: String(policy.min_instances),
    most: String(policy.max_instances),
    concurrency: String(policy.target_concurrency ?? ''),
    alias: alias ?? '',
    yields: policy.yields,
    cacheScope: policy.cache_scope,
    rules: toRuleDrafts(policy.schedules),
  }
}

/** The message for each field; undefined for a valid one. */
export function findErrors({ idleMinutes, least, most, concurrency, alias }: PolicyDraft): PolicyErrors {
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
    alias: findAliasError(alias),
  }
}

export function isValid(draft: PolicyDraft): boolean {
  return (
    Object.values(findErrors(draft)).every((error) => error === undefined) &&
    draft.rules.every((rule) => findRuleError(rule, Number(draft.most)) === undefined)
  )
}

/** Those among `callable` that the owner's requests by this alias would not reach. */
export function findShadowed(
  { id, user_id: ownerId }: Pick<Deployment, 'id' | 'user_id'>,
  alias: string,
  callable: readonly Deployment[],
): Deployment[] {
  const name = alias.trim()
  if (name === '') return []
  return callable.filter((other) => {
    if (other.id === id) return false
    return other.alias === name ? other.user_id !== ownerId : other.model_name === name
  })
}

/** The change that a valid draft asks for. */
export function toChange({
  idleMinutes,
  least,
  most,
  concurrency,
  alias,
  yields,
  cacheScope,
  rules,
}: PolicyDraft): DeploymentUpdateInput {
  return {
    idle_minutes: isEmpty(idleMinutes) ? null : Number(idleMinutes),
    min_instances: Number(least),
    max_instances: Number(most),
    target_concurrency: isEmpty(concurrency) ? null : Number(concurrency),
    alias: isEmpty(alias) ? null : alias.trim(),
    yields,
    cache_scope: cacheScope,
    schedules: toDraftedSchedules(rules),
  }
}

const isEmpty = (value: string) => value.trim() === ''

function isBetween(value: string, least: number, most: number): boolean {
  return /^\s*\d{1,5}\s*$/.test(value) && Number(value) >= least && Number(value) <= most
}
