import { text } from '../../../text/index.ts'

const { facts, nothing } = text.audit

/** The words of other pages for the same values. Importing them in the audit log's own texts would load them on every page. */
const values: Record<string, Record<string, string>> = {
  ...text.audit.values,
  billing_mode: text.billing.plans,
  collection_method: text.billing.collectionMethods,
  role: text.shell.role,
  status: text.billing.statuses,
}

/** The details of an action in words, such as `Plan: Trial → Pay as you go`. */
export function describeFacts(details: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(details)
    .filter(([, value]) => value !== null && value !== 'none')
    .map(([name, value]) => `${facts[name] ?? capitalize(name)}: ${describe(name, value)}`)
}

function describe(name: string, value: unknown): string {
  if (typeof value === 'object' && value !== null && 'from' in value && 'to' in value) {
    return `${describe(name, value.from)} → ${describe(name, value.to)}`
  }
  if (Array.isArray(value)) return value.map((one) => describe(name, one)).join(', ')
  if (value === null) return nothing
  if (typeof value !== 'string') return JSON.stringify(value)
  return values[name]?.[value] ?? value
}

/** Unknown names are in snake_case. */
function capitalize(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
