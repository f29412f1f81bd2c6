import { text } from '../../../text/index.ts'

const { facts, nothing } = text.audit

/** Words of other pages. Importing them in the audit log's texts would load them on each page. */
const values: Record<string, Record<string, string>> = {
  ...text.audit.values,
  billing_mode: text.billing.plans,
  collection_method: text.billing.collectionMethods,
  role: text.shell.role,
  status: text.billing.statuses,
}

/** A detail of an action in words, such as `Plan` and `Trial → Pay as you go`. */
export interface FactInWords {
  name: string
  value: string
}

/** The details of an action in words, without those that say nothing. */
export function listFacts(details: Readonly<Record<string, unknown>>): FactInWords[] {
  return Object.entries(joinBefore(details))
    .filter(([, value]) => value !== null && value !== 'none')
    .map(([name, value]) => ({ name: nameFact(name), value: describe(name, value) }))
}

/** Details with the values before a change beside those after it. */
function joinBefore({ before, ...details }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (typeof before !== 'object' || before === null) return details
  const entries = Object.entries(details).map(([name, to]) => {
    const isPair = typeof to === 'object' && to !== null && 'from' in to
    return [name, name in before && !isPair ? { from: (before as Record<string, unknown>)[name], to } : to]
  })
  return Object.fromEntries(entries)
}

/** Details without ids, each as one text such as `Plan: Trial → Pay as you go`. */
export function describeFacts(details: Readonly<Record<string, unknown>>): string[] {
  const told = Object.entries(details).filter(([name]) => !name.endsWith('_id'))
  return toTexts(Object.fromEntries(told))
}

const toTexts = (details: Readonly<Record<string, unknown>>): string[] =>
  listFacts(details).map(({ name, value }) => `${name}: ${value}`)

function describe(name: string, value: unknown): string {
  if (value === null) return nothing
  if (Array.isArray(value)) return value.map((one) => describe(name, one)).join(', ')
  if (typeof value === 'boolean') return value ? text.audit.yes : text.audit.no
  if (typeof value === 'object') {
    if ('from' in value && 'to' in value) {
      return `${describe(name, value.from)} → ${describe(name, value.to)}`
    }
    return toTexts({ ...value }).join(', ')
  }
  if (typeof value === 'string') return values[name]?.[value] ?? value
  return JSON.stringify(value)
}

const nameFact = (name: string) => facts[name] ?? capitalize(name)

/** Unknown names are in snake_case. */
function capitalize(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
