import { createHash } from 'node:crypto'
import { toCanonicalJson } from '../../src/features/metering/seal.ts'

type Path = (string | number)[]

/** The paths of all values that are not objects or arrays. */
export function listValues(value: unknown, path: Path = []): Path[] {
  if (value === null || typeof value !== 'object') return [path]
  return Object.entries(value).flatMap(([name, member]) =>
    listValues(member, [...path, Array.isArray(value) ? Number(name) : name]),
  )
}

/** A copy of a document with another value at a path. */
export function changeValue(document: object, path: Path): any {
  const copy: any = structuredClone(document)
  const parent = path.slice(0, -1).reduce((part, name) => part[name], copy)
  const name = path.at(-1)!
  parent[name] = toOther(parent[name])
  return copy
}

function toOther(value: string | number | null): unknown {
  if (value === null) return '2025-12-31T23:00:00.000Z'
  if (typeof value === 'number') return value + 1
  const text = value
  if (/^\d{4}-.*Z$/.test(text)) return new Date(Date.parse(text) + 3_600_000).toISOString()
  if (/^[0-9a-f]{64}$/.test(text)) return (text.startsWith('0') ? '1' : '0') + text.slice(1)
  if (/^\d+(\.\d+)?$/.test(text)) return String(Number(text.slice(0, 12)) + 1)
  return `${text}x`
}

/** A copy of a document whose hash is right again. */
export function hashAgain(document: any): any {
  const rest = { ...document }
  delete rest.document_hash
  return { ...rest, document_hash: createHash('sha256').update(toCanonicalJson(rest)).digest('hex') }
}

/** True for a value that the rules without `document_hash` must find: all that decides about money. */
export function decidesAboutMoney([member, , name]: Path): boolean {
  if (member === 'hours' || member === 'lines') return true
  if (member === 'spans') return name !== 'instance_id'
  return member === 'tokens' || (member === 'prices' && name !== 'valid_from' && name !== 'valid_to')
}
